"""SCOPE: every axis that a request names must hold, and no row crosses an organisation.

Which rows are 'in' is never guessed: rows say what they carry, and answers are compared with one another.
Requests made to tempt (near misses, crowds) name the promise that may judge them, so that one fault is not
held against all.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trigger_contracts.asks import Vocabulary, greppable, scope_choices
from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind
from trigger_contracts.json_values import is_array
from trigger_contracts.modes import squeezed
from trigger_contracts.near import near_misses
from trigger_contracts.probes import AXES, Probe
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, is_edge, without
from trigger_contracts.sets import Sets
from trigger_contracts.watch import outside

_REQUEST = "components.schemas.TriggerRequest"


#: What stands for no value, or for any, in some client or console.
_NOTHING = (" ", "\t", "null", "None", "undefined", "all", "any", "default", "0")


def _one_of_each_axis(probes: Sequence[Probe]) -> list[Probe]:
    """For each axis, the probe with the fewest axes that has it."""
    found: list[Probe] = []
    for axis in AXES:
        holders = sorted((one for one in probes if axis in one.scope), key=lambda one: len(one.scope))
        found += [one for one in holders[:1] if one not in found]
    return found


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
    for first in words.groups[:2]:
        _among_strangers(api, sets, words, first)
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
            if axis == "group_ids":
                # Any one of a list suffices, so all may travel together; some go by themselves as well.
                tries.append((alone, {axis: misses}, axis))
                misses = api.sample(misses, 0.1, least=8)
            elif number:
                misses = api.sample(misses, 0.25)
            for at, miss in enumerate(["", *misses]):
                one = (alone, many)[at % 2]
                given: object = [miss] if axis == "group_ids" else miss
                tries.append((one, {**(one.scope if one is many else {}), axis: given}, axis))
    # A blank variable of a client, on an axis that the row lacks or has, must not widen the read.
    for one in api.sample(api.probes, 0.5, least=6):
        tries += [(one, {**one.scope, axis: ""}, axis) for axis in AXES[:3]]
    # Nor may what a client writes for nothing, or for everything.
    for number, (one, word) in enumerate(itertools.product(_one_of_each_axis(api.probes), _NOTHING)):
        first = next(iter(one.scope))
        tries.append((one, {**one.scope, first: [word] if first == "group_ids" else word}, first))
        lacking = [axis for axis in AXES[:3] if axis not in one.scope]
        if lacking:
            axis = lacking[number % len(lacking)]
            tries.append((one, {**one.scope, axis: word}, axis))

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
            if len(values) > 1:
                for each in values:
                    check((one, {**scope, axis: [each]}, axis))
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
                broken = Broken(f"{axis} {_shown(given)} sees a row of {axis} {_shown(held)}", exchange)
                if len(values) > 1:  # one of them by itself says more
                    for each in values:
                        check((one, {**scope, axis: [each]}, axis))
                raise broken

    api.each(tries, check)


def _shown(value: object) -> str:
    """A scope value, or how many there are."""
    if not is_array(value) and not isinstance(value, tuple):
        return repr(value)
    several: list[object] = list(value)
    return repr(several[0]) if len(several) == 1 else f"of {len(several)} values"


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

    chosen = api.sample(asks, least=16)
    chosen += [
        {"action": {"tool": entity, "args": {"k": entity}}, axis: value, "mode": "retrieve"}
        for axis, value in list(words.pairs())[::3]
        for entity in [entity for entity in words.entities if greppable(entity)][:2]
    ]
    chosen += [{**ask, "include": [type_]} for ask in asks[-2:] for type_ in ("lesson", "procedure")]
    api.each(chosen, check)
    for ask in asks[-1 : -len(asks) : -max(1, len(words.groups))][:4]:
        if not api.may_compose():
            break
        answer = api.answer(without(ask, "mode"), role="other", owner=api.name)
        if {row.id for row in answer.rows} & {one.id for one in api.probes}:
            raise Broken("the other organisation's key sees rows of this one under compose", answer.exchange)
        _foreign_text(api, answer)


def _foreign_text(api: Api, answer: Answer) -> None:
    """What the other organisation is told must not be this one's."""
    block = squeezed(answer.context) if isinstance(answer.context, str) else ""
    own = [squeezed(row.view.text) for row in api.run.known.values() if row.role == "other"]
    for row in api.run.known.values():
        tell = squeezed(row.view.text)[:48]
        if row.role != "main" or len(tell) < 12 or any(tell in other for other in own):
            continue
        if tell in block:
            raise Broken(
                f"the other organisation's context carries the text of row {row.view.id} of this one",
                answer.exchange,
            )


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
    seen = _crowd(api, asks)
    ours = [(at, exchange) for at, exchange in seen if exchange.request.role == "main"]
    judged: list[tuple[int, Answer]] = [
        (at, Answer(exchange))
        for at, exchange in ours
        if exchange.status == 200 and isinstance(exchange.json, dict)
    ]
    wrong = [(at, answer) for at, answer in judged if _bled(api, answer, expected[at])]
    for at, answer in wrong:
        # The same request alone: if it strays then too, it is not the crowd.
        ask = answer.exchange.request.ask or asks[at]
        if not any(_bled(api, api.answer(ask), expected[at]) for _ in range(3) if _affordable(api, ask)):
            what = _bled(api, answer, expected[at])
            raise Broken(f"among {api.profile.threads} concurrent requests, {what}", answer.exchange)
    if wrong:
        raise Unjudged("the same requests go astray alone as well; other promises say how")
    _among_others(api, asks, seen)
    if not judged:
        raise Unjudged("no concurrent request was answered")
    api.saw(len(judged))


