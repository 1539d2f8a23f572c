from __future__ import annotations

import pytest

from trigger_loadtests import objectives
from trigger_loadtests.judgement import GOOD, REFUSED, THROTTLED, Verdict
from trigger_loadtests.objectives import ObjectiveError, Pace, gather, parse
from trigger_loadtests.recorder import Call, Recorder

PACE = Pace(wanted=100, answered=90, seconds=10)


def recorded(*calls: tuple[float, Verdict], scenario: str = "coding", mode: str = "retrieve") -> Recorder:
    recorder = Recorder()
    for number, (seconds, verdict) in enumerate(calls):
        recorder.record(Call(0, scenario, mode, number * 0.1, number * 0.1, number * 0.1 + seconds, verdict))
    return recorder


def value(text: str, recorder: Recorder, pace: Pace = PACE) -> float | None:
    (result,) = objectives.judge([parse(text)], recorder, pace)
    return result.value


HUNDRED = recorded(*((number / 100, GOOD) for number in range(1, 101)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("p50<1s", 500), ("p95<1s", 950), ("p99<1s", 990), ("max<1s", 1000), ("service-p95<1s", 950)],
)
def test_a_percentile_is_measured_to_three_digits(text: str, expected: float) -> None:
    assert value(text, HUNDRED) == pytest.approx(expected, rel=0.002)


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("p95<951.9ms", True),
        ("p95<900ms", False),
        ("p95<=2s", True),
        ("coding:p95<2s", True),
        ("retrieve:p95<2s", True),
        ("errors<1%", True),
        ("achieved-rate>=90%", True),
        ("achieved-rate>90%", False),
        ("achieved-rate>=9/s", True),
        ("achieved-rate>9.1/s", False),
        ("missed-budget@0.8s<=20%", True),
        ("missed-budget@800ms<20%", False),
        ("missed-budget<=20%", True),
    ],
)
def test_an_objective_is_met_or_not(text: str, met: bool) -> None:
    (result,) = objectives.judge([parse(text)], HUNDRED, PACE)

    assert result.met is met, result


@pytest.mark.parametrize(
    "text", ["p95<800ms", "errors<1%", "throttled<5%", "missed-budget<5%", "compose:errors<1%"]
)
def test_what_was_not_measured_is_missed(text: str) -> None:
    (result,) = objectives.judge([parse(text)], Recorder(), PACE)

    assert (result.met, result.shown) == (False, "nothing measured")


@pytest.mark.parametrize(
    "text",
    [
        "p95",
        "p95<800",
        "p95<5%",
        "errors<10ms",
        "latency<1s",
        "planning:p95<1s",
        "errors@2s<1%",
        "p95<-1ms",
        "p100<1s",
        "",
    ],
)
def test_an_objective_that_cannot_be_read_is_refused_with_what_was_written(text: str) -> None:
    with pytest.raises(ObjectiveError) as caught:
        parse(text)

    assert repr(text) in str(caught.value)


def test_errors_are_a_share_of_the_calls_that_were_not_throttled() -> None:
    failed = Verdict("failed", "status-500", timed=False)
    recorder = recorded(*[(0.01, GOOD)] * 98, (0.01, failed), (0.01, REFUSED), *[(0.01, THROTTLED)] * 50)

    assert value("errors<1%", recorder) == pytest.approx(1.0)
    assert value("throttled<1%", recorder) == pytest.approx(100 * 50 / 150)


def test_what_was_withheld_for_a_retry_after_counts_as_throttled() -> None:
    recorder = recorded(*[(0.01, GOOD)] * 90, (0.01, THROTTLED))
    for number in range(9):
        recorder.withheld(float(number))

    assert value("throttled<1%", recorder) == pytest.approx(10.0)


def test_a_fast_failure_does_not_flatter_a_percentile() -> None:
    refused = Verdict("failed", "refused", timed=False, answered=False)
    recorder = recorded(*[(1.0, GOOD)] * 10, *[(0.001, refused)] * 90)

    assert value("p50<1s", recorder) == pytest.approx(1000, rel=0.002)


def test_a_call_without_an_answer_missed_every_budget() -> None:
    refused = Verdict("failed", "refused", timed=False, answered=False)
    timeout = Verdict("failed", "timeout", answered=False)
    recorder = recorded(*[(0.01, GOOD)] * 8, (0.001, refused), (0.5, timeout))

    assert value("missed-budget@2.5s<1%", recorder) == pytest.approx(20.0)


def test_an_objective_of_the_user_replaces_the_profiles_own_about_the_same() -> None:
    chosen = {objective.text for objective in gather("steady", ["p95<5s", "coding:p95<1s"])}

    assert "p95<5s" in chosen
    assert "p95<800ms" not in chosen
    assert {"coding:p95<1s", "errors<1%"} <= chosen


def test_the_profiles_own_objectives_can_be_left_out() -> None:
    assert [objective.text for objective in gather("steady", ["max<9s"], defaults=False)] == ["max<9s"]


def test_under_the_closed_model_no_rate_was_asked_for() -> None:
    assert (
        objectives.judge([parse("achieved-rate>95%")], HUNDRED, Pace(wanted=None, answered=9, seconds=1))
        == ()
    )
