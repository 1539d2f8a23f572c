"""Starting: from the command to the first 200 with the default fixtures, and what is resident then, against
the bare view.

The bare view stands on waitress as it comes. Both are asked every few milliseconds from the moment they
were started.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.mock.measure import Measure, Paired, interleaved
from benchmarks.mock.processes import ask, floor_command, free_port, running

TIME = 2.0
MEMORY = 2.5
#: Recalls rows of the shipped fixtures.
HEADERS = {"Content-Type": "application/json", "x-api-key": "xtk_demo_acme"}
BODY = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"]}).encode()


def run(*, quick: bool) -> Iterator[Measure]:
    """Time and memory, from the same starts."""
    resident: list[tuple[float, ...]] = []
    with TemporaryDirectory() as folder:
        constant = Path(folder, "constant.json")
        port = free_port()
        with running(_mock(port), port, BODY, HEADERS):
            constant.write_bytes(ask(port, BODY, HEADERS)[1])
        sizes = [0.0, 0.0]

        def floor() -> float:
            port = free_port()
            return _started(floor_command(port, constant), port, sizes, 0)

        def mock() -> float:
            port = free_port()
            return _started(_mock(port), port, sizes, 1)

        def round_of(at: int) -> float:
            seconds = (floor, mock)[at]()
            if all(sizes):
                resident.append(tuple(sizes))
                sizes[:] = 0.0, 0.0
            return seconds

        timed = interleaved([lambda: round_of(0), lambda: round_of(1)], 5 if quick else 15)
    held = Paired(tuple(resident[1:]))
    yield Measure(
        what="start to the first 200, default fixtures",
        value=timed.ratio(),
        at_most=TIME,
        detail=f"{timed.median(1):.2f} s against {timed.median(0):.2f} s of the bare view on waitress",
    )
    yield Measure(
        what="resident memory after the first 200",
        value=held.ratio(),
        at_most=MEMORY,
        detail=f"{held.median(1) / 2**20:.0f} MiB against {held.median(0) / 2**20:.0f} MiB",
    )


def _mock(port: int) -> list[str]:
    return [sys.executable, "-m", "trigger_mock", "--port", str(port)]


def _started(command: list[str], port: int, sizes: list[float], side: int) -> float:
    with running(command, port, BODY, HEADERS) as server:
        sizes[side] = float(server.resident)
        return server.seconds
