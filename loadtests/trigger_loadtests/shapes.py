"""What is asked of the target at each moment: the shapes of a run, as plain functions of time.

A shape is a row of stages; the level (requests per second, or users) moves in a straight line from a
stage's `start` to its `end`. Arrival times are the instants at which the area under that line passes the
next whole step, so that they follow the line exactly and do not depend on clocks, on answers or on how
many processes share the work. Knows nothing of HTTP, Locust or gevent. `capacity` has no fixed stages:
`capacity.Search` asks for them one by one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Literal, NamedTuple

Profile = Literal["smoke", "steady", "ramp", "spike", "soak", "capacity"]
PROFILES: tuple[Profile, ...] = ("smoke", "steady", "ramp", "spike", "soak", "capacity")

#: How much higher a spike stands than the level around it.
SPIKE_FACTOR = 5.0


class Stage(NamedTuple):
    """A stretch of a run: `seconds` long, its level moving in a straight line from `start` to `end`."""

    name: str
    seconds: float
    start: float
    end: float

    def level_at(self, moment: float) -> float:
        """Return the level `moment` seconds into the stage."""
        return self.start + (self.end - self.start) * min(max(moment / self.seconds, 0.0), 1.0)

    @property
    def area(self) -> float:
        """How many arrivals the stage asks for, when its level is a rate."""
        return (self.start + self.end) / 2 * self.seconds


class Usual(NamedTuple):
    """What a profile does when the command line does not say otherwise."""

    rate: float
    users: int
    seconds: float


USUAL: dict[Profile, Usual] = {
    "smoke": Usual(rate=5, users=3, seconds=8),
    "steady": Usual(rate=20, users=20, seconds=60),
    "ramp": Usual(rate=50, users=50, seconds=120),
    "spike": Usual(rate=10, users=10, seconds=60),
    "soak": Usual(rate=10, users=10, seconds=1800),
    "capacity": Usual(rate=10, users=0, seconds=120),
}


def stages(profile: Profile, level: float, seconds: float) -> tuple[Stage, ...]:
    """Return the stages of a profile; none for `capacity`, whose stages depend on the answers."""
    if profile == "capacity":
        return ()
    if profile == "ramp":
        rise = seconds * 0.8
        return (Stage("rise", rise, level / 10, level), Stage("hold", seconds - rise, level, level))
    if profile == "spike":
        before, spike = seconds * 0.4, seconds * 0.2
        return (
            Stage("before", before, level, level),
            Stage("spike", spike, level * SPIKE_FACTOR, level * SPIKE_FACTOR),
            Stage("after", seconds - before - spike, level, level),
        )
    return (Stage(profile, seconds, level, level),)


def level_at(row: tuple[Stage, ...], moment: float) -> float | None:
    """Return the level at a moment of the run, or None when the run is over."""
    for stage in row:
        if moment < stage.seconds:
            return stage.level_at(moment)
        moment -= stage.seconds
    return None


def area_until(row: tuple[Stage, ...], moment: float) -> float:
    """Return how many arrivals a shape asks for until a moment of the run."""
    area = 0.0
    for stage in row:
        within = min(max(moment, 0.0), stage.seconds)
        area += (stage.start + stage.level_at(within)) / 2 * within
        moment -= stage.seconds
    return area


def even() -> Iterator[float]:
    """Steps for arrivals as even as the level allows."""
    return repeat(1.0)


def poisson(seed: int) -> Iterator[float]:
    """Steps for arrivals of independent agents: a Poisson process whose intensity is the level."""
    draw = random.Random(seed)
    while True:
        yield draw.expovariate(1.0)


def arrivals(row: Iterable[Stage], steps: Iterator[float]) -> Iterator[tuple[int, float]]:
    """Yield (stage number, seconds since the start of the run) for every arrival, in order of time."""
    opened, passed = 0.0, 0.0  # when the stage opens; the area before it
    target = next(steps) / 2  # half a step: the first arrival is due at once, not after a whole interval
    for number, stage in enumerate(row):
        while target <= passed + stage.area:
            moment = _when(stage, target - passed)
            if moment >= stage.seconds:
                break
            yield number, opened + moment
            target += next(steps)
        opened += stage.seconds
        passed += stage.area


def _when(stage: Stage, area: float) -> float:
    """Return the moment at which the area under the stage's line reaches `area`."""
    slope = (stage.end - stage.start) / stage.seconds
    if abs(slope) < 1e-12:
        return area / stage.start if stage.start > 0 else math.inf
    root = math.sqrt(max(stage.start * stage.start + 2 * slope * area, 0.0))
    return (root - stage.start) / slope
