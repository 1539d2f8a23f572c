"""The benchmark's parts run and tell what they measured.

Nothing here judges a speed: a test machine has moods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.mock import recall, request_path, stores
from benchmarks.mock.__main__ import line
from benchmarks.mock.floor import PATH, bare
from benchmarks.mock.measure import Measure, Paired, interleaved
from benchmarks.mock.processes import ask, floor_command, free_port, running
from trigger_fixtures import DIRECTIVES
from trigger_mock import create_app
from trigger_mock.recall import Memories, Scope
from trigger_mock.settings import Settings


def _shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds and stores of the smallest size that still runs every line."""

    def few(sides: list[Callable[[], float]], _rounds: int) -> Paired:
        return interleaved(sides, 1)

    monkeypatch.setattr(request_path, "interleaved", few)
    monkeypatch.setattr(recall, "interleaved", few)
    monkeypatch.setattr(request_path, "DIFFERENT", 20)
    monkeypatch.setattr(recall, "SIZES", (1000, 2000))
    monkeypatch.setattr(recall, "HOT_ROWS", 2000)
    monkeypatch.setattr(recall, "BATCH", 3)


@pytest.mark.parametrize("part", [request_path.run, recall.run], ids=["request", "recall"])
def test_a_part_gives_a_figure_for_each_of_its_bounds(
    part: Callable[..., Iterator[Measure]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _shrunk(monkeypatch)

    measures = list(part(quick=True))

    assert len(measures) > 1
    assert all(measure.value and measure.value > 0 for measure in measures)


@pytest.mark.parametrize("count", [1000, 20_000])
def test_a_request_of_the_benchmark_recalls_the_rows_it_says(count: int) -> None:
    memories = Memories(stores.rows(count))
    names, user = stores.fired(3, 50, count)

    assert len(memories.recall(names, Scope(user_id=user), DIRECTIVES)) == 20


def test_a_written_store_holds_the_rows_that_are_made_without_a_file(tmp_path: Path) -> None:
    loaded = stores.corpus(tmp_path / "rows.jsonl", 1000)

    assert list(loaded.rows) == list(stores.rows(1000))


def test_the_floor_answers_the_same_content_as_the_mock(tmp_path: Path) -> None:
    mock = create_app(stores.corpus(tmp_path / "rows.jsonl", 1000), settings=Settings())
    body = stores.requests("retrieve", 1, 1000)[0]
    content = request_path.answer(mock, body)

    floor = bare(json.loads(content)).test_client().post(PATH, data=body, content_type="application/json")

    assert floor.json == json.loads(content)


def test_a_server_of_the_benchmark_answers_and_is_gone_afterwards(tmp_path: Path) -> None:
    constant = tmp_path / "constant.json"
    constant.write_text('{"data": []}')
    port = free_port()

    with running(floor_command(port, constant), port, b"{}") as server:
        status, content = ask(port, b"{}")

    assert (status, json.loads(content)) == (200, {"data": []})
    assert server.process.returncode is not None


def test_a_line_of_the_table_says_whether_its_bound_holds() -> None:
    missed = Measure(what="rate", value=0.5, at_least=0.85)
    unmeasured = Measure(what="rate", value=None, at_least=0.85, detail="wrk is not installed")

    assert "MISSED" in line(missed)
    assert unmeasured.met is None
    assert "wrk is not installed" in line(unmeasured)
