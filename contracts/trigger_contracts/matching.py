"""MATCH: which directives fire on which symbols, exactly.

A near miss is judged by the probed rows: another directive may rightly fire on it. What an action holds may
be read generously (the contract does not spell extraction out), so an action must fire what it names, and
may fire more.
"""

from __future__ import annotations

from collections.abc import Sequence

from trigger_contracts.asks import Vocabulary, greppable, scope_choices
from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.near import near_entities
from trigger_contracts.probes import Probe
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, is_edge, without
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
    if api.run.known:
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


def _usable(api: Api) -> list[tuple[Probe, str]]:
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
    for one, entity in _reachable(api, api.sample(_usable(api), least=12)):
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


@promise("MATCH-3", needs=("rows",), pointer=_ENTITIES)
def near_misses_stay_quiet(api: Api) -> None:
    """Near-miss entities (case changed, substring, superstring, blanks added) do not fire."""
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    carriers = {
        entity: next(one for one in api.probes if entity in one.trigger_entities) for entity in words.entities
    }
    probed = {probe.id: probe for probe in api.probes}

    def quiet(item: tuple[Sequence[str], JsonObject]) -> bool:
        misses, scope = item
        exchange = _tempted(api, {"entities": list(misses), **scope, "mode": "retrieve"})
        if exchange.status != 200:
            return False
        api.saw()
        for name in api.run.identify(api.read(exchange)):
            if name in probed and not set(misses) & set(probed[name].trigger_entities):
                what = (
                    f"entity {misses[0]!r} fires" if len(misses) == 1 else f"{len(misses)} near misses fire"
                )
                held = list(probed[name].trigger_entities)
                raise Broken(f"{what} directive {name}, whose entities are {held}", exchange)
        return True

    def by_itself(item: tuple[Sequence[str], JsonObject]) -> None:
        quiet(item)

    def apart(item: tuple[Sequence[str], JsonObject]) -> None:
        """All near misses of a symbol at once; one by one when that fires something, or is refused."""
        misses, scope = item
        try:
            if quiet(item):
                return
        except Broken:
            api.each([((one,), scope) for one in misses], by_itself)
            raise
        api.each([((one,), scope) for one in misses], by_itself)

    chosen = api.sample(words.entities, least=12)
    first = [(tuple(near_entities(entity)), carriers[entity].scope) for entity in chosen]
    api.each(first, apart)
    # And by themselves: a server that heeds the first of a list only would be spared above.
    alone = [((one,), scope) for misses, scope in first[:2] for one in misses]
    api.each(api.sample(alone, 0.5, least=40), by_itself)


def _tempted(api: Api, ask: JsonObject) -> Exchange:
    exchange = api.firm(lambda: api.call(ask, kind=Kind.ODD, owner=api.name))
    if exchange.trouble or exchange.status == 401 or is_edge(exchange):
        raise Unjudged(f"a valid request {api.why_not(exchange)}")
    return exchange


