"""The hook under every preset and every kind of fault: it ends within its budget, and says what can still be
said.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.hook_runs import BUDGET, STARTING, Ran, hook, variables
from trigger_fixtures import default
from trigger_mock import create_app
from trigger_mock.bench_client import MockServer, TriggerMock
from trigger_mock.server import serving

LESSON = "Call finalize() in a finally block."
#: Each with what it does to a call; a delay is longer than the budget.
SILENCING: list[dict[str, Any]] = [
    *({"kind": "error", "status": status} for status in (401, 403, 404, 413, 422, 429, 500, 502, 503, 504)),
    {"kind": "error", "status": 429, "retry_after": 30},
    {"kind": "error", "status": 500, "envelope": "error"},
    {"kind": "delay", "seconds": 20},
    {"kind": "reset", "at": "before"},
    {"kind": "reset", "at": "body"},
    {"kind": "cut"},
    {"kind": "drip", "bytes": 1, "interval": 0.5},
    {"kind": "malformed"},
    {"kind": "content_type", "value": "text/html"},
    {"kind": "alter", "remove": ["/data"]},
    {"kind": "alter", "set": {"/data": None}},
    {"kind": "alter", "set": {"/data": "rows"}},
    {"kind": "alter", "remove": ["/data/0/text"]},
    {"kind": "alter", "set": {"/data/0": 7, "/context": 7}},
    {"kind": "empty"},
    {"kind": "redirect", "location": "http://127.0.0.1:9/", "status": 307},
    {"kind": "hang"},
]
#: What the agent can still be told under these.
HARMLESS: list[dict[str, Any]] = [
    {"kind": "delay", "seconds": 0.05},
    {"kind": "alter", "remove": ["/context", "/mode", "/stage_timings", "/data/0/details"]},
    {"kind": "alter", "set": {"/data/0/details": [1], "/object": None}},
    {"kind": "content_type", "value": "application/json; charset=utf-8"},
    {"kind": "stale"},
]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with serving(create_app(default())) as url:
        yield MockServer(url)


@pytest.fixture
def bench(server: MockServer) -> Iterator[TriggerMock]:
    with server.bench() as made:
        made.rows.add(text=LESSON, trigger_entities=["tool_loop.py"], user_id="user-123")
        yield made


def run(bench: TriggerMock, folder: Path, **others: str) -> Ran:
    return hook(variables(bench.url, folder, TRIGGER_API_KEY=bench.api_key, **others))


def name(fault: dict[str, Any]) -> str:
    return "-".join(str(value) for value in fault.values())


@pytest.mark.parametrize("mode", ["retrieve", "compose"])
@pytest.mark.parametrize("preset", ["slow-gate", "flaky", "rate-limited", "down", "half-open"])
def test_every_preset_is_survived_within_the_budget(
    bench: TriggerMock, tmp_path: Path, preset: str, mode: str
) -> None:
    bench.faults.add(preset=preset)
    for _ in range(3):
        ran = run(bench, tmp_path, TRIGGER_MODE=mode)
        assert (ran.code, ran.stderr) == (0, "")
        assert ran.seconds < BUDGET + STARTING
        assert ran.stdout == "" or LESSON in ran.context


@pytest.mark.parametrize(
    ("preset", "mode"),
    [
        ("slow-gate", "compose"),
        ("rate-limited", "retrieve"),
        ("down", "retrieve"),
        ("half-open", "retrieve"),
    ],
)
def test_what_is_wrong_every_time_prints_nothing(
    bench: TriggerMock, tmp_path: Path, preset: str, mode: str
) -> None:
    bench.faults.add(preset=preset)
    run(bench, tmp_path, TRIGGER_MODE=mode).failed_open()
    assert [rule["struck"] for rule in bench.faults.all()] == [1]


def test_a_slow_gate_is_no_trouble_to_a_hook_that_does_not_wait_for_it(
    bench: TriggerMock, tmp_path: Path
) -> None:
    bench.faults.add(preset="slow-gate")
    assert LESSON in run(bench, tmp_path, TRIGGER_MODE="retrieve").context


def test_after_a_429_the_service_is_left_alone(bench: TriggerMock, tmp_path: Path) -> None:
    bench.faults.add(preset="rate-limited")
    for _ in range(3):
        run(bench, tmp_path).failed_open()
    bench.assert_called(times=1, status=429)


@pytest.mark.parametrize("fault", SILENCING, ids=name)
def test_a_fault_that_leaves_nothing_to_say_is_passed_over_in_silence(
    bench: TriggerMock, tmp_path: Path, fault: dict[str, Any]
) -> None:
    bench.faults.add(fault)
    run(bench, tmp_path).failed_open()
    assert [rule["struck"] for rule in bench.faults.all()] == [1]


@pytest.mark.parametrize("fault", HARMLESS, ids=name)
def test_a_fault_that_leaves_the_rows_leaves_the_agent_informed(
    bench: TriggerMock, tmp_path: Path, fault: dict[str, Any]
) -> None:
    assert LESSON in run(bench, tmp_path).context
    bench.faults.add(fault)
    assert LESSON in run(bench, tmp_path).context
    assert bench.calls[-1].fault == fault["kind"]
