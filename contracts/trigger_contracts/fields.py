"""VAL: which requests are refused for what they hold, and which must not be.

A wrong request is wrong in one place only and valid elsewhere, so that a server which overlooks the fault
answers 200. Some of the requests come from the contract's own schema, by way of Schemathesis.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trigger_contracts.asks import wrong_types
from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.json_values import is_object
from trigger_contracts.probes import AXES
from trigger_contracts.promises import Broken, Unjudged, promise
from trigger_contracts.rough import no_json
from trigger_contracts.run import Api, is_edge, without
from trigger_contracts.target import JSON, json_headers

_REQUEST = "components.schemas.TriggerRequest"


def refused(api: Api, ask: JsonObject, what: str) -> None:
    """The request must draw a 422."""
    exchange = api.firm(lambda: api.call(ask, kind=Kind.INVALID))
    _settle(api, exchange, what)
    if exchange.status != 422:
        raise Broken(f"{what} was answered {exchange.came()}; expected 422", exchange)
    api.saw()


def accepted(api: Api, ask: JsonObject, what: str, **how: Any) -> Exchange:
    """The request must be answered 200."""
    exchange = api.call(ask, **how)
    for _ in range(3):
        if not exchange.trouble:
            break
        exchange = api.call(ask, **how)
    _settle(api, exchange, what)
    if exchange.trouble:
        raise Unjudged(f"a valid request {api.why_not(exchange)}")
    if exchange.status is not None and exchange.status < 300 and exchange.status != 200:
        raise Unjudged(f"a valid request was answered {exchange.status} (see ERR-3)")
    if exchange.status != 200:
        raise Broken(f"{what} was answered {exchange.came()}; expected 200", exchange)
    api.saw()
    return exchange


def _settle(api: Api, exchange: Exchange, what: str) -> None:
    """What says nothing about the fields: a refused key, a gateway, a redirect."""
    status = exchange.status
    if status == 401 or is_edge(exchange) or (status is not None and 300 <= status < 400):
        raise Unjudged(f"{what}: the request {api.why_not(exchange)}")


def _anywhere(api: Api) -> list[JsonObject]:
    """Requests to spoil: each scope axis, entities and action, both modes; and some that would meet rows."""
    found: list[JsonObject] = [
        api.plain(),
        without(api.plain(agent_id=api.token("agent")), "user_id"),
        without(api.plain(app_id=api.token("app")), "user_id"),
        without(api.plain(group_ids=[api.token("grp")]), "user_id"),
        without(api.plain(action={"tool": api.token("tool")}), "entities"),
    ]
    found += [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in api.sample(api.probes, 0.1, least=3)
    ]
    return found


#: What says much of a request, and names neither symbol nor action.
_NO_SIGNAL: dict[str, Any] = {
    "task": "tidy up",
    "include": ["lesson"],
    "query": "anything",
    "text": "anything",
    "messages": [{"role": "user", "content": "anything"}],
    "tool": "Edit",
    "args": {"k": "v"},
    "output": "done",
    "limit": 1,
}
#: Names that elsewhere narrow a read, and are no scope axis here.
_NO_SCOPE: dict[str, Any] = {
    name: f"{name}-1"
    for name in (
        "org_id",
        "conv_id",
        "session_id",
        "run_id",
        "group_id",
        "tenant_id",
        "project_id",
        "workspace_id",
        "namespace",
        "user",
        "userId",
    )
}


def _acted(api: Api) -> JsonObject:
    """A request whose signal is an action: models and branches of its own may read it."""
    action = {"tool": api.token("tool"), "args": {"k": api.token("value")}, "output": "done"}
    return without(api.plain(action=action), "entities")


@promise("VAL-1", pointer=f"{_REQUEST}.entities")
def no_signal(api: Api) -> None:
    """A request with neither `action` nor `entities` (absent, null, an empty list) draws a 422."""
    missing: list[JsonObject] = [
        {},
        {"entities": None},
        {"entities": []},
        {"action": None},
        {"entities": None, "action": None},
        {"entities": [], "action": None},
    ]
    tries = [
        (
            f"a request whose signal is {signal or 'absent'}",
            {**without(base, "entities", "action"), **signal, "mode": mode},
        )
        for base in _anywhere(api)
        for signal in missing
        for mode in ("retrieve", "compose")
    ]
    tries += [(what, without(ask, "mode")) for what, ask in tries[:6]]
    without_signal: list[tuple[JsonObject, JsonObject]] = [
        (api.plain(), {}),
        (_anywhere(api)[-1], {"entities": []}),
    ]
    tries = api.sample(tries, least=24)
    tries += [
        (
            f"a request with much and no signal ({mode})",
            {**without(base, "entities"), **_NO_SIGNAL, **nothing, "mode": mode},
        )
        for base, nothing in without_signal
        for mode in ("retrieve", "compose")
    ]
    api.each(tries, lambda one: refused(api, one[1], one[0]))


@promise("VAL-2", pointer=_REQUEST)
def no_scope(api: Api) -> None:
    """A request without any scope axis (absent, null, an empty list) draws a 422."""
    missing: list[JsonObject] = [
        {},
        {"user_id": None},
        {"agent_id": None},
        {"app_id": None},
        {"group_ids": []},
        {"user_id": None, "agent_id": None, "app_id": None, "group_ids": []},
        {"group_ids": None},
    ]
    tries = [
        (
            f"a request whose scope is {scope or 'absent'}",
            {**without(base, "user_id", "agent_id", "app_id", "group_ids"), **scope, "mode": mode},
        )
        for base in _anywhere(api)
        for scope in missing
        for mode in ("retrieve", "compose")
    ]
    tries += [(what, without(ask, "mode")) for what, ask in tries[:6]]
    tries = api.sample(tries, least=24)
    tries += [
        (
            f"a request with much and no scope ({mode})",
            {**without(base, *AXES), **_NO_SCOPE, **nothing, "mode": mode},
        )
        for base, nothing in (
            (api.plain(task="tidy up", include=["lesson"]), {}),
            (_anywhere(api)[-1], {"group_ids": []}),
            (_acted(api), {"user_id": None}),
        )
        for mode in ("retrieve", "compose")
    ]
    api.each(tries, lambda one: refused(api, one[1], one[0]))


@promise("VAL-3", pointer=f"{_REQUEST}.include")
def include_outside(api: Api) -> None:
    """A value of `include` outside the enum draws a 422."""
    wrong = [
        "fact",
        "artifact",
        "episode",
        "full_content",
        "LESSON",
        "Lesson",
        "lessons",
        "lesson ",
        "",
        "procedures",
        "all",
        "*",
        "lesson,procedure",
        "lesson\n",
        "lesson\u200b",
        "\uff4cesson",
    ]
    tries = (
        [[one] for one in wrong]
        + [["lesson", one] for one in wrong]
        + [[one, "procedure"] for one in wrong[:6]]
    )
    tries += [["lesson", "procedure", one] for one in wrong[:3]]
    asks = [(f"include {include}", api.plain(include=include)) for include in tries]
    asks += [
        (f"include {include} under compose", api.plain(include=include, mode="compose"))
        for include in tries[:3]
    ]
    asks += [
        (f"include {include} beside an action", _acted(api) | {"include": include}) for include in tries[:5]
    ]
    api.each(asks, lambda one: refused(api, one[1], one[0]))


@promise("VAL-4", pointer=f"{_REQUEST}.mode")
def mode_outside(api: Api) -> None:
    """A `mode` outside the enum draws a 422."""
    wrong = [
        "",
        "RETRIEVE",
        "Compose",
        "retrieve ",
        " compose",
        "search",
        "both",
        "none",
        "default",
        "composer",
        "retriev",
        "null",
        "auto",
        "compose,retrieve",
        "retrieve\n",
        "retrieve\u200b",
        "\uff52etrieve",
    ]
    tries = [(f"mode {mode!r}", api.plain(mode=mode)) for mode in wrong]
    tries += [(f"mode {mode!r} beside an action", _acted(api) | {"mode": mode}) for mode in wrong[:5]]
    api.each(tries, lambda one: refused(api, one[1], one[0]))


@promise("VAL-5", pointer=f"{_REQUEST}.task")
def task_length(api: Api) -> None:
    """A `task` of 2000 characters is accepted and one of 2001 draws a 422, counted in characters, not
    bytes.
    """
    letters = {"letters": "a", "accented letters": "é", "Chinese": "漢", "emoji": "🚀", "line breaks": "\n"}
    growing = "\ufb03\u0130\u00df"  # folded or taken apart, each of these is two characters or three
    marked = "e\u0301"  # composed, or counted as readers count, these are one

    def fits(one: tuple[str, str]) -> None:
        what, task = one
        accepted(api, api.plain(task=task), what)
        raw = json.dumps(api.plain(task=task), ensure_ascii=False).encode()
        accepted(api, api.plain(task=task), f"{what}, unescaped", body=raw)

    api.each([(f"a task of 2000 {what}", letter * 2000) for what, letter in letters.items()], fits)
    api.each([(f"a task of {size} letters", "a" * size) for size in (0, 1, 1000, 1999)], fits)
    api.each([("a task of 2000 ligatures and the like", (growing * 667)[:2000])], fits)
    api.each([("a task of 1000 letters with an accent apart", marked * 1000)], fits)
    long = [(f"a task of 2001 {what}", letter * 2001) for what, letter in letters.items()]
    long.append(("a task of 2001 letters and accents", marked * 1000 + "e"))
    long.append(("a task of 2001 joined emoji", ("\U0001f469\u200d" * 1001)[:2001]))
    long += [(f"a task of {size} letters", "a" * size) for size in (2002, 4001, 20_000)]
    long += [
        ("a task of 2001 characters with blanks around", " " + "a" * 1999 + " "),
        ("a task of 2001 blanks", " " * 2001),
    ]

    def too_long(one: tuple[str, str]) -> None:
        what, task = one
        for mode in ("retrieve", "compose"):
            refused(api, api.plain(task=task, mode=mode), what)

    api.each(long, too_long)
    acted = ("a task of 2001 letters beside an action", _acted(api) | {"task": "a" * 2001})
    api.each([acted], lambda one: refused(api, one[1], one[0]))


@promise("VAL-6", pointer=_REQUEST)
def wrong_json_types(api: Api) -> None:
    """A wrong JSON type in any declared field draws a 422."""
    base = api.plain(
        agent_id=api.token("agent"),
        app_id=api.token("app"),
        group_ids=[api.token("grp")],
        include=["lesson"],
        task="t",
    )
    tries = [*wrong_types(base), *_from_the_schema(api)]
    api.each(api.sample(tries, least=60), lambda one: refused(api, one[1], one[0]))


def _from_the_schema(api: Api) -> Iterable[tuple[str, JsonObject]]:
    """What Schemathesis makes of the schema and is wrong in type alone."""
    from trigger_contracts.generation import bodies
    from trigger_contracts.validation import request_violations

    for one in bodies(api.run.options.seed, api.profile.generated):
        if one.positive or not is_object(one.value):
            continue
        rules = [violation.rule for violation in request_violations(one.value)]
        if rules and all(rule.endswith("/type") for rule in rules) and not _has_null(one.value):
            yield f"a body {one.origin}", one.value


def _has_null(value: JsonObject) -> bool:
    return any(part is None or (isinstance(part, list) and None in part) for part in value.values())


@promise("VAL-7", pointer="paths./v1/memories/trigger.post.requestBody")
def no_json_object(api: Api) -> None:
    """A body that is no JSON, no object, empty, or sent as `text/plain` or a form draws a 4xx, never a 5xx
    or a 200.
    """
    plain = [pair for pair in json_headers() if pair[0] != "Content-Type"]
    valid = json.dumps(api.plain()).encode()
    tries = [(f"a body that is {what}", body, JSON) for what, body in no_json()]
    media_types = (
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "Text/Plain",
        "multipart/form-data; boundary=x",
    )
    tries += [(f"a valid body sent as {media}", valid, media) for media in media_types]
    tries.append(("a form", b"user_id=u&entities=x&mode=retrieve", "application/x-www-form-urlencoded"))
    part = b'--x\r\nContent-Disposition: form-data; name="user_id"\r\n\r\nu\r\n--x--\r\n'
    tries.append(("a multipart form", part, "multipart/form-data; boundary=x"))

    def check(one: tuple[str, bytes, str]) -> None:
        what, body, media = one
        headers = [*plain, ("Content-Type", media)]
        exchange = api.firm(lambda: api.call(body=body, headers=headers, kind=Kind.RAW))
        _settle(api, exchange, what)
        if exchange.status is None or not 400 <= exchange.status < 500:
            raise Broken(f"{what} was answered {exchange.came()}; expected a 4xx", exchange)
        api.saw()

    api.each(tries, check)


@promise("VAL-8", pointer=_REQUEST)
def null_is_accepted(api: Api) -> None:
    """Every nullable field accepts null, given that a signal and a scope remain."""
    signal, scope = {"entities": [api.token("symbol")]}, {"user_id": api.token("user")}
    acted = {"action": {"tool": api.token("tool"), "args": {"k": "v"}, "output": "done"}}
    group = {"group_ids": [api.token("grp")]}
    mode = {"mode": "retrieve"}
    tries: list[JsonObject] = [
        {**signal, **scope, **mode, name: None} for name in ("action", "task", "agent_id", "app_id")
    ]
    tries += [
        {**signal, **group, **mode, "user_id": None},
        {**acted, **scope, **mode, "entities": None},
        {**acted, **scope, **mode, "action": {**acted["action"], "tool": None}},
        {**acted, **scope, **mode, "action": {**acted["action"], "args": None}},
        {**acted, **scope, **mode, "action": {**acted["action"], "output": None}},
        {**signal, **scope, **mode, "action": {"tool": None, "args": None, "output": None}},
        {
            **signal,
            **group,
            **mode,
            "action": None,
            "task": None,
            "user_id": None,
            "agent_id": None,
            "app_id": None,
        },
        {**signal, "agent_id": api.token("agent"), **mode, "user_id": None, "app_id": None},
        {**signal, "app_id": api.token("app"), **mode, "user_id": None, "agent_id": None},
        {**acted, **scope, **mode, "entities": None, "task": None, "agent_id": None, "app_id": None},
    ]

    def check(ask: JsonObject) -> None:
        nulls = sorted(name for name, value in ask.items() if value is None) or ["a part of action"]
        accepted(api, ask, f"null in {', '.join(nulls)}")

    api.each(tries, check)
    if api.may_compose(1):
        check({**signal, **scope, "task": None})


#: Names that a client may send by mistake, or from another version, and that a server may be tempted to heed.
_UNDECLARED: dict[str, Any] = {
    "namespace": "default",
    "org_id": "another",
    "organisation": "another",
    "limit": 1,
    "top_k": 1,
    "offset": 1,
    "filters": {"user_id": "nobody"},
    "query": "anything",
    "conv_id": "conv-1",
    "session_id": "s-1",
    "run_id": "r-1",
    "group_id": "grp-1",
    "users": ["nobody"],
    "type": "procedure",
    "types": ["procedure"],
    "exclude": ["lesson"],
    "categories": ["none"],
    "min_confidence": 1,
    "score": 1,
    "threshold": 1,
    "context": "text",
    "data": [],
    "object": "search",
    "debug": True,
    "explain": True,
    "dry_run": True,
    "stream": True,
    "fields": ["id"],
    "sort": "created_at",
    "order_by": "-id",
    "userId": "nobody",
    "agentId": "nobody",
    "appId": "nobody",
    "groupIds": ["nobody"],
    "USER_ID": "nobody",
    "Include": ["procedure"],
    "Mode": "compose",
    "Entities": ["nobody"],
    "metadata": {"a": [1, None]},
    "x": None,
}


@promise("VAL-9", pointer=_REQUEST)
def undeclared_fields(api: Api) -> None:
    """Undeclared fields are accepted and change nothing."""
    bases: list[JsonObject] = [api.plain()]
    bases += [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in api.sample(api.probes, 0.1, least=3)
    ]

    def check(one: tuple[JsonObject, JsonObject]) -> None:
        base, extra = one
        before = api.rows(base)
        asked = {**base, **extra}
        # What it did to the rows is this promise's to say, and no other's.
        exchange = accepted(api, asked, f"the undeclared {_listed(extra)}", owner=api.name)
        if not is_object(exchange.json):
            raise Broken(f"the undeclared {_listed(extra)} made the answer another than JSON", exchange)
        after = api.run.identify(api.read(exchange))
        if set(before) != set(after) and set(api.rows(base)) == set(before):
            raise Broken(
                f"the undeclared {_listed(extra)} changed the rows from {len(before)} to {len(after)}",
                exchange,
            )
        kept = {row.id: set(row.raw) for row in api.read(exchange).rows}
        lost = {
            name for row in api.answer(base).rows for name in set(row.raw) - kept.get(row.id, set(row.raw))
        }
        if lost:
            raise Broken(f"the undeclared {_listed(extra)} took {sorted(lost)} from the rows", exchange)

    tries: list[tuple[JsonObject, JsonObject]] = [(base, _UNDECLARED) for base in bases]
    # Of no type that a hasty check would take: what is not declared is not checked either.
    odd: dict[str, Any] = {
        name: {"odd": [-1]} if number % 2 else -1.5 for number, name in enumerate(_UNDECLARED)
    }
    tries += [(base, odd) for base in (bases[0], bases[-1])]
    tries += [(bases[-1], {name: value}) for name, value in _UNDECLARED.items()]
    api.each(tries, check)
    known = bases[-1].get("entities", ["x"])[0]
    scope = without(bases[-1], "entities")
    acts: list[tuple[JsonObject, JsonObject]] = []
    for name in ("input", "name", "arguments", "result", "tool_name", "entities"):
        quiet = {"tool": api.token("tool")}
        acts.append(
            (
                {**scope, "action": quiet},
                {"action": {**quiet, name: {"k": known} if name != "entities" else [known]}},
            )
        )
    api.each(acts, check)


def _listed(fields: JsonObject) -> str:
    names = [repr(name) for name in fields]
    return ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} more"


@promise("VAL-10", level="should", pointer=f"{_REQUEST}.include")
def include_repeated(api: Api) -> None:
    """A repeated value in `include` draws a 422."""
    tries = [["lesson", "lesson"], ["procedure", "procedure"], ["lesson", "procedure", "lesson"]]
    api.each(tries, lambda include: refused(api, api.plain(include=include), f"include {include}"))
