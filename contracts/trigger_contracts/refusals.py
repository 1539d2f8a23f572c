"""ERR: what a refusal looks like, and which statuses may come at all.

The findings come from every exchange of the run (`watch`); the properties here see to it that there is
enough to find: refusals of each kind, and so many valid requests that one failure in fifty shows.
"""

from __future__ import annotations

from trigger_contracts.asks import scope_choices
from trigger_contracts.exchange import JsonObject, Kind
from trigger_contracts.probes import AXES
from trigger_contracts.promises import promise
from trigger_contracts.run import Api, without
from trigger_contracts.second_opinion import read_again
from trigger_contracts.target import json_headers

_RESPONSES = "paths./v1/memories/trigger.post.responses"


def _provoke(api: Api) -> None:
    """One refusal of each kind that needs no leave; the promises about refusals share them."""
    if api.run.memory.setdefault("provoked", api.name) != api.name:
        return
    stranger = api.token("unknown-key")
    for credentials in (
        [],
        [(("x-api-key", stranger), ("x-api-key", "an unknown key"))],
        [(("Authorization", f"Bearer {stranger}"), ("Authorization", "Bearer an unknown key"))],
    ):
        api.call(api.plain(), kind=Kind.KEYLESS, credentials=credentials)
    wrong: list[JsonObject] = [
        {},
        without(api.plain(), "entities"),
        without(api.plain(), "user_id"),
        api.plain(include=["fact"]),
        api.plain(mode="search"),
        api.plain(task="a" * 2001),
        api.plain(user_id=7, entities="x", group_ids={}),
        api.plain(entities=["x", 7]),
        api.plain(action={"tool": [], "args": 1}),
        api.plain(action="text"),
    ]
    for ask in wrong:
        api.call(ask, kind=Kind.INVALID)
    for body in (b"", b"{", b"[]", b"\xff", b"null", b'"text"'):
        api.call(body=body, kind=Kind.RAW)
    plain = [pair for pair in json_headers() if pair[0] != "Content-Type"]
    api.call(
        body=b"user_id=u",
        kind=Kind.RAW,
        headers=[*plain, ("Content-Type", "application/x-www-form-urlencoded")],
    )


@promise("ERR-1", pointer="components.schemas.ErrorEnvelope")
def error_bodies(api: Api) -> None:
    """Every 401, 429 and 500 body is an `ErrorEnvelope`; every 422 body is an `ErrorEnvelope` or a
    `HTTPValidationError`.
    """
    _provoke(api)
    if not api.run.options.accept_envelope_error:
        read_again(api, 422)
    api.rest_on_watch("no refusal was seen")


@promise("ERR-2", pointer=_RESPONSES)
def errors_are_json(api: Api) -> None:
    """Every error is `application/json`, and shows no stack trace or file path."""
    _provoke(api)
    api.rest_on_watch("no refusal was seen")


@promise("ERR-3", pointer=_RESPONSES)
def documented_statuses(api: Api) -> None:
    """A status that the contract does not document never comes for a documented request."""
    asks: list[JsonObject] = [api.plain(), *_crossed(api)]
    asks += [
        {"entities": list(one.trigger_entities), **scope_choices(one)[0], "mode": "retrieve"}
        for one in api.probes
    ]
    sent = api.witnessed
    for turn in range(max(api.profile.repeats - sent, len(asks))):
        api.call(asks[turn % len(asks)])
    api.rest_on_watch("no valid request was answered")


def _crossed(api: Api) -> list[JsonObject]:
    """Valid requests in which every choice of one field meets every choice of every other field at least
    once, under both modes as far as the budget goes.
    """
    fields: dict[str, list[JsonObject]] = {
        "signal": [
            {"entities": [api.token("symbol")]},
            {"action": {"tool": api.token("tool")}},
            {"action": {"tool": "Edit", "args": {"file_path": api.token("file"), "n": 3}, "output": "done"}},
            {"entities": [api.token("a"), api.token("b")], "action": {"args": {"k": None}}},
        ],
        "user_id": [{}, {"user_id": api.token("user")}, {"user_id": None}],
        "agent_id": [{}, {"agent_id": api.token("agent")}],
        "app_id": [{}, {"app_id": api.token("app")}],
        "group_ids": [
            {},
            {"group_ids": [api.token("grp")]},
            {"group_ids": [api.token("grp"), api.token("g")]},
        ],
        "include": [
            {},
            {"include": ["lesson"]},
            {"include": ["procedure"]},
            {"include": ["procedure", "lesson"]},
        ],
        "task": [{}, {"task": "tidy up"}, {"task": None}],
        "mode": [{"mode": "retrieve"}, {"mode": "retrieve"}, {"mode": "compose"}],
    }
    names = list(fields)
    open_pairs = {
        (one, a, two, b)
        for at, one in enumerate(names)
        for two in names[at + 1 :]
        for a in range(len(fields[one]))
        for b in range(len(fields[two]))
    }
    whole = {"signal": 0, "user_id": 1, "agent_id": 1, "app_id": 1, "group_ids": 1}
    chosen = [
        whole | {name: 0 for name in names if name not in whole},
        *({**whole, "signal": 1, "include": 2, "task": 1, "mode": 0},),
    ]
    found: list[JsonObject] = []
    for turn in range(60):
        if turn < len(chosen):
            picked = chosen[turn]
        else:
            drawn = [{name: api.rng.randrange(len(fields[name])) for name in names} for _ in range(24)]
            picked = max(drawn, key=lambda one: len(_pairs(one, names) & open_pairs))
        ask = {key: value for name in names for key, value in fields[name][picked[name]].items()}
        if not any(ask.get(axis) for axis in AXES):
            continue
        if ask["mode"] == "compose" and not api.may_compose(30):
            ask["mode"] = "retrieve"
        open_pairs -= _pairs(picked, names)
        found.append(ask)
        if not open_pairs:
            break
    return found


def _pairs(picked: dict[str, int], names: list[str]) -> set[tuple[str, int, str, int]]:
    return {(one, picked[one], two, picked[two]) for at, one in enumerate(names) for two in names[at + 1 :]}
