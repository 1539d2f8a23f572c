"""Serving the application on a real port, in this process, with waitress.

waitress is pure Python, and its event loop holds half-open clients so that they cost no thread. What is added
here: a SIGTERM lets every reply in flight out, and `trigger_mock.wire` says how a connection is read and
closed. `trigger_mock.workers` serves on granian instead, where several processes share the port.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.server import create_server

from trigger_mock.threads import Threads
from trigger_mock.wire import Channel

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

#: One thread a reply in flight: every simulated delay holds one.
THREADS = 64
CONNECTIONS = 1000
#: Seconds that replies in flight may take after a SIGTERM; a little more than the longest simulated latency.
GRACE = 65.0
#: A second signal sooner than this is the same wish, sent by a terminal and a wrapper; later, it means now.
PATIENCE = 1.0
#: Bytes beyond which even reading a body to its end, in order to refuse it politely, is too much.
UNREADABLE = 256 * 2**20


def bind(host: str, port: int) -> socket.socket:
    """Bind and listen. Raises `OSError` when the port is taken or the host is not ours."""
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(address[:2], family=family, backlog=1024)


def url_of(listening: socket.socket) -> str:
    """The base URL that reaches a bound socket."""
    return url(*listening.getsockname()[:2])


def url(host: str, port: int) -> str:
    """The base URL of an address."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class WaitressServer:
    """waitress on a bound socket. `run` blocks until `stop` is called (from any thread, or by a signal)."""

    def __init__(self, application: WSGIApplication, listening: socket.socket, *, body_limit: int) -> None:
        self._stopping = threading.Event()
        self._grace = GRACE
        server: Any = create_server(
            application,
            sockets=[listening],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            inbuf_overflow=body_limit,  # From here on a body is not kept: its length alone refuses it.
            max_request_body_size=max(UNREADABLE, 2 * body_limit),
            asyncore_use_poll=True,
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            ident=None,
        )
        server.channel_class = Channel
        self._threads = Threads(server.task_dispatcher, THREADS, THREADS + CONNECTIONS)
        server.borrow = self._threads.borrow
        self._server = server

    def stop(self, *, now: bool = False) -> None:
        """Take no more connections, finish the replies in flight (unless `now`), and let `run` return."""
        if now:
            self._grace = 0.0
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._server.pull_trigger()

    def run(self) -> None:
        """Serve until stopped."""
        while not self._stopping.is_set():
            self._turn(1.0)
        # What clients sent before we were stopped is still taken: one turn accepts them, one reads them.
        for _ in range(2):
            self._turn(0.0)
        wasyncore.dispatcher.close(self._server)
        began = time.monotonic()
        while time.monotonic() < began + self._grace and self._finishing():
            self._turn(0.05)
        self._threads.close()
        self._server.task_dispatcher.shutdown(timeout=1)
        wasyncore.close_all(self._server._map)  # noqa: SLF001 - waitress closes its own map in the same way

    def _turn(self, timeout: float) -> None:
        self._server.asyncore.loop(timeout=timeout, use_poll=True, map=self._server._map, count=1)  # noqa: SLF001

    def _finishing(self) -> bool:
        channels: list[Channel] = list(self._server.active_channels.values())
        for channel in channels:
            channel.dismiss()
        return any(channel.busy for channel in channels)


def serve(
    application: WSGIApplication, listening: socket.socket, *, body_limit: int, ready: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; replies in flight are finished, unless a second signal comes later.

    `ready` is called once the signals are in our hands: whoever is told may send one at once.
    """
    server = WaitressServer(application, listening, body_limit=body_limit)
    first: list[float] = []

    def stop(_signal: int, _frame: FrameType | None) -> None:
        first.append(time.monotonic())
        server.stop(now=first[-1] - first[0] > PATIENCE)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    ready()
    server.run()


@contextlib.contextmanager
def serving(
    application: WSGIApplication, host: str = "127.0.0.1", port: int = 0, *, body_limit: int = UNREADABLE
) -> Generator[str]:
    """Serve in a thread of this process for as long as the context lasts; gives the base URL."""
    listening = bind(host, port)
    server = WaitressServer(application, listening, body_limit=body_limit)
    thread = threading.Thread(target=server.run, name="trigger-mock", daemon=True)
    thread.start()
    try:
        yield url_of(listening)
    finally:
        server.stop()
        thread.join(GRACE + 5)
