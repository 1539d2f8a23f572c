"""SCOPE: every axis that a request names must hold, and no row crosses an organisation.

Which rows are 'in' is never guessed: rows say what they carry, and answers are compared with one another.
Requests made to tempt (near misses, crowds) name the promise that may judge them, so that one fault is not
held against all.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from trigger_contracts.asks import Vocabulary, greppable, scope_choices
from trigger_contracts.exchange import JsonObject
from trigger_contracts.probes import AXES
from trigger_contracts.promises import Broken, NotExercised, promise
from trigger_contracts.run import Api
from trigger_contracts.sets import Sets

_REQUEST = "components.schemas.TriggerRequest"


@promise("SCOPE-1", needs=("rows",), pointer=f"{_REQUEST}.user_id")
def rows_carry_the_scope(api: Api) -> None:
    """Every row carries the requested `user_id`, `agent_id` and `app_id`, and shares a group with the
    requested `group_ids`.
    """
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    for axis, value in words.pairs():
        api.answer({"entities": words.entities[:40], axis: value, "mode": "retrieve"})
    # An axis that a row lacks is not one that it meets.
    for one in api.sample(api.probes, least=6):
        for axis in AXES:
            if axis not in one.scope:
                for value in (words.values(axis)[:1] or []) + [
                    [words.stranger] if axis == "group_ids" else words.stranger
                ]:
                    api.answer(
                        {"entities": list(one.trigger_entities), **one.scope, axis: value, "mode": "retrieve"}
                    )

    if words.groups:
        crowd = [f"{words.stranger}-{number}" for number in range(120)]
        api.call({"entities": words.entities[:40], "group_ids": crowd, "mode": "retrieve"})
    # Each signal and option may have a query of its own.
    for axis, value in api.sample(list(words.pairs()), 0.34, least=6):
        for entity in [entity for entity in words.entities if greppable(entity)][:3]:
            api.answer({"action": {"tool": entity, "args": {"k": entity}}, axis: value, "mode": "retrieve"})
        for option in ({"include": ["lesson"]}, {"include": ["procedure"]}, {"task": "tidy up"}):
            api.answer({"entities": words.entities[:40], axis: value, **option, "mode": "retrieve"})

    def check(drawn: tuple[JsonObject, list[str]]) -> None:
        scope, entities = drawn
        api.answer({"entities": entities, **scope, "mode": "retrieve"})

    api.generate(lambda st: st.tuples(words.scopes(), words.entity_lists(6)), check)
    api.rest_on_watch("no rows came back")


@promise("SCOPE-2", needs=("rows",), pointer=f"{_REQUEST}.agent_id")
def an_axis_only_narrows(api: Api) -> None:
    """Adding an axis never adds a row."""
    words, sets = Vocabulary(api.need_rows(), api.token("stranger")), Sets(api)

    def check(drawn: tuple[JsonObject, list[str], tuple[str, object]]) -> None:
        scope, entities, (axis, value) = drawn
        if axis in scope:
            return
        wide: JsonObject = {"entities": entities, **scope}
        narrow = {**wide, axis: value}
        before, after = sets.of(wide), sets.of(narrow)
        if sets.capped(before):
            return
        added = after - before
        if added and sets.steady(wide, narrow):
            raise Broken(
                f"adding {axis} to {sorted(scope)} added {len(added)} row(s)",
                api.call({**narrow, "mode": "retrieve"}),
            )
        if before:
            api.saw()

    tries = [
        (scope, list(one.trigger_entities), (axis, value))
        for one in api.sample(api.probes, 0.34, least=6)
        for scope in scope_choices(one)
        for axis in AXES
        for value in (*words.values(axis)[:2], [words.stranger] if axis == "group_ids" else words.stranger)
        if axis not in scope and len(scope) == 1
    ]
    api.each(tries, check)
    pairs = list(words.pairs())
    api.generate(lambda st: st.tuples(words.scopes(), words.entity_lists(), st.sampled_from(pairs)), check)


@promise("SCOPE-3", needs=("rows",), pointer=_REQUEST)
def two_axes_intersect(api: Api) -> None:
    """Two axes give exactly the intersection of each alone."""
    words, sets = Vocabulary(api.need_rows(), api.token("stranger")), Sets(api)
    pairs = list(words.pairs())
    axes = {axis for axis, _ in pairs}
    if len(axes) < 2:
        raise NotExercised("the probes differ in one scope axis only", "inputs")

    def check(drawn: tuple[tuple[str, object], tuple[str, object], list[str]]) -> None:
        (one, first), (two, second), entities = drawn
        if one == two:
            return
        left: JsonObject = {"entities": entities, one: first}
        right: JsonObject = {"entities": entities, two: second}
        both = {**left, two: second}
        a, b, got = sets.of(left), sets.of(right), sets.of(both)
        if sets.capped(a, b):
            return
        if got != a & b and sets.steady(left, right, both):
            raise Broken(
                (
                    f"{one} alone brings {len(a)} rows, {two} alone {len(b)}, "
                    f"{len(a & b)} of them the same; both bring {len(got)}"
                ),
                api.call({**both, "mode": "retrieve"}),
            )
        if a and b:
            api.saw()

    entities = words.entities[:40]
    for one in api.sample(api.probes, 0.5, least=8):
        named = [(axis, [value[0]] if axis == "group_ids" else value) for axis, value in one.scope.items()]
        for at, first in enumerate(named):
            for second in named[at + 1 :]:
                check((first, second, list(one.trigger_entities)))
                check((first, second, entities))
    api.generate(
        lambda st: st.tuples(st.sampled_from(pairs), st.sampled_from(pairs), words.entity_lists(6)), check
    )
    if not api.seen:
        raise NotExercised("no two axes had rows under one entity")


@promise("SCOPE-4", needs=("rows",), pointer=f"{_REQUEST}.group_ids")
def groups_unite(api: Api) -> None:
    """`group_ids: [a, b]` gives exactly the union of `[a]` and `[b]`."""
    words, sets = Vocabulary(api.need_rows(), api.token("stranger")), Sets(api)
    if not words.groups:
        raise NotExercised("no probe has group_ids", "inputs")

    def check(drawn: tuple[list[str], list[str], JsonObject]) -> None:
        groups, entities, beside = drawn
        base: JsonObject = {"entities": entities, **beside}
        whole = {**base, "group_ids": groups}
        parts: list[JsonObject] = [{**base, "group_ids": [one]} for one in groups]
        wanted = frozenset[str]().union(*(sets.of(part) for part in parts))
        got = sets.of(whole)
        if sets.capped(got, *(sets.of(part) for part in parts)):
            return
        if got != wanted and sets.steady(whole, *parts):
            raise Broken(
                (
                    f"each of {len(groups)} groups alone brings "
                    f"{len(wanted)} rows in all; together they bring {len(got)}"
                ),
                api.call({**whole, "mode": "retrieve"}),
            )
        if wanted:
            api.saw()

    everything = words.entities[:40]
    for first in words.groups[:2]:
        _among_strangers(api, sets, words, first)
    several = words.groups[: 6 if api.profile.sample == 1 else 4]
    for first in several:
        check(([first, words.stranger], everything, {}))
        check(([words.stranger, first], everything, {}))
        for second in several:
            if first != second:
                check(([first, second], everything, {}))
    others: list[JsonObject] = [{axis: value} for axis, value in words.pairs() if axis != "group_ids"]

    def drawn(st: ModuleType) -> Any:
        some = st.sampled_from([*words.groups, words.stranger])
        several = st.lists(some, min_size=2, max_size=4, unique=True)
        return st.tuples(several, words.entity_lists(), st.sampled_from([{}, *others]))

    api.generate(drawn, check)
    if not api.seen:
        raise NotExercised("no group had rows")


def _among_strangers(api: Api, sets: Sets, words: Vocabulary, group: str) -> None:
    """A group among many that have no rows, at the end of them or repeated, brings what it brings alone."""
    base: JsonObject = {"entities": words.entities[:40]}
    alone = {**base, "group_ids": [group]}
    crowd = [f"{words.stranger}-{number}" for number in range(60)]
    for groups in ([*crowd[:12], group], [*crowd, group], [group, *crowd], [group, group]):
        exchange = api.call({**base, "group_ids": groups, "mode": "retrieve"})
        if exchange.status in (413, 422) and len(groups) > 20:
            continue  # so long a list may be refused
        got, wanted = frozenset(api.run.identify(api.read(exchange))), sets.of(alone)
        if got != wanted and not sets.capped(got, wanted) and sets.steady(alone):
            beside = "twice" if len(set(groups)) == 1 else f"among {len(groups) - 1} others"
            raise Broken(f"a group that brings {len(wanted)} rows alone brings {len(got)} {beside}", exchange)
        if wanted:
            api.saw()
