"""The clock of a bench: runs by itself until it is frozen, and moves forward when told.

Rate windows, daily caps and the times in the journal read it, so that a test meets tomorrow in a
millisecond. It never goes back: a window that closed stays closed. Simulated latency and faults pass in real
time. Knows nothing of HTTP.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock


class Clock:
    """Seconds on a scale of no meaning when called, as `time.monotonic` gives them; `now` is the same as a
    date.

    `source` is what passes by itself (seconds, monotonic); `epoch` what it showed in seconds since 1970.
    """

    def __init__(self, source: Callable[[], float] = time.monotonic, epoch: float | None = None) -> None:
        self._source = source
        self._epoch = time.time() - source() if epoch is None else epoch
        self._moved = 0.0
        self._stopped: float | None = None
        self._lock = Lock()

    def __call__(self) -> float:
        """The seconds that rate windows count."""
        stopped = self._stopped
        return self._source() + self._moved if stopped is None else stopped

    @property
    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return self._epoch + self()

    @property
    def frozen(self) -> bool:
        """Whether it stands still."""
        return self._stopped is not None

    def freeze(self) -> None:
        """Stand still; a clock that does already stays as it is."""
        with self._lock:
            if self._stopped is None:
                self._stopped = self._source() + self._moved

    def resume(self) -> None:
        """Run on from where it stands."""
        with self._lock:
            if self._stopped is not None:
                self._moved, self._stopped = self._stopped - self._source(), None

    def advance(self, seconds: float) -> None:
        """Move forward by these seconds, frozen or not. Raises `ValueError` for a step back."""
        if not seconds >= 0:
            raise ValueError(f"a clock moves forward; seen {seconds:g} seconds")
        with self._lock:
            if self._stopped is None:
                self._moved += seconds
            else:
                self._stopped += seconds

    def reset(self) -> None:
        """Run with real time again, for a bench whose windows are forgotten with it."""
        with self._lock:
            self._moved, self._stopped = 0.0, None
