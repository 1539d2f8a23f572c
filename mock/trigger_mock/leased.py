"""A server that lives as long as somebody uses it: `python -m trigger_mock.leased`, started by
`trigger_mock.leases`.

It reads a secret from stdin and says in one line of JSON where it answers and where leases are taken. A lease
is a connection that begins with the secret; when the last one is closed, the server ends at once, replies in
flight or not: nobody is left to read them.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from contextlib import suppress

from trigger_fixtures import default
from trigger_mock.app import create_app
from trigger_mock.leases import WELCOME
from trigger_mock.server import serving
from trigger_mock.settings import Settings

#: Seconds until the first lease, which whoever started the server takes at once unless it was killed.
FIRST = 10.0
#: Seconds that a connection may take to show the secret.
INTRODUCTION = 2.0


class Holders:
    """Those who use the server: connections that showed the secret and are still open."""

    def __init__(self, listening: socket.socket, secret: bytes) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._secret = secret
        self._watched = selectors.DefaultSelector()
        self._watched.register(listening, selectors.EVENT_READ)

    def __len__(self) -> int:
        return len(self._watched.get_map()) - 1

    def wait(self, first: float = FIRST) -> None:
        """Return when the last of them has gone, or when there was none for `first` seconds."""
        deadline = time.monotonic() + first
        while not len(self) and (left := deadline - time.monotonic()) > 0:
            self._turn(left)
        while len(self):
            self._turn(None)

    def _turn(self, timeout: float | None) -> None:
        events = self._watched.select(timeout)
        gone = [key.data for key, _ in events if key.data is not None]
        # Who comes in the moment in which the last one goes is still welcome.
        with suppress(BlockingIOError):
            for _ in range(1000):
                self._meet(self._listening.accept()[0])
        for connection in gone:
            self._watched.unregister(connection)
            connection.close()

    def _meet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(INTRODUCTION)
            with connection.makefile("rb") as said:
                known = said.readline(len(self._secret) + 2).strip() == self._secret
            if known:
                connection.sendall(WELCOME)
                self._watched.register(connection, selectors.EVENT_READ, connection)
                return
        except OSError:
            pass
        connection.close()


def main() -> None:
    """Serve the shipped fixtures until nobody uses them any more."""
    secret = sys.stdin.buffer.readline().strip()
    if not secret:
        sys.exit("trigger_mock.leased: stdin holds no secret; it is started by the pytest plugin")
    with (
        socket.create_server(("127.0.0.1", 0), backlog=128) as listening,
        serving(create_app(default(), settings=Settings())) as url,
    ):
        print(json.dumps({"url": url, "lease": listening.getsockname()[1]}), flush=True)
        Holders(listening, secret).wait()
        os._exit(0)


if __name__ == "__main__":
    main()
