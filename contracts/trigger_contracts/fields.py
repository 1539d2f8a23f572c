"""VAL: which requests are refused for what they hold, and which must not be.

A wrong request is wrong in one place only and valid elsewhere, so that a server which overlooks the fault
answers 200. Some of the requests come from the contract's own schema, by way of Schemathesis.
"""

from __future__ import annotations

from typing import Any

from trigger_contracts.exchange import JsonObject
from trigger_contracts.expected import acted, refused
from trigger_contracts.probes import AXES
from trigger_contracts.promises import promise
from trigger_contracts.run import Api, without

_REQUEST = "components.schemas.TriggerRequest"


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
            {**without(base, "entities", "action"), **_NO_SIGNAL, **nothing, "mode": mode},
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
    without_scope: list[tuple[JsonObject, JsonObject]] = [
        (api.plain(task="tidy up", include=["lesson"]), {}),
        (_anywhere(api)[-1], {"group_ids": []}),
        (acted(api), {"user_id": None}),
    ]
    tries += [
        (
            f"a request with much and no scope ({mode})",
            {**without(base, *AXES), **_NO_SCOPE, **nothing, "mode": mode},
        )
        for base, nothing in without_scope
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
        (f"include {include} beside an action", acted(api) | {"include": include}) for include in tries[:5]
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
    tries += [(f"mode {mode!r} beside an action", acted(api) | {"mode": mode}) for mode in wrong[:5]]
    api.each(tries, lambda one: refused(api, one[1], one[0]))


@promise("VAL-10", level="should", pointer=f"{_REQUEST}.include")
def include_repeated(api: Api) -> None:
    """A repeated value in `include` draws a 422."""
    tries = [["lesson", "lesson"], ["procedure", "procedure"], ["lesson", "procedure", "lesson"]]
    api.each(tries, lambda include: refused(api, api.plain(include=include), f"include {include}"))
