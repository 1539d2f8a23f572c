"""What a large store costs to load and to hold: 100,000 rows of JSON Lines.

Load: from the path to an application that answers, against reading the file and `json.loads` of each line, both in fresh
processes, imports not counted. The bound is twice that and one second, so the ratio is (load - 1 s) / read.

Memory: how much the resident memory of the process grew when the application stood, after loading, less the UTF-8 bytes of the
rows' `text`, a row. Everything else of a row (id, scope, entities, steps, timestamps), the index, and whatever loading left behind
in the allocator are counted. The application of an empty store stands before, so that the cost of Flask is not.
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
    held: list[float] = []
    with TemporaryDirectory() as folder:
        path = stores.write(Path(folder, "rows.jsonl"), ROWS)
        size = path.stat().st_size

        def ready() -> float:
            taken, held_per_row = _in_own_process("ready", path)
            held.append(held_per_row)
            return taken

        timed = interleaved([lambda: _in_own_process("read", path)[0], ready], 1 if quick else 5)
    yield Measure(
        what=f"load of {ROWS:,} rows, less 1 s",
        value=median((own - ALLOWED) / floor for floor, own in timed.rounds),
        at_most=LOAD,
        detail=f"{timed.median(1):.2f} s to an application, {timed.median(0):.2f} s to read and json.loads {size // 1_000_000} MB",
    )
    yield Measure(
        what="memory of a row over its text",
        value=median(held),
        unit="B",
        at_most=MEMORY,
        detail=f"resident growth over {ROWS:,} rows of {size // ROWS} bytes of JSON each",
    )


def _in_own_process(what: str, path: Path) -> tuple[float, float]:
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.mock.footprint", what, str(path)],
        cwd=ROOT, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    taken, held = map(float, told.stdout.split())
    return taken, held


def _read(path: Path) -> tuple[float, float]:
    began = perf_counter()
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)  # not kept: the least that reading costs
    return perf_counter() - began, 0.0


def _ready(path: Path) -> tuple[float, float]:
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
    rows, texts = len(corpus.rows), sum(len(row.text.encode()) for row in corpus.rows)
    del corpus
    gc.collect()
    return taken, (resident(os.getpid()) - before - texts) / rows


if __name__ == "__main__":
    print(*{"read": _read, "ready": _ready}[sys.argv[1]](Path(sys.argv[2])))
