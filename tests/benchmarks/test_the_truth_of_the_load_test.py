"""A figure that was off is held against the generator only where the machine was quiet enough to tell."""

from __future__ import annotations

import pytest

from benchmarks.load import judged, wrk_percentile

QUIET = {
    "wrk_p50_ms": 20.5,
    "service_p50_ms": 21.0,
    "log_p99_ms": 25.0,
    "response_p99_ms": 27.0,
    "wrk_p99_ms": 26.0,
    "generator_waited_for_a_cpu_percent": 0.3,
}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "held"),
        ({"service_p50_ms": 24.0}, "missed"),
        ({"response_p99_ms": 31.0}, "missed"),
        ({"response_p99_ms": 31.0, "wrk_p99_ms": 40.0}, "not judged"),
        ({"response_p99_ms": 31.0, "generator_waited_for_a_cpu_percent": 9.0}, "not judged"),
        ({"generator_waited_for_a_cpu_percent": 9.0}, "held"),
    ],
)
def test_a_bound_is_missed_only_on_a_quiet_machine(changed: dict[str, float], verdict: str) -> None:
    assert judged({**QUIET, **changed}) == verdict


@pytest.mark.parametrize(("written", "ms"), [("812.00us", 0.81), ("20.41ms", 20.41), ("1.20s", 1200.0)])
def test_a_percentile_of_wrk_is_read_in_any_of_its_units(written: str, ms: float) -> None:
    assert wrk_percentile(f"  Latency Distribution\n     50%   20.10ms\n     99%   {written}\n", 99) == ms