@promise("MATCH-4", needs=("rows",), pointer=_ENTITIES)
def entities_unite(api: Api) -> None:
    """The rows of `entities: a ∪ b` are the rows of `a` and the rows of `b`; order and repeats change
    nothing.
    """
    from hypothesis import strategies as st

    words, sets = Vocabulary(api.need_rows(), api.token("stranger")), Sets(api)
    scopes: list[JsonObject] = [{axis: value} for axis, value in words.pairs()]

    def united(drawn: tuple[list[str], JsonObject]) -> None:
        entities, scope = drawn
        whole: JsonObject = {"entities": entities, **scope}
        parts: list[JsonObject] = [{"entities": [one], **scope} for one in dict.fromkeys(entities)]
        got, wanted = sets.of(whole), frozenset[str]().union(*(sets.of(part) for part in parts))
        if (
            got != wanted
            and not sets.capped(got, *(sets.of(part) for part in parts))
            and sets.steady(whole, *parts)
        ):
            raise Broken(
                (
                    f"{len(parts)} entities alone bring {len(wanted)} "
                    f"rows in all; together they bring {len(got)}"
                ),
                api.call({**whole, "mode": "retrieve"}),
            )
        if wanted:
            api.saw()

    def arranged(drawn: tuple[list[str], JsonObject]) -> None:
        entities, scope = drawn
        ask: JsonObject = {"entities": entities, **scope, "mode": "retrieve"}
        first = api.rows(ask)
        for again in (
            entities[::-1],
            entities * 2,
            [*entities, entities[0]],
            [entities[0], entities[0], *entities[1:]],
        ):
            other = {**ask, "entities": again}
            exchange = api.call(other)
            got = api.run.identify(api.read(exchange))
            if got != first and _steady(api, ask, first) and _steady(api, other, got):
                how = "other rows" if set(got) != set(first) else "another order"
                raise Broken(f"the same entities, rearranged or repeated, bring {how}", exchange)

    def among_strangers(scope: JsonObject) -> None:
        """A known symbol, at the end of a long list that brings nothing else."""
        wanted = sets.of({"entities": everything[:1], **scope})
        crowd = [f"{words.stranger}-{number}" for number in range(150)]
        for entities in ([*crowd, everything[0]], [*crowd[:40], everything[0], *crowd[40:]]):
            exchange = api.call({"entities": entities, **scope, "mode": "retrieve"})
            if exchange.status in (413, 422):
                return  # so long a list may be refused
            got = frozenset(api.run.identify(api.read(exchange)))
            if (
                got != wanted
                and not sets.capped(wanted)
                and sets.steady({"entities": everything[:1], **scope})
            ):
                raise Broken(
                    f"an entity that brings {len(wanted)} rows alone brings {len(got)} among {len(entities)}",
                    exchange,
                )

    everything = words.entities
    for many in (everything[:3], (everything + [f"{words.stranger}-{number}" for number in range(24)])[:40]):
        _taken(api, {"entities": many, **scopes[0], "mode": "retrieve"})
    api.each(
        [carried.scope for carried in api.probes if everything[0] in carried.trigger_entities][:2],
        among_strangers,
    )
    for number, scope in enumerate(api.sample(scopes, 0.5, least=6)):
        united((everything[:3], scope))
        united((everything[-4:], scope))
        if number < 2 or api.profile.sample == 1:  # each entity is asked for alone
            united((everything[:40], scope))
        united(([words.stranger, everything[0]], scope))
        united(([everything[0], words.stranger], scope))
        arranged((everything[:5], scope))
    some = st.tuples(words.entity_lists(6), st.one_of(words.scopes(), st.sampled_from(scopes)))
    api.generate(some, united)
    api.generate(some, arranged, max(4, api.profile.examples // 3))
    if not api.seen:
        raise NotExercised("no rows came back")


def _taken(api: Api, ask: JsonObject) -> None:
    """A valid request that is refused has no rows to compare: the refusal is the fault."""
    exchange = api.call(ask)
    if exchange.status in (400, 413, 422):
        many = len(ask["entities"])
        raise Broken(f"{many} entities in one request are refused with {exchange.status}", exchange)


def _steady(api: Api, ask: JsonObject, rows: tuple[str, ...]) -> bool:
    """Whether a request keeps its order when asked thrice in a row; one that wavers breaks ORDER-1."""
    return all(api.rows(ask) == rows for _ in range(3))


@promise("MATCH-5", needs=("rows",), pointer="components.schemas.DirectiveDetails.matched_on")
def matched_on_is_true(api: Api) -> None:
    """`matched_on` is a non-empty subset of `trigger_entities` and, under `entities`, of what was sent."""
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    for axis, value in words.pairs():
        api.answer({"entities": words.entities[:3], axis: value, "mode": "retrieve"})
    for one in api.probes:
        for entity in (one.trigger_entities[0], one.trigger_entities[-1]):
            api.answer({"entities": [entity], **one.scope, "mode": "retrieve"})
    for one, entity in api.sample(_usable(api), 0.3):
        api.answer({"action": {"tool": entity}, **one.scope, "mode": "retrieve"})
    seen = api.run.watch.seen.get(api.name, 0)
    if not seen:
        raise NotExercised("no rows with details came back")
    api.saw(seen)


@promise("MATCH-6", pointer=_ENTITIES)
def an_unknown_entity_brings_nothing(api: Api) -> None:
    """An entity that nothing carries is answered 200 with no rows."""
    asks: list[JsonObject] = [
        api.plain(),
        without(api.plain(agent_id=api.token("agent")), "user_id"),
        without(api.plain(app_id=api.token("app")), "user_id"),
        without(api.plain(group_ids=[api.token("grp")]), "user_id"),
        api.plain(agent_id=api.token("agent"), app_id=api.token("app"), group_ids=[api.token("grp")]),
        api.plain(include=["procedure"]),
        without(api.plain(action={"tool": api.token("tool")}), "entities"),
        without(api.plain(action={"args": {"k": api.token("value")}}), "entities"),
        without(api.plain(action={"output": api.token("output")}), "entities"),
    ]
    for scope in [scope for one in api.sample(api.probes, 0.5) for scope in scope_choices(one)][:40]:
        asks.append({"entities": [api.token("symbol")], **scope, "mode": "retrieve"})
        asks.append(
            {
                "action": {"tool": api.token("tool"), "args": {"k": api.token("value")}},
                **scope,
                "mode": "retrieve",
            }
        )
    asks += [{**ask, "entities": [api.token("a"), api.token("b"), api.token("c")]} for ask in asks[:1]]
    # A task is no signal, also when it names a symbol that would fire.
    named: list[JsonObject] = [
        {
            "entities": [api.token("symbol")],
            **one.scope,
            "task": f"work on {' and '.join(one.trigger_entities)}"[:2000],
        }
        for one in api.sample(api.probes, 0.2, least=4)
    ]
    asks += [{**ask, "mode": "retrieve"} for ask in named]
    if api.may_compose(2):
        asks += [
            without(api.plain(), "mode"),
            *({"entities": [api.token("symbol")], **one.scope, "task": "tidy up"} for one in api.probes[:1]),
            *named[:1],
        ]

    def check(ask: JsonObject) -> None:
        exchange = api.call(ask)
        for _ in range(3):
            if not exchange.trouble:
                break
            exchange = api.call(ask)
        status = exchange.status
        if (
            exchange.trouble
            or status == 401
            or is_edge(exchange)
            or (status is not None and 300 <= status < 400)
        ):
            raise Unjudged(f"a valid request {api.why_not(exchange)}")
        if status != 200:
            raise Broken(
                f"an entity that nothing carries was answered {status}; expected 200 and no rows", exchange
            )
        rows = api.read(exchange).rows
        if rows:
            raise Broken(f"an entity that nothing carries brought {len(rows)} row(s)", exchange)
        api.saw()

    api.each(asks, check)


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
    for one, entity in _reachable(api, api.sample(_usable(api), 0.34, least=6)):
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
