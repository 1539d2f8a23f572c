"""SCOPE: every axis that a request names must hold, and no row crosses an organisation.

Which rows are 'in' is never guessed: rows say what they carry, and answers are compared with one another.
Requests made to tempt (near misses, crowds) name the promise that may judge them, so that one fault is not
held against all.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from trigger_contracts.asks import Vocabulary, near_misses, scope_choices
from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind
from trigger_contracts.json_values import is_array
from trigger_contracts.modes import squeezed
from trigger_contracts.probes import AXES, Probe
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, is_edge, without
from trigger_contracts.sets import Sets
from trigger_contracts.watch import outside

_REQUEST = "components.schemas.TriggerRequest"


def _vocabulary(api: Api) -> Vocabulary:
    return Vocabulary(api.need_rows(), api.token("stranger"))


@promise("SCOPE-1", needs=("rows",), pointer=f"{_REQUEST}.user_id")
def rows_carry_the_scope(api: Api) -> None:
    """Every row carries the requested `user_id`, `agent_id` and `app_id`, and shares a group with the
    requested `group_ids`.
    """
    words = _vocabulary(api)
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

    def check(drawn: tuple[JsonObject, list[str]]) -> None:
        scope, entities = drawn
        api.answer({"entities": entities, **scope, "mode": "retrieve"})

    from hypothesis import strategies as st

    api.generate(st.tuples(words.scopes(), words.entity_lists(6)), check)
    seen = api.run.watch.seen.get(api.name, 0)
    if not seen:
        raise NotExercised("no rows came back")
    api.saw(seen)


@promise("SCOPE-2", needs=("rows",), pointer=f"{_REQUEST}.agent_id")
def an_axis_only_narrows(api: Api) -> None:
    """Adding an axis never adds a row."""
    from hypothesis import strategies as st

    words, sets = _vocabulary(api), Sets(api)

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

    for one in api.sample(api.probes, min(0.5, api.profile.sample), least=6):
        for scope in scope_choices(one):
            for axis in AXES:
                stranger = [words.stranger] if axis == "group_ids" else words.stranger
                for value in (*words.values(axis)[:2], stranger):
                    if axis not in scope and len(scope) == 1:
                        check((scope, list(one.trigger_entities), (axis, value)))
    pairs = list(words.pairs())
    api.generate(st.tuples(words.scopes(), words.entity_lists(), st.sampled_from(pairs)), check)


@promise("SCOPE-3", needs=("rows",), pointer=_REQUEST)
def two_axes_intersect(api: Api) -> None:
    """Two axes give exactly the intersection of each alone."""
    from hypothesis import strategies as st

    words, sets = _vocabulary(api), Sets(api)
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
    api.generate(st.tuples(st.sampled_from(pairs), st.sampled_from(pairs), words.entity_lists(6)), check)
    if not api.seen:
        raise NotExercised("no two axes had rows under one entity")


@promise("SCOPE-4", needs=("rows",), pointer=f"{_REQUEST}.group_ids")
def groups_unite(api: Api) -> None:
    """`group_ids: [a, b]` gives exactly the union of `[a]` and `[b]`."""
    from hypothesis import strategies as st

    words, sets = _vocabulary(api), Sets(api)
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
    for first in words.groups[:6]:
        check(([first, words.stranger], everything, {}))
        check(([words.stranger, first], everything, {}))
        for second in words.groups[:6]:
            if first != second:
                check(([first, second], everything, {}))
    some = st.lists(st.sampled_from([*words.groups, words.stranger]), min_size=2, max_size=4, unique=True)
    others: list[JsonObject] = [{axis: value} for axis, value in words.pairs() if axis != "group_ids"]
    beside: st.SearchStrategy[JsonObject] = st.sampled_from([{}, *others])
    api.generate(st.tuples(some, words.entity_lists(), beside), check)
    if not api.seen:
        raise NotExercised("no group had rows")


@promise("SCOPE-5", needs=("rows",), pointer=_REQUEST)
def near_miss_scopes(api: Api) -> None:
    """Near-miss scope values (case, prefix, suffix, blanks, wildcards, the empty string) see none of the
    rows.
    """
    words = _vocabulary(api)
    tries: list[tuple[Probe, JsonObject, str]] = []
    for axis in AXES:
        for number, value in enumerate(words.values(axis)):
            text = value[0] if axis == "group_ids" else value
            holders = [
                one
                for one in api.probes
                if (text in one.group_ids if axis == "group_ids" else getattr(one, axis) == text)
            ]
            if not holders or number >= (3 if api.profile.sample < 1 else 8):
                continue
            alone = min(holders, key=lambda one: len(one.scope))
            many = max(holders, key=lambda one: len(one.scope))
            misses = near_misses(text)
            for at, miss in enumerate(["", *(misses if number == 0 else api.sample(misses, 0.5))]):
                one = (alone, many)[at % 2]
                given: object = [miss] if axis == "group_ids" else miss
                tries.append((one, {**(one.scope if one is many else {}), axis: given}, axis))
    # A blank variable of a client, on an axis that the row lacks or has, must not widen the read.
    for one in api.sample(api.probes, 0.5, least=6):
        tries += [(one, {**one.scope, axis: ""}, axis) for axis in AXES[:3]]

    def check(item: tuple[Probe, JsonObject, str]) -> None:
        one, scope, axis = item
        given = scope[axis]
        values = given if is_array(given) else [given]
        if axis != "group_ids" and given == getattr(one, axis):
            return
        ask: JsonObject = {"entities": list(one.trigger_entities), **scope, "mode": "retrieve"}
        exchange = api.firm(lambda: api.call(ask, kind=Kind.ODD, owner=api.name))
        if exchange.trouble:
            raise Unjudged(f"a near miss {api.why_not(exchange)}")
        if (
            exchange.status is not None
            and 400 <= exchange.status < 500
            and exchange.status != 401
            and not is_edge(exchange)
        ):
            api.saw()  # refused: it sees nothing
            return
        answer = api.read(exchange)
        api.saw()
        probed = {probe.id: probe for probe in api.probes}
        for name in api.run.identify(answer):
            holder = probed.get(name)
            if holder is None:
                continue
            held = holder.group_ids if axis == "group_ids" else (getattr(holder, axis),)
            if not set(values) & set(held):
                raise Broken(
                    (
                        f"{axis} {given!r} sees a row of {axis} "
                        f"{list(held) if axis == 'group_ids' else held[0]!r}"
                    ),
                    exchange,
                )

    api.each(tries, check)


@promise("SCOPE-6", needs=("rows", "org2"), pointer=_REQUEST)
def organisations_are_apart(api: Api) -> None:
    """One organisation's key never sees another's rows, whatever the scope says."""
    words = _vocabulary(api)
    asks: list[JsonObject] = [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"} for one in api.probes
    ]
    asks += [
        {"entities": words.entities[:40], axis: value, "mode": "retrieve"} for axis, value in words.pairs()
    ]

    def check(ask: JsonObject) -> None:
        mine = api.answer(ask)
        owned = set(api.run.identify(mine)) | {one.id for one in api.probes}
        others: list[Answer] = []
        for style in (None, "bearer") if api.rng.random() < 0.3 else (None,):
            theirs = api.answer(ask, role="other", style=style, owner=api.name)
            others.append(theirs)
            leaked = owned & {row.id for row in theirs.rows}
            if leaked:
                raise Broken(
                    f"the other organisation's key sees {len(leaked)} row(s) of this one", theirs.exchange
                )
        back = set(api.run.identify(api.answer(ask)))
        for theirs in others:
            foreign = back & {row.id for row in theirs.rows}
            if foreign:
                raise Broken(
                    f"this organisation's key sees {len(foreign)} row(s) of the other", theirs.exchange
                )
        if mine.rows:
            api.saw()

    api.each(api.sample(asks, least=16), check)
    if api.may_compose(2):
        ask = without(asks[0], "mode")
        answer = api.answer(ask, role="other", owner=api.name)
        if {row.id for row in answer.rows} & {one.id for one in api.probes}:
            raise Broken("the other organisation's key sees rows of this one under compose", answer.exchange)


@promise("SCOPE-7", needs=("rows",), pointer=_REQUEST)
def concurrent_requests_stay_apart(api: Api) -> None:
    """Concurrent requests of different scopes never bleed into one another."""
    words = _vocabulary(api)
    asks: list[JsonObject] = [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in api.sample(api.probes, least=12)
    ]
    asks += [
        {"entities": words.entities[:40], axis: value, "mode": "retrieve"} for axis, value in words.pairs()
    ][:24]
    asks += [
        {"entities": words.entities[:40], "user_id": words.stranger, "mode": "retrieve"},
        api.plain(include=["lesson"]),
    ]
    expected = [frozenset(api.rows(ask)) for ask in asks]
    if len({ids for ids in expected if ids}) < 2:
        raise NotExercised("no two scopes bring different rows")
    for mode in ("compose", "retrieve", "compose", "retrieve"):
        # Whether the echo is right without a crowd: if not, MODE-1 says so, and no crowd did it.
        if mode == "retrieve" or api.may_compose():
            api.answer({**asks[0], "mode": mode})
    threads, rounds = api.profile.threads, api.profile.rounds
    start = threading.Barrier(threads)
    composing = api.run.options.compose_budget >= threads * 4

    def talk(thread: int) -> list[tuple[int, Exchange]]:
        start.wait(10)
        found: list[tuple[int, Exchange]] = []
        for turn in range(rounds):
            at = (thread * 7 + turn * (thread + 1)) % len(asks)
            ask = asks[at]
            if composing and turn % 10 == 4 and api.may_compose():
                ask = {**ask, "mode": "compose"}
            found.append((at, api.call(ask, kind=Kind.ODD, owner=api.name, alone=False)))
        api.run.target.drop_connection()
        return found

    with ThreadPoolExecutor(threads) as pool:
        talks = [pool.submit(talk, thread) for thread in range(threads)]
        seen = [pair for one in talks for pair in one.result()]
    judged: list[tuple[int, Answer]] = [
        (at, Answer(exchange))
        for at, exchange in seen
        if exchange.status == 200 and isinstance(exchange.json, dict)
    ]
    wrong = [(at, answer) for at, answer in judged if _bled(api, answer, expected[at])]
    for at, answer in wrong:
        # The same request alone: if it strays then too, it is not the crowd.
        ask = answer.exchange.request.ask or asks[at]
        if not any(_bled(api, api.answer(ask), expected[at]) for _ in range(3) if _affordable(api, ask)):
            what = _bled(api, answer, expected[at])
            raise Broken(f"among {threads} concurrent requests, {what}", answer.exchange)
    if wrong:
        raise Unjudged("the same requests go astray alone as well; other promises say how")
    if not judged:
        raise Unjudged("no concurrent request was answered")
    api.saw(len(judged))


def _affordable(api: Api, ask: JsonObject) -> bool:
    return ask.get("mode") == "retrieve" or api.may_compose()


def _bled(api: Api, answer: Answer, expected: frozenset[str]) -> str | None:
    ask = answer.exchange.request.ask or {}
    for row in answer.rows:
        fault = outside(row, ask)
        if fault:
            return fault
    got = frozenset(api.run.identify(answer))
    said = answer.body.get("mode")
    if "MODE-1" not in api.run.watch.findings and said in ("retrieve", "compose") and said != ask.get("mode"):
        return f"a {ask.get('mode')} request was answered as {said}"
    if got - expected:
        return f"a request was given {len(got - expected)} row(s) that it does not bring alone"
    if ask.get("mode") == "retrieve" and got != expected:
        return f"a request was given {len(got)} of the {len(expected)} rows that it brings alone"
    return None


@promise("SCOPE-8", needs=("rows", "compose"), pointer="components.schemas.SearchResponse.context")
def context_stays_in_scope(api: Api) -> None:
    """The context block never carries the text of a row outside the scope."""
    words = _vocabulary(api)
    asks: list[JsonObject] = [{"entities": words.entities[:40], axis: value} for axis, value in words.pairs()]
    for ask in asks:
        api.answer({**ask, "mode": "retrieve"})
    for one in api.probes:
        api.answer({"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"})
    asks += [{"entities": list(one.trigger_entities), **one.scope} for one in api.probes[:12]]
    asks.append({"entities": words.entities[:40], "user_id": words.stranger})

    def check(ask: JsonObject) -> None:
        if not api.may_compose():
            return
        entities = ask["entities"]
        answer = api.answer(ask)
        if not isinstance(answer.context, str):
            return
        block = squeezed(answer.context)
        known = api.run.known.values()
        inside = [squeezed(row.text) for row in answer.rows]
        inside += [
            squeezed(row.view.text) for row in known if row.role == "main" and outside(row.view, ask) is None
        ]
        for row in known:
            if row.role == "main" and outside(row.view, ask) is None:
                continue
            text = squeezed(row.view.text)
            tell = text[:48]
            if len(tell) < 12 or any(tell in other for other in inside):
                continue
            if tell in block:
                raise Broken(
                    f"the context carries the text of row {row.view.id}, which is outside the scope",
                    answer.exchange,
                )
            if row.role == "other" or set(row.view.trigger_entities) & set(entities):
                api.saw()

    # Each axis leaks in its own way: two values of each come first, whatever the budget leaves.
    first = [ask for axis in AXES for ask in [one for one in asks if set(one) == {"entities", axis}][:2]]
    rest = api.sample([ask for ask in asks if ask not in first], least=8)
    api.each((first + rest)[: 12 + api.profile.repeats // 20], check)
    if not api.seen:
        raise NotExercised("no compose answer had a context beside rows of another scope")
