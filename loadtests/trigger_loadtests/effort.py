"""How much CPU this process got, and how long it waited for one.

A generator that was runnable and had to wait is late through no fault of the target's: the machine is too
busy. Linux counts that wait for each thread; elsewhere it is not known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

#: Nanoseconds on a CPU, nanoseconds waiting for one, and turns, of this process's first thread (where the
#: whole generator runs).
SCHEDULE = Path("/proc/self/schedstat")

#: Over a shorter time (in seconds) than this, shares of a CPU are what the clock's grain makes of them.
SHORTEST = 0.2


class Effort:
    """Tells, each time it is asked, about the time since it was last asked."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, waited: Callable[[], float] | None = None
    ) -> None:
        self._clock, self._waited_so_far = clock, waited or seconds_waited
        self._process = psutil.Process()
        self._asked, self._waited = self._clock(), self._waited_so_far()
        self._process.cpu_percent()
        self._last: tuple[float, float] | None = None

    @property
    def process(self) -> int:
        """Which process this is."""
        pid: int = self._process.pid
        return pid

    def since_last(self) -> tuple[float, float]:
        """Return the share of a CPU that was used, and the share of time spent waiting for one; percent."""
        now, waited = self._clock(), self._waited_so_far()
        if self._last is not None and now - self._asked < SHORTEST:
            return self._last
        share = 100 * (waited - self._waited) / max(now - self._asked, 1e-3)
        self._asked, self._waited = now, waited
        self._last = self._process.cpu_percent(), min(max(share, 0.0), 100.0)
        return self._last


def seconds_waited(file: Path = SCHEDULE) -> float:
    """Return how long this process has waited for a CPU so far; 0 where nobody counts it."""
    try:
        return int(file.read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
