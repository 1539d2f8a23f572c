"""The search for the highest rate that meets the objectives.

Steps up by a factor until a rate breaks them, then halves the gap (geometrically) until it is narrow. One
noisy stage must not set the ceiling: before the search ends, the broken rate next to the best one is
tried once more, and when it passes the second time the search goes on upwards from there. At last the best
rate is tried again, and where it breaks the next lower one that was met; a target that no longer holds
even half of its best (it may have died meanwhile) has no capacity to report. Plain values; whoever runs
the stages tells how each went.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["met", "broken"]
End = Literal[
    "found",
    "nothing-met",
    "not-held",
    "top-reached",
    "out-of-time",
    "out-of-requests",
    "generator-short",
    "interrupted",
]


@dataclass(slots=True)
class Search:
    """Tell it how each rate went; it says which to try next, or None when the search is over."""

    first: float
    top: float
    factor: float = 2.0
    narrow: float = 1.05
    floor: float = 0.5
    met: float = 0.0
    broken: float | None = None
    ended: End | None = None
    confirming: bool = False
    best: float = 0.0
    _held: set[float] = field(default_factory=set[float])
    _breaks: dict[float, int] = field(default_factory=dict[float, int])

    def next_rate(self) -> float | None:
        """Return the rate to try next."""
        if self.ended:
            return None
        if self.confirming:
            return self.met
        if self.broken is None:
            return min(self.first, self.top) if not self.met else min(self.met * self.factor, self.top)
        if not self.met:
            return self.broken / self.factor
        if self.broken / self.met > self.narrow:
            return math.sqrt(self.met * self.broken)
        return self.broken

    def tell(self, rate: float, outcome: Outcome) -> None:
        """Take in how a rate went."""
        if self.confirming:
            self._confirm(rate, outcome)
        elif outcome == "met":
            self.met = max(self.met, rate)
            self._held.add(rate)
            if self.broken is not None and rate >= self.broken:
                self.broken = None
            if self.met >= self.top:
                self.ended = "top-reached"
        else:
            self._narrow(rate)

    def _narrow(self, rate: float) -> None:
        self._breaks[rate] = self._breaks.get(rate, 0) + 1
        self.broken = rate if self.broken is None else min(self.broken, rate)
        if not self.met and self.broken / self.factor < self.floor:
            self.ended = "nothing-met"
        elif self.met and self.broken / self.met <= self.narrow and self._breaks.get(self.broken, 0) >= 2:
            self.confirming, self.best = True, self.met
            self._breaks.clear()

    def _confirm(self, rate: float, outcome: Outcome) -> None:
        if outcome == "met":
            self.ended = "found"
            return
        self._breaks[rate] = self._breaks.get(rate, 0) + 1
        if self._breaks[rate] < 2:  # one stage may be noise here as well
            return
        self._held.discard(rate)
        lower = max((held for held in self._held if held < rate), default=0.0)
        if lower >= self.best / self.factor:
            self.met = lower
        else:
            self.ended = "not-held"
