"""A measured ratio and its bound, and how two sides are timed against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One line of the table.

    Without `value` it could not be measured here, and `detail` says why; without a bound it is told only.
    """

    what: str
    value: float | None
    unit: str = "×"
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; None when there is nothing to judge."""
        if self.value is None or (self.at_most is None and self.at_least is None):
            return None
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )


@dataclass(frozen=True, slots=True)
class Paired:
    """What the sides gave in each round; the first side is the floor."""

    rounds: tuple[tuple[float, ...], ...]

    def ratio(self, side: int = 1) -> float:
        """The median over rounds of a side's figure divided by the floor's in the same round."""
        return median(each[side] / each[0] for each in self.rounds)

    def median(self, side: int) -> float:
        """A side's own median."""
        return median(each[side] for each in self.rounds)

    def best(self, side: int) -> float:
        """A side's least figure."""
        return min(each[side] for each in self.rounds)


def interleaved(sides: Sequence[Callable[[], float]], rounds: int) -> Paired:
    """Let every side give its figure once a round, each round from another side on.

    The first round warms up and is left out.
    """
    taken: list[tuple[float, ...]] = []
    for turn in range(rounds + 1):
        figures = [0.0] * len(sides)
        for at in _from(turn % len(sides), len(sides)):
            figures[at] = sides[at]()
        taken.append(tuple(figures))
    return Paired(tuple(taken[1:]))


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def _from(first: int, count: int) -> Iterator[int]:
    yield from range(first, count)
    yield from range(first)
