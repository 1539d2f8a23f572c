"""MATCH-3 and MATCH-6: what is near a symbol, and what nothing carries, fires nothing.

A near miss is judged by the probed rows: another directive may rightly fire on it. All near misses of a
symbol travel in one request, and one by one only where that fires something or is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from trigger_contracts.asks import Vocabulary, scope_choices
from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.near import near_entities
from trigger_contracts.promises import Broken, Unjudged, promise
from trigger_contracts.run import Api, is_edge, without

_ENTITIES = "components.schemas.TriggerRequest.entities"


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