def _crowd(api: Api, asks: Sequence[JsonObject]) -> list[tuple[int, Exchange]]:
    """All at once: the requests of several scopes, and among them some of the other organisation, some that
    are refused for what they hold, and some without a key.
    """
    threads, rounds = api.profile.threads, api.profile.rounds
    start = threading.Barrier(threads)
    composing = api.run.options.compose_budget >= threads * 4
    foreign = bool(api.run.options.other_api_key)

    def talk(thread: int) -> list[tuple[int, Exchange]]:
        start.wait(10)
        found: list[tuple[int, Exchange]] = []
        for turn in range(rounds):
            at = (thread * 7 + turn * (thread + 1)) % len(asks)
            ask = asks[at]
            part = (turn + thread) % 10
            if composing and part == 4 and api.may_compose():
                ask = {**ask, "mode": "compose"}
            if part == 2 and foreign:
                exchange = api.call(ask, kind=Kind.ODD, role="other", owner=api.name, alone=False)
            elif part == 6:
                exchange = api.call(ask, kind=Kind.KEYLESS, credentials=[], owner=api.name, alone=False)
            elif part == 8:
                empty = without(ask, "entities")
                exchange = api.call(empty, kind=Kind.INVALID, owner=api.name, alone=False)
            else:
                exchange = api.call(ask, kind=Kind.ODD, owner=api.name, alone=False)
            found.append((at, exchange))
        api.run.target.drop_connection()
        return found

    with ThreadPoolExecutor(threads) as pool:
        talks = [pool.submit(talk, thread) for thread in range(threads)]
        return [pair for one in talks for pair in one.result()]


def _among_others(api: Api, asks: Sequence[JsonObject], seen: Sequence[tuple[int, Exchange]]) -> None:
    """What must not pass from one request of a crowd to another: a key, a refusal, the other's rows."""
    probed = {one.id for one in api.probes}
    crowd = f"among {api.profile.threads} concurrent requests"
    for at, exchange in seen:
        request, status = exchange.request, exchange.status
        if request.kind is Kind.INVALID and status == 200:
            alone = api.call(without(asks[at], "entities"), kind=Kind.INVALID)
            if alone.status != 200:
                raise Broken(f"{crowd}, one without a signal was answered 200", exchange)
        elif request.kind is Kind.ODD and request.role == "other" and status == 200:
            leaked = probed & {row.id for row in Answer(exchange).rows}
            alone_too = leaked and probed & {row.id for row in api.answer(asks[at], role="other").rows}
            if leaked and not alone_too:
                raise Broken(
                    f"{crowd}, the other organisation's key was given {len(leaked)} row(s) of this one",
                    exchange,
                )
    _served_alone(api, asks, seen)


