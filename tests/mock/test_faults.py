"""Which call meets which fault, and how often: rules without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trigger_fixtures import Corpus, Organisation
from trigger_fixtures.model import ApiKey
from trigger_mock.benches import Benches
from trigger_mock.credentials import Caller
from trigger_mock.fault_kinds import Cut, Delay, Error, LogNormal, Mix, Reset, Spread, Uniform
from trigger_mock.faults import MOST, Faults, Rule, TooManyFaults
from trigger_mock.matching import RequestMatch
from trigger_mock.presets import PRESETS
from trigger_mock.reading import Reading

ERROR = Error(kind="error", status=503)
RESET = Reset(kind="reset")
CALLS = range(200)


def reading(**fields: Any) -> Reading:
    body = {"user_id": "user-123", "entities": ["tool_loop.py"], **fields}
    return Reading(json.dumps(body).encode(), "application/json")


def caller(key: str) -> Caller:
    organisation = Organisation(name="north", keys=(ApiKey(key="first"), ApiKey(key="second")))
    return Benches(Corpus(organisations={"north": organisation}, rows=(), sources=())).caller(key, None)


def kinds(faults: Faults) -> list[str | None]:
    met = [faults.meant_for(reading(), None) for _ in CALLS]
    return [strike and strike.fault.kind for strike in met]


def test_the_newest_rule_that_means_a_call_wins() -> None:
    faults = Faults()
    faults.add(ERROR)
    newest = faults.add(RESET)
    strike = faults.meant_for(reading(), None)
    assert strike is not None
    assert strike.rule is newest


def test_a_rule_that_means_another_call_leaves_it_to_older_ones() -> None:
    faults = Faults()
    older = faults.add(ERROR)
    faults.add(RESET, match=RequestMatch(user_id="somebody-else"))
    strike = faults.meant_for(reading(), None)
    assert strike is not None
    assert strike.rule is older


def test_a_rule_strikes_so_many_times_and_never_again() -> None:
    faults = Faults()
    rule = faults.add(ERROR, times=3)
    assert kinds(faults).count("error") == 3
    assert rule.struck == 3


def test_a_rule_for_one_key_leaves_the_others_alone() -> None:
    faults = Faults()
    faults.add(ERROR, place="north/1")
    assert faults.meant_for(reading(), caller("first")) is None
    assert faults.meant_for(reading(), caller("second")) is not None
    assert faults.meant_for(reading(), None) is None


def test_chance_repeats_with_its_seed_and_differs_with_another() -> None:
    def fates(seed: int) -> list[str | None]:
        faults = Faults()
        faults.add(PRESETS["flaky"].fault, probability=0.5, seed=seed)
        return kinds(faults)

    assert fates(7) == fates(7)
    assert fates(7) != fates(8)
    assert set(fates(7)) == {None, "error", "reset", "cut"}


@pytest.mark.parametrize(("probability", "strikes"), [(0.0, 0), (1.0, len(CALLS))])
def test_never_and_always_are_chances_too(probability: float, strikes: int) -> None:
    faults = Faults()
    rule = faults.add(ERROR, probability=probability)
    assert len(kinds(faults)) - kinds(faults).count(None) == strikes
    assert (rule.meant, rule.struck) == (2 * len(CALLS), 2 * strikes)


def test_delays_are_drawn_from_the_seed_and_end_with_a_minute() -> None:
    def seconds(seed: int) -> list[float]:
        faults = Faults()
        faults.add(Delay(kind="delay", seconds=LogNormal(lognormal=Spread(median=50, spread=3))), seed=seed)
        met = [faults.meant_for(reading(), None) for _ in CALLS]
        return [strike.seconds for strike in met if strike]

    assert seconds(1) == seconds(1) != seconds(2)
    assert max(seconds(1)) == 60.0
    assert min(seconds(1)) < 10


def test_a_uniform_delay_stays_between_its_ends() -> None:
    faults = Faults()
    faults.add(Delay(kind="delay", seconds=Uniform(uniform=(2, 3)), delay=1.0))
    met = [faults.meant_for(reading(), None) for _ in CALLS]
    assert all(strike and 3 <= strike.seconds <= 4 for strike in met)


def test_a_rule_that_is_removed_is_over_for_the_calls_that_met_it() -> None:
    faults = Faults()
    rule = faults.add(ERROR)
    strike = faults.meant_for(reading(), None)
    assert strike is not None
    assert faults.remove(rule.id)
    assert strike.over()
    assert not faults.remove(rule.id)
    assert not faults.rules


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_bench_that_is_closed_or_reset_takes_its_faults_back(end: str) -> None:
    benches = Benches(Corpus(organisations={}, rows=(), sources=()))
    bench = benches.open(Corpus(organisations={}, rows=(), sources=()))
    rule = bench.faults.add(ERROR)
    benches.close(bench.name) if end == "close" else benches.reset(bench)
    assert rule.over
    assert not bench.faults.rules


def test_a_mix_strikes_with_each_of_its_faults() -> None:
    faults = Faults()
    faults.add(Mix(kind="mix", of=(ERROR, Cut(kind="cut"))))
    assert set(kinds(faults)) == {"error", "cut"}


def test_a_bench_holds_a_bounded_number_of_rules() -> None:
    faults = Faults()
    faults.rules = tuple(Rule(id=str(number), fault=ERROR) for number in range(MOST))
    with pytest.raises(TooManyFaults):
        faults.add(ERROR)
