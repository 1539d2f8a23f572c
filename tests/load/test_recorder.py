from __future__ import annotations

import random

import pytest

from trigger_loadtests.histograms import LONGEST_US, Histogram
from trigger_loadtests.judgement import GOOD, THROTTLED, Verdict
from trigger_loadtests.recorder import Call, Recorder

FAILED = Verdict("failed", "status-500", timed=False)


def calls(count: int, seed: int) -> list[Call]:
    draw = random.Random(seed)
    return [
        Call(
            stage=draw.randrange(2),
            scenario=draw.choice(["coding", "miss"]),
            mode=draw.choice(["retrieve", "compose"]),
            due=(due := draw.uniform(0, 20)),
            sent=(sent := due + draw.expovariate(1000)),
            done=sent + draw.lognormvariate(-4, 2),
            verdict=draw.choices([GOOD, FAILED, THROTTLED], [90, 5, 5])[0],
        )
        for _ in range(count)
    ]


def everything(recorder: Recorder) -> object:
    return (
        {
            key: (
                [hist.counts() for hist in (cell.response, cell.service, cell.lag)],
                dict(cell.outcomes),
                dict(cell.failures),
                cell.unanswered,
            )
            for key, cell in recorder.cells.items()
        },
        {number: (dict(part.counts), dict(part.failures)) for number, part in recorder.bins.items()},
        dict(recorder.counts),
    )


def test_two_workers_merged_equal_the_same_samples_in_one_process() -> None:
    alone, merged, workers = Recorder(), Recorder(), (Recorder(), Recorder())
    for number, call in enumerate(calls(3000, seed=3)):
        alone.record(call)
        workers[number % 2].record(call)
        if number % 500 == 499:  # reports come many times during a run
            for worker in workers:
                merged.absorb(worker.drain())

    assert everything(merged) == everything(alone)
    for percentile in (1, 50, 90, 99, 99.9, 100):
        both = [recorder.total().response for recorder in (merged, alone)]
        assert both[0].percentile(percentile) == both[1].percentile(percentile)


def test_a_drained_recorder_starts_again_from_nothing() -> None:
    recorder = Recorder()
    for call in calls(50, seed=1):
        recorder.record(call)

    recorder.drain()

    assert recorder.total().sent == 0


@pytest.mark.parametrize("seconds", [0.000_4, 0.012_34, 0.987_6, 12.34, 59.9])
def test_durations_keep_three_digits_up_to_a_minute(seconds: float) -> None:
    recorder = Recorder()
    recorder.record(Call(0, "miss", "retrieve", 0.0, 0.0, seconds, GOOD))

    assert recorder.total().response.percentile(50) == pytest.approx(seconds * 1000, rel=0.001, abs=0.001)


def test_what_lasted_longer_than_a_minute_counts_as_a_minute_and_is_not_lost() -> None:
    recorder = Recorder()
    recorder.record(Call(0, "miss", "retrieve", 0.0, 0.0, 300.0, GOOD))

    assert recorder.total().response.percentile(100) == pytest.approx(LONGEST_US / 1000, rel=0.001)


def test_response_time_counts_from_when_a_call_was_due_and_service_time_from_when_it_was_sent() -> None:
    recorder = Recorder()
    recorder.record(Call(0, "miss", "retrieve", due=1.0, sent=3.0, done=3.5, verdict=GOOD))
    total = recorder.total()

    assert total.response.percentile(50) == pytest.approx(2500, rel=0.001)
    assert total.service.percentile(50) == pytest.approx(500, rel=0.001)
    assert total.lag.percentile(50) == pytest.approx(2000, rel=0.001)


def test_the_share_over_a_limit_does_not_count_the_limit_itself() -> None:
    hist = Histogram()
    for value in (0.7, 0.8, 0.800_001, 0.9, 2.0):
        hist.record(value)

    assert hist.over(0.8) == 2


def test_figures_can_be_asked_for_by_scenario_mode_and_stage() -> None:
    recorder, made = Recorder(), calls(400, seed=2)
    for call in made:
        recorder.record(call)

    assert recorder.total(name="miss").sent == sum(call.scenario == "miss" for call in made)
    assert recorder.total(name="compose").sent == sum(call.mode == "compose" for call in made)
    assert recorder.total(stages=[1]).sent == sum(call.stage == 1 for call in made)
