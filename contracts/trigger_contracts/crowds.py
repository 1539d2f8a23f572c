"""SCOPE-7: concurrent requests never bleed into one another.

What a request of a crowd is given is held against what it is given alone. A server that strays alone as
well breaks other promises, not this one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trigger_contracts.asks import Vocabulary, greppable
from trigger_contracts.blocks import told_outside
from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, without
from trigger_contracts.watch import outside

_REQUEST = "components.schemas.TriggerRequest"


@promise("SCOPE-7", needs=("rows",), pointer=_REQUEST)
def concurrent_requests_stay_apart(api: Api) -> None:
    """Concurrent requests of different scopes never bleed into one another."""
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    asks = _asks(api, words)
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


def _asks(api: Api, words: Vocabulary) -> list[JsonObject]:
    """Requests of many scopes that meet rows, and that differ in every field that decides what is recalled:
    what one leaves behind shows in another.
    """
    asks: list[JsonObject] = [
        {"entities": list(one.trigger_entities), **one.scope} for one in api.sample(api.probes, least=12)
    ]
    asks += [{"entities": words.entities[:40], axis: value} for axis, value in words.pairs()][:24]
    for at, ask in enumerate(asks):
        if at % 4 in (1, 2):
            ask["include"] = ["lesson"] if at % 4 == 1 else ["procedure"]
        elif at % 4 == 3 and all(map(greppable, ask["entities"])):
            ask["action"] = {"tool": "shell", "output": " ".join(ask.pop("entities"))}
    asks.append({"entities": words.entities[:40], "user_id": words.stranger})
    return [{**ask, "mode": "retrieve"} for ask in asks]


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
                empty = without(ask, "entities", "action")
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
            alone = api.call(without(asks[at], "entities", "action"), kind=Kind.INVALID)
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
    told = told_outside(api, answer, ask)
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
