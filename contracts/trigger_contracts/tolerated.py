"""VAL-8 and VAL-9: null where a field is nullable, and fields that the contract does not name.

Both must be accepted, and the latter must change nothing: a field of another version, a name in another
spelling, a value of any type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trigger_contracts.exchange import Answer, JsonObject
from trigger_contracts.expected import accepted
from trigger_contracts.json_values import is_object
from trigger_contracts.promises import Broken, promise
from trigger_contracts.run import Api, encode, without

_REQUEST = "components.schemas.TriggerRequest"


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

    plainly: dict[bytes, Answer] = {}

    def check(one: tuple[JsonObject, JsonObject]) -> None:
        base, extra = one
        if (body := encode(base)) not in plainly:
            plainly[body] = api.answer(base)
        before = api.run.identify(plainly[body])
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
        lost = _lost(plainly[body], kept)
        if lost and lost & _lost(api.answer(base), kept):
            raise Broken(f"the undeclared {_listed(extra)} took {sorted(lost)} from the rows", exchange)

    tries: list[tuple[JsonObject, JsonObject]] = [(base, _UNDECLARED) for base in bases]
    # Of no type that a hasty check would take: what is not declared is not checked either.
    odd: dict[str, Any] = {
        name: {"odd": [-1]} if number % 2 else -1.5 for number, name in enumerate(_UNDECLARED)
    }
    tries += [(base, odd) for base in (bases[0], bases[-1])]
    alone = [(bases[-1], {name: value}) for name, value in _UNDECLARED.items()]
    tries += api.sample(alone, least=12)
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


def _lost(before: Answer, kept: Mapping[str, set[str]]) -> set[str]:
    """The names that rows had before and no longer have."""
    return {name for row in before.rows for name in set(row.raw) - kept.get(row.id, set(row.raw))}


def _listed(fields: JsonObject) -> str:
    names = [repr(name) for name in fields]
    return ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} more"
