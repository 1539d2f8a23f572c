"""What waits must not be in the way.

Replies under simulated latency, and clients that never finish their request.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from statistics import median
from time import sleep

from benchmarks.mock.floor import PATH
from benchmarks.mock.measure import Measure, seconds
from benchmarks.mock.processes import ask, free_port, has_wrk, mock_command, running, wrk
from benchmarks.mock.start import BODY, HEADERS

LATENCY = 0.1
CONNECTIONS = 64
SHARE = 0.8
DELAY = 100.0
SERVERS = ("waitress", "granian")

_LINE = (
    f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: xtk_demo_acme\r\n"
    "Content-Type: application/json\r\n"
)
UNFINISHED = {
    "header": f"{_LINE}X-Slow: ".encode(),
    "body": f'{_LINE}Content-Length: 400\r\n\r\n{{"user_id": '.encode(),
}


def run(*, quick: bool) -> Iterator[Measure]:
    """The rate under latency, then the delay by half-open clients, on each server."""
    for server in SERVERS:
        if find_spec(server) is None:
            yield Measure(what=f"waiting on {server}", value=None, detail=f"{server} is not installed")
            continue
        yield _latency(server, rounds=1 if quick else 3)
        yield from _half_open(server, rounds=1 if quick else 3)


def _latency(server: str, rounds: int) -> Measure:
    what = f"rate under {LATENCY * 1000:.0f} ms of latency, {CONNECTIONS} connections, {server}"
    if not has_wrk():
        return Measure(what=what, value=None, at_least=SHARE, detail="wrk is not installed")
    ideal = CONNECTIONS / LATENCY
    port = free_port()
    command = mock_command(port, "--latency", str(LATENCY), "--server", server)
    with running(command, port, BODY, HEADERS):
        rates = [
            wrk(port, [BODY], connections=CONNECTIONS, seconds=3, key=HEADERS["x-api-key"])
            for _ in range(rounds)
        ]
    return Measure(
        what=what,
        value=median(rates) / ideal,
        at_least=SHARE,
        detail=f"{median(rates):.0f} of {ideal:.0f} requests/s",
    )


def _half_open(server: str, rounds: int) -> Iterator[Measure]:
    port = free_port()
    with running(mock_command(port, "--server", server), port, BODY, HEADERS):
        for part, sent in UNFINISHED.items():
            delays: list[float] = []
            for _ in range(rounds):
                alone = _slowest(port)
                with _clients(port, sent):
                    delays.append(1000 * (_slowest(port) - alone))
            yield Measure(
                what=f"delay by {CONNECTIONS} clients with half a {part}, {server}",
                value=median(delays),
                unit="ms",
                at_most=DELAY,
                detail="the slowest of 20 requests, beyond the slowest of 20 without them",
            )


def _slowest(port: int) -> float:
    return max(seconds(lambda: ask(port, BODY, HEADERS)) for _ in range(20))


@contextmanager
def _clients(port: int, sent: bytes) -> Iterator[Sequence[socket.socket]]:
    with ExitStack() as stack:
        clients = [
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=5)))
            for _ in range(CONNECTIONS)
        ]
        for client in clients:
            client.sendall(sent)
        sleep(0.3)  # for the server to have read what it will get
        yield clients
