"""What happened, as counts and histograms that add up exactly across processes.

*Response* time runs from the moment at which a call was due, *service* time from the moment at which it
was sent; *lag* is the difference, the generator's own lateness. Wrong and throttled answers are counted
and not timed: a fast refusal must not flatter a percentile. Knows nothing of Locust or HTTP.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trigger_loadtests.histograms import Histogram
from trigger_loadtests.judgement import Verdict

Wire = dict[str, Any]


class Key(NamedTuple):
    """What a cell of figures is about."""

    stage: int
    scenario: str
    mode: str


@dataclass(slots=True)
class Cell:
    """The figures of one stage, scenario and mode (or of a sum of them)."""

    response: Histogram = field(default_factory=Histogram)
    service: Histogram = field(default_factory=Histogram)
    lag: Histogram = field(default_factory=Histogram)
    outcomes: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])
    #: Calls that never got an answer and are not timed either (timeouts are timed).
    unanswered: int = 0

    def add(self, other: Cell) -> None:
        """Add another cell's figures to these."""
        self.response.add(other.response)
        self.service.add(other.service)
        self.lag.add(other.lag)
        self.outcomes.update(other.outcomes)
        self.failures.update(other.failures)
        self.unanswered += other.unanswered

    @property
    def sent(self) -> int:
        """How many calls were made."""
        return self.outcomes.total()


@dataclass(slots=True)
class Bin:
    """A slice of the run's time, for the plots.

    Response times, failures and throttling belong to the moment at which the call was due; calls sent and
    answers received to the moment at which that happened.
    """

    response: Histogram = field(default_factory=Histogram)
    counts: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: Bin) -> None:
        """Add another slice's figures to these."""
        self.response.add(other.response)
        self.counts.update(other.counts)
        self.failures.update(other.failures)


class Call(NamedTuple):
    """One finished call: when it was due, sent and done, in seconds since the start of the run."""

    stage: int
    scenario: str
    mode: str
    due: float
    sent: float
    done: float
    verdict: Verdict


class Recorder:
    """Takes calls in; gives figures out; travels between processes."""

    def __init__(self, bin_seconds: float = 1.0) -> None:
        self.bin_seconds = bin_seconds
        self.cells: dict[Key, Cell] = {}
        self.bins: dict[int, Bin] = {}
        #: What else is counted: due, withheld (obeying Retry-After), unsent (no free caller),
        #: schema-checked, ...
        self.counts: Counter[str] = Counter()

    def record(self, call: Call) -> None:
        """Take in a finished call."""
        key = Key(call.stage, call.scenario, call.mode)
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell()
        moment = self._bin(call.due)
        verdict = call.verdict
        cell.outcomes[verdict.outcome] += 1
        self._bin(call.sent).counts["sent"] += 1
        if verdict.outcome in ("good", "refused"):
            self._bin(call.done).counts["answered"] += 1
        if verdict.timed:
            response = call.done - call.due
            cell.response.record(response)
            cell.service.record(call.done - call.sent)
            moment.response.record(response)
        elif not verdict.answered:
            cell.unanswered += 1
        if verdict.outcome == "failed":
            cell.failures[verdict.reason] += 1
            moment.failures[verdict.reason] += 1
        elif verdict.outcome == "throttled":
            moment.counts["throttled"] += 1
        cell.lag.record(call.sent - call.due)

    def due(self, moment: float) -> None:
        """Count an arrival that the shape asks for."""
        self.counts["due"] += 1
        self._bin(moment).counts["due"] += 1

    def withheld(self, moment: float, stage: int = 0) -> None:
        """Count an arrival that was not sent because the target had asked to wait."""
        self.counts["withheld"] += 1
        self.counts[f"withheld-{stage}"] += 1
        self._bin(moment).counts["withheld"] += 1

    def unsent(self, moment: float) -> None:
        """Count an arrival that the generator could not send."""
        self.counts["unsent"] += 1
        self._bin(moment).counts["unsent"] += 1

    def total(self, *, name: str | None = None, stages: Iterable[int] | None = None) -> Cell:
        """Add up the cells of a scenario or a mode (or all), of some stages (or all)."""
        chosen = None if stages is None else set(stages)
        result = Cell()
        for key, cell in self.cells.items():
            if (name is None or name in (key.scenario, key.mode)) and (chosen is None or key.stage in chosen):
                result.add(cell)
        return result

    def drain(self) -> Wire:
        """Return everything recorded since the last drain, ready to travel, and forget it."""
        wire: Wire = {
            "cells": [
                [
                    *key,
                    [hist.encode() for hist in (cell.response, cell.service, cell.lag)],
                    dict(cell.outcomes),
                    dict(cell.failures),
                    cell.unanswered,
                ]
                for key, cell in self.cells.items()
            ],
            "bins": [
                [number, part.response.encode(), dict(part.counts), dict(part.failures)]
                for number, part in self.bins.items()
            ],
            "counts": dict(self.counts),
        }
        self.cells, self.bins, self.counts = {}, {}, Counter()
        return wire

    def absorb(self, wire: Mapping[str, Any]) -> None:
        """Add what another process drained."""
        for stage, scenario, mode, histograms, outcomes, failures, unanswered in wire["cells"]:
            response, service, lag = (Histogram(text) for text in histograms)
            self.cells.setdefault(Key(stage, scenario, mode), Cell()).add(
                Cell(response, service, lag, Counter(outcomes), Counter(failures), unanswered)
            )
        for number, response, counts, failures in wire["bins"]:
            self.bins.setdefault(number, Bin()).add(
                Bin(Histogram(response), Counter(counts), Counter(failures))
            )
        self.counts.update(wire["counts"])

    def _bin(self, moment: float) -> Bin:
        number = int(moment / self.bin_seconds)
        part = self.bins.get(number)
        if part is None:
            part = self.bins[number] = Bin()
        return part
