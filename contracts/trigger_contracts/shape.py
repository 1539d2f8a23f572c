"""SHAPE: what a 200 looks like, row by row.

Judged on every 200 of the run (`watch`), by the effective contract; here rows of every kind are asked for.
"""

from __future__ import annotations

from trigger_contracts.exchange import Answer, JsonObject
from trigger_contracts.promises import Broken, promise
from trigger_contracts.recall import broad
from trigger_contracts.run import Api
from trigger_contracts.second_opinion import read_again

#: What so many answers have shown, a few more of the same kind will not change.
_ENOUGH = 100


def _ask_all(api: Api) -> None:
    """Answers with rows and without, under both modes, unless the other promises' were plenty."""
    if api.witnessed >= _ENOUGH:
        return
    for _ in range(3):
        api.answer(api.plain())
    for one in api.sample(api.probes, least=8):
        ask: JsonObject = {"entities": list(one.trigger_entities), **one.scope}
        api.answer(ask | {"mode": "retrieve"})
    for one in api.probes[:3]:
        if api.may_compose(1):
            api.answer({"entities": list(one.trigger_entities), **one.scope, "mode": "compose"})


@promise("SHAPE-1", pointer="components.schemas.SearchResponse")
def answers_validate(api: Api) -> None:
    """Every 200 validates against the effective contract, the details by row type."""
    for ask in [api.plain() for _ in range(3)]:
        api.call(ask)
    if not api.run.watch.findings.get(api.name):
        _ask_all(api)
        read_again(api, 200)
    api.rest_on_watch("no 200 was seen")


@promise("SHAPE-2", pointer="components.schemas.Memory")
def ids_and_timestamps(api: Api) -> None:
    """`object` is its constant; ids are UUIDs, unique in a response, the same from call to call; timestamps
    are RFC 3339; `details` is an object.
    """
    _ask_all(api)
    asks: list[JsonObject] = [
        {"entities": list(one.trigger_entities), **one.scope} for one in api.sample(api.probes, least=8)
    ]
    if api.probes:
        asks += api.sample(broad(api), least=6)
    for ask in asks:
        first = api.answer(ask | {"mode": "retrieve"})
        _same_ids(first, api.answer(ask | {"mode": "retrieve"}, fresh=True))
    # However a row is asked for, it is the same row.
    for ask in asks[:2] + asks[-2:]:
        first = api.answer(ask | {"mode": "retrieve"})
        ways: list[JsonObject] = [{"include": ["lesson"]}, {"include": ["procedure"]}, {"task": "tidy up"}]
        for way in ways:
            _same_ids(first, api.answer(ask | way | {"mode": "retrieve"}))
        if api.may_compose():
            _same_ids(first, api.answer(ask))
    api.rest_on_watch("no 200 was seen")


def _same_ids(first: Answer, second: Answer) -> None:
    before = {(row.text, row.type): row.id for row in first.rows}
    for row in second.rows:
        known = before.get((row.text, row.type))
        twins = sum((other.text, other.type) == (row.text, row.type) for other in first.rows)
        if known is not None and twins == 1 and known != row.id:
            raise Broken(f"the same row had id {known} and then {row.id}", second.exchange, first.exchange)


@promise("SHAPE-3", pointer="components.schemas.SearchResponse.stage_timings")
def stage_timings(api: Api) -> None:
    """`stage_timings` is present, its values finite and at least 0."""
    _ask_all(api)
    api.rest_on_watch("no 200 was seen")


@promise("SHAPE-4", needs=("rows",), pointer="components.schemas.Memory.score")
def no_score(api: Api) -> None:
    """Rows have `score: null`."""
    _ask_all(api)
    api.rest_on_watch("no rows came back")
