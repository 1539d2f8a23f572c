"""What a large store costs to load and to hold: 100,000 rows of JSON Lines.

Load: from the path to an application that answers, against reading the file and `json.loads` of each line,
both in fresh processes, imports not counted. The bound is twice that and one second, so the ratio is (load
- 1 s) / read.

Memory: how much the resident memory of the process grew from an application of an empty store to one of the
loaded store, less the UTF-8 bytes of the rows' `text`, a row. Everything else of a row (id, scope,
entities, steps, times), the index, and what loading left behind in the allocator are counted against the
bound. What is over the bytes of all of a row's values is told too, without a bound: the cost of holding and
finding what a row says.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.mock import stores
from benchmarks.mock.measure import Measure, interleaved
from benchmarks.mock.processes import ROOT, resident

ROWS = 10**5
ALLOWED = 1.0
LOAD = 2.0
MEMORY = 700.0


def run(*, quick: bool) -> Iterator[Measure]:
    """Load, then memory, of the same processes."""
    held: list[tuple[float, float]] = []
    with TemporaryDirectory() as folder:
        path = stores.write(Path(folder, "rows.jsonl"), ROWS)
        size = path.stat().st_size

        def ready() -> float:
            taken, *over = _in_own_process("ready", path)
            held.append((over[0], over[1]))
            return taken

        def read() -> float:
            return _in_own_process("read", path)[0]

        timed = interleaved([read, ready], 1 if quick else 5)
    yield Measure(
        what=f"load of {ROWS:,} rows, less 1 s",
        value=median((own - ALLOWED) / floor for floor, own in timed.rounds),
        at_most=LOAD,
        detail=f"{timed.median(1):.2f} s to an application, {timed.median(0):.2f} s to read and json.loads "
        f"{size // 1_000_000} MB",
    )
    grown = f"resident growth over {ROWS:,} rows of {size // ROWS} bytes of JSON each"
    yield Measure(
        what="memory of a row over its `text`",
        value=median(over_text for over_text, _ in held),
        unit="B",
        at_most=MEMORY,
        detail=grown,
    )
    yield Measure(
        what="memory of a row over all its values",
        value=median(over_values for _, over_values in held),
        unit="B",
        detail=grown,
    )


def _in_own_process(what: str, path: Path) -> list[float]:
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.mock.footprint", what, str(path)],
        cwd=ROOT, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    return [float(figure) for figure in told.stdout.split()]


def _read(path: Path) -> list[float]:
    began = perf_counter()
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)  # not kept: the least that reading costs
    return [perf_counter() - began]


def _ready(path: Path) -> list[float]:
    from trigger_fixtures import Corpus, load
    from trigger_mock import Settings, create_app

    corpus = Corpus(organisations={stores.ORGANISATION: stores.organisation()}, rows=(), sources=())
    kept = [create_app(corpus, settings=Settings())]
    gc.collect()
    before = resident(os.getpid())
    began = perf_counter()
    corpus = load(path)
    kept.append(create_app(corpus, settings=Settings()))
    taken = perf_counter() - began
    rows = len(corpus.rows)
    texts = sum(len(row.text.encode()) for row in corpus.rows)
    values = sum(map(_bytes_in, corpus.rows))
    del corpus
    gc.collect()
    grown = resident(os.getpid()) - before
    return [taken, (grown - texts) / rows, (grown - values) / rows]


def _bytes_in(value: object) -> int:
    """The UTF-8 bytes of all texts in a row."""
    if isinstance(value, str):
        return len(value.encode())
    return sum(map(_bytes_in, value)) if isinstance(value, tuple) else 0


if __name__ == "__main__":
    print(*{"read": _read, "ready": _ready}[sys.argv[1]](Path(sys.argv[2])))
