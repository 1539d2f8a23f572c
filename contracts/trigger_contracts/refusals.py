"""ERR: what a refusal looks like, and which statuses may come at all.

The findings come from every exchange of the run (`watch`); the properties here see to it that there is
enough to find: refusals of each kind, and so many valid requests that one failure in fifty shows.
"""

from __future__ import annotations

from trigger_contracts.asks import scope_choices
from trigger_contracts.exchange import JsonObject, Kind
from trigger_contracts.promises import NotExercised, promise
from trigger_contracts.run import Api, without
from trigger_contracts.target import json_headers

_RESPONSES = "paths./v1/memories/trigger.post.responses"


def _provoke(api: Api) -> None:
    """One refusal of each kind that needs no leave."""
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
    _seen_by_watch(api, "no refusal was seen")


@promise("ERR-2", pointer=_RESPONSES)
def errors_are_json(api: Api) -> None:
    """Every error is `application/json`, and shows no stack trace or file path."""
    _provoke(api)
    _seen_by_watch(api, "no refusal was seen")


@promise("ERR-3", pointer=_RESPONSES)
def documented_statuses(api: Api) -> None:
    """A status that the contract does not document never comes for a documented request."""
    asks: list[JsonObject] = [api.plain() for _ in range(3)]
    asks += [
        without(api.plain(agent_id=api.token("agent")), "user_id"),
        without(api.plain(app_id=api.token("app")), "user_id"),
        without(api.plain(group_ids=[api.token("grp"), api.token("grp")]), "user_id"),
        api.plain(
            agent_id=api.token("agent"), app_id=api.token("app"), group_ids=[api.token("grp")], task="tidy up"
        ),
        api.plain(include=["lesson"]),
        api.plain(include=["lesson", "procedure"]),
        without(
            api.plain(
                action={"tool": "Edit", "args": {"file_path": api.token("file"), "n": 3}, "output": "done"}
            ),
            "entities",
        ),
        without(api.plain(action={"tool": api.token("tool")}), "entities"),
    ]
    asks += [
        {"entities": list(one.trigger_entities), **scope_choices(one)[0], "mode": "retrieve"}
        for one in api.probes
    ]
    sent = api.run.watch.seen.get("ERR-3", 0)
    for turn in range(max(api.profile.repeats - sent, len(asks))):
        api.call(asks[turn % len(asks)])
    _seen_by_watch(api, "no valid request was answered")


def _seen_by_watch(api: Api, otherwise: str) -> None:
    seen = api.run.watch.seen.get(api.name, 0)
    if not seen and api.name not in api.run.watch.findings:
        raise NotExercised(otherwise)
    api.saw(seen)
