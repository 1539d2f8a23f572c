"""MATCH-4 and MATCH-5: several symbols bring what each brings, and rows say truly what they fired on.

A server may cap the rows of an answer, and may refuse a very long list.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from trigger_contracts.asks import Vocabulary
from trigger_contracts.exchange import JsonObject
from trigger_contracts.matching import usable
from trigger_contracts.promises import Broken, NotExercised, promise
from trigger_contracts.run import Api
from trigger_contracts.sets import Sets

_ENTITIES = "components.schemas.TriggerRequest.entities"


@promise("MATCH-4", needs=("rows",), pointer=_ENTITIES)
def entities_unite(api: Api) -> None:
    """The rows of `entities: a ∪ b` are the rows of `a` and the rows of `b`; order and repeats change
    nothing.
    """
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
    for number, scope in enumerate(api.sample(scopes, min(0.5, api.profile.sample), least=4)):
        united((everything[:3], scope))
        united((everything[-4:], scope))
        # Here each entity is asked for alone: the first scope, and in a longer look every third.
        if not number or (api.profile.sample == 1 and number % 3 == 0):
            united((everything[:40], scope))
        united(([words.stranger, everything[0]], scope))
        united(([everything[0], words.stranger], scope))
        arranged((everything[:5], scope))

    def some(st: ModuleType) -> Any:
        return st.tuples(words.entity_lists(6), st.one_of(words.scopes(), st.sampled_from(scopes)))

    api.generate(some, united)
    api.generate(some, arranged, share=0.34)
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
    for one in api.sample(api.probes):
        for entity in (one.trigger_entities[0], one.trigger_entities[-1]):
            api.answer({"entities": [entity], **one.scope, "mode": "retrieve"})
    for one, entity in api.sample(usable(api), 0.3):
        api.answer({"action": {"tool": entity}, **one.scope, "mode": "retrieve"})
    api.rest_on_watch("no rows with details came back")
