"""Fixtures that are read again when their files change, while the server answers.

A thread looks at the files a few times a second: their times, sizes and identities, and which there are. What
changed is read once it has stopped changing, beside the old data, and put in place whole; a save that cannot
be read keeps the old data, is told once, and is forgotten with the next good one. Knows nothing of HTTP.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trigger_fixtures import Corpus, FixtureErrors, Mistake
from trigger_fixtures.sources import files_of
from trigger_mock.benches import Bench, Benches
from trigger_mock.credentials import KeyTaken

log = logging.getLogger("trigger_mock")

#: Seconds between two looks.
INTERVAL = 0.25

#: What tells one state of the files from another: of each its name, identity, size and time of change.
Stamp = tuple[tuple[str, int, int, int], ...]


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
    """Keeps the default bench at what its files say. `load` reads them all and raises `FixtureErrors`; `now`
    gives seconds since 1970.
    """

    def __init__(
        self,
        benches: Benches,
        paths: Sequence[Path],
        load: Callable[[], Corpus],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._benches = benches
        self._paths = tuple(paths)
        self._load = load
        self._now = now
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._read = self._seen = stamp(self._paths)
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
        found = stamp(self._paths)
        settled, self._seen = found == self._seen, found
        if found == self._read or not settled:
            return False
        self._reload()
        # What changed while it was read is read again at the next look but one.
        self._read = found
        return True

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL):
            try:
                self.look()
            except Exception:  # the server answers on, and the next save is looked at as well
                log.exception("the fixtures could not be read again")

    def _reload(self) -> None:
        before = self.status
        try:
            corpus = self._load()
            reload_bench(self._benches, self._benches.default, corpus)
        except (FixtureErrors, OSError, KeyTaken) as error:
            mistakes = _mistakes(error)
            if mistakes != before.mistakes:
                # A user's mistake has no traceback.
                log.error("%s\nthe fixtures as they were are served on", error)  # noqa: TRY400
            self.status = self._told(before.reloads, mistakes)
            return
        self.status = self._told(before.reloads + 1, ())
        mended = "mended; " if before.mistakes else ""
        log.info("fixtures %sread again: %d memories", mended, len(corpus.rows))

    def _told(self, reloads: int, mistakes: tuple[Mistake, ...]) -> Status:
        return Status(
            sources=self.status.sources,
            watched=True,
            reloads=reloads,
            read_at=self._now(),
            mistakes=mistakes,
        )


def reload_bench(benches: Benches, bench: Bench, corpus: Corpus) -> None:
    """Have files' new state in a bench, and a reset return to it.

    What the files hold wins; rows that were added at run time under ids of their own stay, as long as their
    organisation does.
    """
    of_files = {row.id for rows in (bench.store.origin.rows, corpus.rows) for row in rows}
    added = [
        row for row in bench.store.rows if row.id not in of_files and row.organisation in corpus.organisations
    ]
    benches.replace(bench, replace(corpus, rows=(*corpus.rows, *added)), origin=corpus)


def stamp(paths: Sequence[Path]) -> Stamp:
    """The state of the files below these paths; of one that is not there now, nothing."""
    found: list[tuple[str, int, int, int]] = []
    for path in paths:
        try:
            files = files_of(path)
        except FixtureErrors:
            files = [path]
        for file in files:
            try:
                status = file.stat()
            except OSError:
                found.append((str(file), 0, 0, 0))
            else:
                found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def _mistakes(error: Exception) -> tuple[Mistake, ...]:
    if isinstance(error, FixtureErrors):
        return error.mistakes
    if isinstance(error, OSError):
        return (
            Mistake(str(error.filename), None, "", error.strerror or "nothing readable", "a readable file"),
        )
    return (Mistake("", None, "organisations", str(error), "keys of one bench only"),)
