"""What the generator knows about the CPU that it got."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trigger_loadtests.effort import SCHEDULE, Effort, seconds_waited


def test_waiting_for_a_cpu_is_a_share_of_the_time_since_the_last_question() -> None:
    clock, waited = iter([10.0, 12.0, 14.0]), iter([1.0, 2.0, 2.0])
    mine = Effort(clock=lambda: next(clock), waited=lambda: next(waited))

    assert [mine.since_last()[1], mine.since_last()[1]] == [50.0, 0.0]


def test_asked_again_at_once_it_says_the_same() -> None:
    clock, waited = iter([10.0, 12.0, 12.01]), iter([1.0, 2.0, 2.01])
    mine = Effort(clock=lambda: next(clock), waited=lambda: next(waited))

    assert mine.since_last() == mine.since_last()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the wait")
def test_linux_counts_it() -> None:
    assert SCHEDULE.exists()
    assert seconds_waited() > 0


@pytest.mark.parametrize("content", [None, "", "1", "a b c"])
def test_where_it_is_not_counted_nothing_is_said(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "schedstat"
    if content is not None:
        file.write_text(content)

    assert seconds_waited(file) == 0.0
