"""A real Redis on a free port, for as long as a test needs it."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

WAIT = 10.0


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A Redis that answers."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def uri(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def kill(self) -> None:
        """As a crash does."""
        self.process.kill()
        self.process.wait(WAIT)


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """Start one; the test is skipped where the program is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    with subprocess.Popen(
        [program, *options, "--dir", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_until_it_answers(port)
            yield RedisServer(process, port)
        finally:
            process.kill()
            process.wait(WAIT)


def _wait_until_it_answers(port: int) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as asked:
            asked.sendall(b"PING\r\n")
            if asked.recv(16).startswith(b"+PONG"):
                return
        time.sleep(0.02)
    raise AssertionError("redis-server did not come up")
