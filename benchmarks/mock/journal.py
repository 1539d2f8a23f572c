"""What the journal costs: the rate with it on against it off, and that memory stays flat however many calls
are written down.

The rate is that of two commands, driven in turn by wrk. The memory is that of one process in which the
application is called without a server, so that nothing else grows; it is looked at once the journal is full
and again at the end.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.mock import stores
from benchmarks.mock.measure import Measure, interleaved
from benchmarks.mock.processes import ROOT, free_port, has_wrk, mock_command, resident, running, wrk

ROWS = 1000
CONNECTIONS = 16
RATE = 0.85
#: MiB that the process may grow by between the two looks.
GROWTH = 8.0
FIRST_LOOK, CALLS = 100_000, 500_000


def run(*, quick: bool) -> Iterator[Measure]:
    """The rate, then the memory."""
    what = "rate with the journal on, against off"
    if has_wrk():
        yield _rate(what, rounds=3 if quick else 9, seconds=1 if quick else 2)
    else:
        yield Measure(what=what, value=None, at_least=RATE, detail="wrk is not installed")
    yield _memory(*((FIRST_LOOK // 10, CALLS // 10) if quick else (FIRST_LOOK, CALLS)))


def _rate(what: str, rounds: int, seconds: float) -> Measure:
    bodies = stores.requests("retrieve", 500, ROWS)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        rows = str(stores.write(Path(folder, "rows.jsonl"), ROWS))
        sides = []
        for options in (("--journal", "0"), ()):
            port = free_port()
            command = mock_command(port, "--fixtures", rows, *options)
            stack.enter_context(running(command, port, bodies[0]))
            sides.append(partial(wrk, port, bodies, connections=CONNECTIONS, seconds=seconds))
        timed = interleaved(sides, rounds)
    return Measure(
        what=what,
        value=timed.ratio(),
        at_least=RATE,
        detail=f"{timed.median(1):.0f} requests/s against {timed.median(0):.0f}, wrk -t1 -c{CONNECTIONS}",
    )


def _memory(first: int, calls: int) -> Measure:
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.mock.journal", str(first), str(calls)],
        cwd=ROOT, capture_output=True, check=True, timeout=1800,
    )  # fmt: skip
    before, after, kept = map(int, told.stdout.split())
    return Measure(
        what=f"growth from call {first:,} to call {calls:,}",
        value=(after - before) / 2**20,
        unit="MiB",
        at_most=GROWTH,
        detail=f"{before / 2**20:.1f} MiB resident, then {after / 2**20:.1f}; {kept} calls kept",
    )


def _grow(first: int, calls: int) -> tuple[int, int, int]:
    """Resident bytes after the first calls and after all, and how many calls the journal then keeps."""
    from benchmarks.mock.request_path import answer
    from trigger_fixtures import Corpus, load
    from trigger_mock import Settings, create_app
    from trigger_mock.limits import UNLIMITED, Overrides

    with TemporaryDirectory() as folder:
        corpus: Corpus = load(stores.write(Path(folder, "rows.jsonl"), ROWS))
    app = create_app(corpus, settings=Settings(limits=Overrides(UNLIMITED, UNLIMITED)))
    bodies = cycle(stores.requests("compose", 500, ROWS))
    looks: list[int] = []
    for number in range(1, calls + 1):
        answer(app, next(bodies))
        if number in (first, calls):
            gc.collect()
            looks.append(resident(os.getpid()))
    journal = app.extensions["trigger_mock"].default.journal
    if journal.recorded != calls:
        raise RuntimeError(f"{journal.recorded} calls were written down, of {calls}")
    return looks[0], looks[1], len(journal)


if __name__ == "__main__":
    print(*_grow(int(sys.argv[1]), int(sys.argv[2])))
