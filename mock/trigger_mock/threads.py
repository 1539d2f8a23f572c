"""Threads in place of those that wait: a call that is delayed on purpose takes none away from the others.

Knows waitress's dispatcher and nothing of what is waited for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from threading import Lock
from typing import Any


class Threads:
    """The threads of a dispatcher: `usual` of them, and one more for each that waits, up to `most`."""

    def __init__(self, dispatcher: Any, usual: int, most: int) -> None:
        self._dispatcher = dispatcher
        self._usual = usual
        self._most = most
        self._waiting = 0
        self._closed = False
        self._lock = Lock()

    @contextlib.contextmanager
    def borrow(self) -> Generator[None]:
        """Have another thread at work for as long as this one is in here."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def close(self) -> None:
        """Start no more: the dispatcher is shutting down."""
        with self._lock:
            self._closed = True

    def _count(self, change: int) -> None:
        with self._lock:
            self._waiting += change
            if not self._closed:
                self._dispatcher.set_thread_count(min(self._usual + self._waiting, self._most))