def _served_alone(api: Api, asks: Sequence[JsonObject], seen: Sequence[tuple[int, Exchange]]) -> None:
    """Valid requests that a crowd is refused and that are served alone; a failure now and then is ERR-3's."""
    failed = [
        (at, exchange)
        for at, exchange in seen
        if exchange.request.kind is Kind.ODD and exchange.status not in (None, 200, 429)
    ]
    if len(failed) <= max(2, len(seen) // 12):
        return
    at, exchange = failed[0]
    ask = {**asks[at], "mode": "retrieve"}
    if all(api.call(ask, role=exchange.request.role).status == 200 for _ in range(12)):
        raise Broken(
            f"among {api.profile.threads} concurrent requests, {len(failed)} valid ones of {len(seen)} were "
            f"answered {exchange.status}",
            exchange,
        )


def _affordable(api: Api, ask: JsonObject) -> bool:
    return ask.get("mode") == "retrieve" or api.may_compose()


def _bled(api: Api, answer: Answer, expected: frozenset[str]) -> str | None:
    ask = answer.exchange.request.ask or {}
    for row in answer.rows:
        fault = outside(row, ask)
        if fault:
            return fault
    told = _told_outside(api, answer, ask)
    if told:
        return told
    got = frozenset(api.run.identify(answer))
    said = answer.body.get("mode")
    if "MODE-1" not in api.run.watch.findings and said in ("retrieve", "compose") and said != ask.get("mode"):
        return f"a {ask.get('mode')} request was answered as {said}"
    if got - expected:
        return f"a request was given {len(got - expected)} row(s) that it does not bring alone"
    if ask.get("mode") == "retrieve" and got != expected:
        return f"a request was given {len(got)} of the {len(expected)} rows that it brings alone"
    return None


def _told_outside(api: Api, answer: Answer, ask: JsonObject) -> str | None:
    """The known row outside the scope whose text the context carries, if there is one."""
    if not isinstance(answer.context, str):
        return None
    block = squeezed(answer.context)
    known = list(api.run.known.values())
    inside = [squeezed(row.text) for row in answer.rows]
    inside += [
        squeezed(row.view.text) for row in known if row.role == "main" and outside(row.view, ask) is None
    ]
    for row in known:
        if row.role == "main" and outside(row.view, ask) is None:
            continue
        tell = squeezed(row.view.text)[:48]
        if len(tell) < 12 or any(tell in other for other in inside):
            continue
        if tell in block:
            return f"the context carries the text of row {row.view.id}, which is outside the scope"
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
        answer = api.answer(ask)
        if not isinstance(answer.context, str):
            return
        told = _told_outside(api, answer, ask)
        if told:
            raise Broken(told, answer.exchange)
        fired = set(ask["entities"])
        for row in api.run.known.values():
            beyond = row.role == "other" or outside(row.view, ask) is not None
            if beyond and (row.role == "other" or set(row.view.trigger_entities) & fired):
                api.saw()

    # Each axis leaks in its own way: two values of each come first, whatever the budget leaves.
    first = [ask for axis in AXES for ask in [one for one in asks if set(one) == {"entities", axis}][:2]]
    rest = api.sample([ask for ask in asks if ask not in first], least=8)
    api.each((first + rest)[: 10 + api.profile.repeats // 20], check)
    if not api.seen:
        raise NotExercised("no compose answer had a context beside rows of another scope")
