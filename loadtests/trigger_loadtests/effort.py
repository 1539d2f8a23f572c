"""How much CPU this process got, and how long it waited for one.

A generator that was runnable and had to wait is late through no fault of the target's: the machine is too
busy. Linux counts that wait for each thread; elsewhere it is not known.
"""

from __future__ import annotations

import time
from pathlib import Path

import psutil

#: Nanoseconds on a CPU, nanoseconds waiting for one, and turns, of this process's first thread (where the
#: whole generator runs).
_SCHEDULE = Path("/proc/self/schedstat")


class Effort:
    """Tells, each time it is asked, about the time since it was last asked."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._asked, self._waited = time.monotonic(), _waited()
        self._process.cpu_percent()

    @property
    def process(self) -> int:
        """Which process this is."""
        pid: int = self._process.pid
        return pid

    def since_last(self) -> tuple[float, float]:
        """Return the share of a CPU that was used, and the share of time spent waiting for one; percent."""
        now, waited = time.monotonic(), _waited()
        share = 100 * (waited - self._waited) / max(now - self._asked, 1e-3)
        self._asked, self._waited = now, waited
        return self._process.cpu_percent(), min(max(share, 0.0), 100.0)


def _waited() -> float:
    try:
        return int(_SCHEDULE.read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
