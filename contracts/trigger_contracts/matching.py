"""MATCH: which directives fire on which symbols, exactly.

A near miss is judged by the probed rows: another directive may rightly fire on it. What an action holds may
be read generously (the contract does not spell extraction out), so an action must fire what it names, and
may fire more.
"""

from __future__ import annotations

from trigger_contracts.asks import greppable, scope_choices
from trigger_contracts.exchange import JsonObject
from trigger_contracts.probes import Probe
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, is_edge
from trigger_contracts.sets import Sets

_ENTITIES = "components.schemas.TriggerRequest.entities"
_ACTION = "components.schemas.TriggerRequest.action"


def _fires(api: Api, sets: Sets, probe: Probe, ask: JsonObject, what: str) -> None:
    """The request must bring the probed row."""
    exchange = api.call(ask)
    for _ in range(3):
        if not exchange.trouble:
            break
        exchange = api.call(ask)
    refused = (
        exchange.status is not None
        and 400 <= exchange.status < 500
        and exchange.status != 401
        and not is_edge(exchange)
    )
    if refused:
        raise Broken(f"{what} was refused with {exchange.status}", exchange)
    answer = api.read(exchange)
    rows = api.run.identify(answer)
    if probe.id not in rows:
        if sets.capped(frozenset(rows)):
            return
        brought = f"; it brought {len(rows)} other row(s)" if rows else ""
        raise Broken(f"{what} does not fire directive {probe.id}{brought}", exchange)
    api.saw()


@promise("MATCH-1", needs=("rows",), pointer=_ENTITIES)
def a_known_entity_fires(api: Api) -> None:
    """A known entity in `entities` fires its directive."""
    sets = Sets(api)
    tries: list[tuple[Probe, JsonObject, str]] = []
    for one in api.need_rows():
        tries += [
            (one, {"entities": [entity], **one.scope, "mode": "retrieve"}, f"entity {entity!r}")
            for entity in one.trigger_entities
        ]
        for scope in scope_choices(one):
            entity = one.trigger_entities[-1]
            tries.append(
                (
                    one,
                    {"entities": [entity], **scope, "mode": "retrieve"},
                    f"entity {entity!r} within {', '.join(scope)}",
                )
            )
    try:
        api.each(api.sample(tries, least=len(api.probes)), lambda item: _fires(api, sets, *item))
    except Broken:
        if _none_is_there(api):
            api.run.remark("no request brought any of the probed rows: the target may not hold them")
            raise NotExercised(
                "none of the probed rows came back from any request; does the target hold them?"
            ) from None
        raise


def _none_is_there(api: Api) -> bool:
    """Whether nothing at all fires, named in whatever way: an empty target breaks no promise."""
    if api.run.watch.known:
        return False
    for one in api.probes:
        for action in ({"tool": one.trigger_entities[0]}, {"args": {"k": one.trigger_entities[-1]}}):
            if api.answer({"action": action, **one.scope, "mode": "retrieve"}).rows:
                return False
    everything = {
        "entities": [entity for one in api.probes for entity in one.trigger_entities][:40],
        "mode": "retrieve",
    }
    return not any(
        api.answer({**everything, axis: value}).rows
        for one in api.probes
        for axis, value in one.scope.items()
    )


def usable(api: Api) -> list[tuple[Probe, str]]:
    """Every probe with an identifier that any extraction must find."""
    found = [(one, entity) for one in api.need_rows() for entity in one.trigger_entities if greppable(entity)]
    if not found:
        raise NotExercised("no probe has an entity free of blanks and odd characters", "inputs")
    return found


def _reachable(api: Api, pairs: list[tuple[Probe, str]]) -> list[tuple[Probe, str]]:
    """Those that fire under `entities`: an action cannot do better, and MATCH-1 judges the others."""
    kept = [
        (one, entity)
        for one, entity in pairs
        if one.id in api.rows({"entities": [entity], **one.scope, "mode": "retrieve"})
    ]
    if not kept:
        raise Unjudged("no known entity fires at all (see MATCH-1)")
    return kept


@promise("MATCH-2", needs=("rows",), pointer=_ACTION)
def an_action_fires(api: Api) -> None:
    """The same identifier as `action.tool`, as a value in `action.args`, as `action.output` fires it."""
    sets = Sets(api)
    tries: list[tuple[Probe, JsonObject, str]] = []
    other = api.token("other")
    for one, entity in _reachable(api, api.sample(usable(api), api.profile.sample * 0.67, least=12)):
        actions = {
            "action.tool": {"tool": entity},
            "a value in action.args": {"args": {"file_path": entity}},
            "action.output": {"output": entity},
            "action.tool beside args": {"tool": entity, "args": {"k": other}, "output": other},
            "a value in action.args beside a tool": {"tool": other, "args": {"k": entity}},
            "a later value in action.args": {
                "tool": other,
                "args": {"a": other, "n": 1, "z": entity},
                "output": other,
            },
            "action.output beside a tool and args": {"tool": other, "args": {"k": other}, "output": entity},
        }
        tries += [
            (one, {"action": action, **one.scope, "mode": "retrieve"}, f"{entity!r} as {what}")
            for what, action in actions.items()
        ]
    api.each(tries, lambda item: _fires(api, sets, *item))


def _deep(value: object, levels: int) -> JsonObject:
    """A value under so many objects and arrays by turns."""
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return {"a": value}


@promise("MATCH-7", needs=("rows",), pointer="components.schemas.ActionContext.args")
def nested_values_fire(api: Api) -> None:
    """A value nested inside `action.args` (objects and arrays) fires."""
    sets = Sets(api)
    tries: list[tuple[Probe, JsonObject, str]] = []
    for one, entity in _reachable(api, api.sample(usable(api), 0.34, least=6)):
        shapes: dict[str, JsonObject] = {
            "an object": {"a": {"b": entity}},
            "an array": {"a": ["first", entity]},
            "the first of an array": {"a": [entity, "second"]},
            "an array of objects": {"edits": [{"path": "x"}, {"path": entity, "n": 1}]},
            "an array of arrays": {"a": [[], ["x", [entity]]]},
            "six objects": {"a": {"b": {"c": {"d": {"e": {"f": entity}}}}}},
            "objects and arrays by turns": {"a": [{"b": [{"c": [{"d": entity}]}]}], "z": None},
            "twelve objects and arrays": _deep(entity, 12),
            "a long array": {"a": [*range(40), "x", *(f"v{n}" for n in range(40)), entity]},
            "the last of many objects": {f"k{n}": {"v": f"w{n}"} for n in range(40)} | {"z": {"v": entity}},
        }
        tries += [
            (
                one,
                {"action": {"tool": "probe_tool", "args": args}, **one.scope, "mode": "retrieve"},
                f"{entity!r} within {what} of action.args",
            )
            for what, args in shapes.items()
        ]

    flat: dict[tuple[str, str], bool] = {}

    def check(item: tuple[Probe, JsonObject, str]) -> None:
        one, ask, what = item
        entity = what.split("'")[1] if "'" in what else what
        key = (one.id, entity)
        if key not in flat:
            plain: JsonObject = {
                **ask,
                "action": {
                    "tool": "probe_tool",
                    "args": {"k": next(e for e in one.trigger_entities if repr(e) in what)},
                },
            }
            flat[key] = one.id in api.rows(plain)
        if not flat[key]:
            raise Unjudged("not even a value at the top of action.args fires (see MATCH-2)")
        _fires(api, sets, one, ask, what)

    api.each(tries, check)
