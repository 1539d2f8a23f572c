"""Fixtures that are read again when their files change, while the server answers.

A thread looks at the files a few times a second: their times, sizes and identities, and which there are. What
changed is read once it has stopped changing, beside the old data, and put in place whole; a save that cannot
be read keeps the old data, is told once, and is forgotten with the next good one. Knows nothing of HTTP.

Reading shares the interpreter with the answers: a large set slows them for as long as it is read (YAML most),
and holds up none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trigger_fixtures import Corpus, FixtureErrors, Mistake
from trigger_fixtures.sources import Stamp, stamp_of
from trigger_mock.benches import Benches
from trigger_mock.credentials import KeyTaken

log = logging.getLogger("trigger_mock")

#: Seconds between two looks.
INTERVAL = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the files stand. `reloads`: how often they were read again and put in place. `read_at`: when they
    were last tried (seconds since 1970; None: not since the start). `mistakes`: why what they hold now is not
    served; empty: it is.
    """

    sources: tuple[str, ...] = ()
    watched: bool = False
    reloads: int = 0
    read_at: float | None = None
    mistakes: tuple[Mistake, ...] = ()


class Reloading:
    """Keeps the default bench at what its files say.

    `load` reads them all and raises `FixtureErrors`; `read` is how they stood before they were read first
    (absent: as they stand now); `now` gives seconds since 1970.
    """

    def __init__(
        self,
        benches: Benches,
        paths: Sequence[Path],
        load: Callable[[], Corpus],
        *,
        read: Stamp | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._benches = benches
        self._paths = tuple(paths)
        self._load = load
        self._now = now
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._read = self._seen = stamp_of(self._paths) if read is None else read
        self.status = Status(sources=tuple(map(str, self._paths)), watched=True)

    def start(self) -> None:
        """Look at the files from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="trigger-mock-reloading", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> bool:
        """Look once; whether the files were read. A change is read at the second look that finds it, so that
        a file caught while it is being written is let finish.
        """
        found = stamp_of(self._paths)
        settled, self._seen = found == self._seen, found
        if found == self._read or not settled:
            return False
        # Before the attempt: whatever comes of it, only another save is a reason for the next one.
        self._read = found
        self._reload(found)
        return True

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL):
            try:
                self.look()
            except Exception:  # the server answers on, and the next save is looked at as well
                log.exception("the fixtures could not be read again")

    def _reload(self, stamp: Stamp) -> None:
        before = self.status
        try:
            corpus = self._load()
            if self._changed_since(stamp):
                return
            self._benches.rebase(self._benches.default, corpus)
        except (FixtureErrors, OSError, KeyTaken) as error:
            if self._changed_since(stamp):
                return
            mistakes = _mistakes(error)
            if mistakes != before.mistakes:
                # A user's mistake has no traceback.
                log.error("%s\nthe fixtures as they were are served on", error)  # noqa: TRY400
            self.status = replace(before, read_at=self._now(), mistakes=mistakes)
            return
        self.status = replace(before, reloads=before.reloads + 1, read_at=self._now(), mistakes=())
        mended = "mended; " if before.mistakes else ""
        log.info("fixtures %sread again: %d memories", mended, len(corpus.rows))

    def _changed_since(self, stamp: Stamp) -> bool:
        """Whether the files changed while they were read: what was read may be half of a save, so nothing of
        it is served or told, and a later look reads them again.
        """
        return stamp_of(self._paths) != stamp


def _mistakes(error: Exception) -> tuple[Mistake, ...]:
    if isinstance(error, FixtureErrors):
        return error.mistakes
    if isinstance(error, OSError):
        return (
            Mistake(str(error.filename), None, "", error.strerror or "nothing readable", "a readable file"),
        )
    return (Mistake("", None, "organisations", str(error), "keys of one bench only"),)
