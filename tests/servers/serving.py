"""A server of a variant: in a thread of this process, or as this process.

The listening socket exists before the server does, so the first request may be sent at once.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from tests.servers.application import ENDPOINT, application
from tests.servers.behaviour import Behaviour, Rate
from tests.servers.data import HOME, KEYS, NEIGHBOUR, PROBES
from tests.servers.variants import Variant, named

_PATIENCE = 10.0
_HOME_KEYS = tuple(key for key, owner in KEYS.items() if owner == HOME)


@dataclass(frozen=True, slots=True)
class Served:
    """What a test needs to know about a server that runs."""

    url: str
    variant: Variant
    behaviour: Behaviour
    keys: tuple[str, ...] = _HOME_KEYS
    other_key: str = next(key for key, owner in KEYS.items() if owner == NEIGHBOUR)
    probes: dict[str, Any] = field(default_factory=lambda: PROBES)

    @property
    def key(self) -> str:
        return self.keys[0]

    @property
    def endpoint(self) -> str:
        return self.url + ENDPOINT

    def write_probes(self, folder: Path) -> Path:
        """The probe file that an operator would give to the verifier."""
        path = folder / "probes.json"
        path.write_text(json.dumps(self.probes, indent=1), encoding="utf-8")
        return path


class Server(uvicorn.Server):
    """uvicorn that is told when to stop, rather than asking ten times a second."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(
            uvicorn.Config(
                application(behaviour),
                loop="asyncio",
                http="httptools",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told: asyncio.Event | None = None

    async def main_loop(self) -> None:
        self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        if not self.should_exit:
            await self._told.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.stop()

    def stop(self) -> None:
        """Ask the server to end; safe from any thread."""
        self.should_exit = True
        if self._loop is not None and self._told is not None:
            self._loop.call_soon_threadsafe(self._told.set)


def listener(port: int = 0) -> socket.socket:
    """A socket that listens on the loopback interface; port 0 takes a free one."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen(128)
    return sock


def address(sock: socket.socket) -> str:
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


@contextmanager
def serving(
    name: str = "reference", *, rate_limit: Rate | None = None, port: int = 0, limit_one: bool = False
) -> Iterator[Served]:
    """Serve a variant from a thread until the block ends; the limit may be that of the second key alone, as
    an operator sets it up for a verifier.
    """
    variant = named(name)
    behaviour = variant.make(rate_limit)
    if limit_one:
        behaviour.spared = frozenset(KEYS) - {_HOME_KEYS[1]}
    sock = listener(port)
    server = Server(behaviour)
    thread = threading.Thread(target=server.run, args=([sock],), name=f"serving {name}", daemon=True)
    thread.start()
    try:
        yield Served(address(sock), variant, behaviour)
    finally:
        server.stop()
        thread.join(_PATIENCE)
        sock.close()
