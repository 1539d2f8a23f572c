"""Requests per second on one server: the mock, the bare view, and Prism where it is installed, driven in
turn by `wrk -t1 -c16`.

The command `trigger-mock` as a user starts it, with a thousand rows, against the bare view under
`waitress.serve` as it comes, and on granian under the settings of the mock's own `--server granian`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.mock import stores
from benchmarks.mock.measure import Measure, Paired, interleaved
from benchmarks.mock.processes import (
    HEADERS,
    Running,
    ask,
    floor_command,
    free_port,
    has_wrk,
    mock_command,
    running,
    wrk,
)
from trigger_contracts.document import effective

ROWS = 1000
CONNECTIONS = 16
BOUND = 0.85
SERVERS = ("waitress", "granian")


def run(*, quick: bool) -> Iterator[Measure]:
    """One line a server, and one for Prism."""
    for server in SERVERS:
        what = f"rate on {server}, retrieve"
        if not has_wrk() or find_spec(server) is None:
            missing = "wrk" if not has_wrk() else server
            yield Measure(what=what, value=None, at_least=BOUND, detail=f"{missing} is not installed")
        else:
            yield from _against_floor(what, server, rounds=3 if quick else 9, seconds=1 if quick else 2)


def _against_floor(what: str, server: str, *, rounds: int, seconds: float) -> Iterator[Measure]:
    bodies = stores.requests("retrieve", 500, ROWS)
    prism = shutil.which("prism") if server == "waitress" else None
    with TemporaryDirectory() as folder, ExitStack() as stack:
        rows = stores.write(Path(folder, "rows.jsonl"), ROWS)
        port = free_port()
        mock = stack.enter_context(
            running(mock_command(port, "--fixtures", str(rows), "--server", server), port, bodies[0])
        )
        _, content = ask(mock.port, bodies[0])
        constant = Path(folder, "constant.json")
        constant.write_bytes(content)
        port = free_port()
        floor = stack.enter_context(running(floor_command(port, constant, server), port, bodies[0]))
        ports = [floor.port, mock.port]
        if prism:
            ports.append(stack.enter_context(_prism(prism, Path(folder), bodies[0])).port)
        timed = interleaved([_driven(port, bodies, seconds) for port in ports], rounds)
        yield _line(what, timed)
        if prism:
            yield Measure(
                what="rate of Prism, static answers",
                value=timed.ratio(2),
                detail=f"{timed.median(2):.0f} requests/s; "
                f"the mock does {timed.ratio(1) / timed.ratio(2):.1f} times as many",
            )


def _prism(prism: str, folder: Path, body: bytes) -> AbstractContextManager[Running]:
    contract = folder / "effective.json"
    contract.write_text(json.dumps(effective()))
    port = free_port()
    command = [prism, "mock", "--host", "127.0.0.1", "--port", str(port), str(contract)]
    return running(command, port, body, HEADERS)


def _driven(port: int, bodies: list[bytes], seconds: float) -> Callable[[], float]:
    return partial(wrk, port, bodies, connections=CONNECTIONS, seconds=seconds)


def _line(what: str, timed: Paired) -> Measure:
    return Measure(
        what=what,
        value=timed.ratio(),
        at_least=BOUND,
        detail=f"{timed.median(1):.0f} requests/s against {timed.median(0):.0f} of the bare view, "
        f"wrk -t1 -c{CONNECTIONS}",
    )
