"""Serving the application on a real port.

waitress by default: pure Python, and its event loop holds half-open clients so that they cost no thread. What it adds here: its
own refusals (of requests that are no HTTP) take the endpoint's envelope, and a SIGTERM lets every reply in flight out. granian,
an extra, where speed matters or several processes share the port.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import orjson
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer, create_server
from waitress.task import ErrorTask

from trigger_mock.refusals import envelope

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

#: One thread a reply in flight: every simulated delay holds one.
THREADS = 64
CONNECTIONS = 1000
#: Seconds that replies in flight may take after a SIGTERM; a little more than the longest simulated latency.
GRACE = 35.0
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
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _EnvelopeErrorTask(ErrorTask):  # type: ignore[misc, unused-ignore]
    """waitress's answer to what it cannot read as HTTP, in the endpoint's words."""

    def execute(self) -> None:
        error = self.request.error
        # A coding that it does not speak is the client's fault here, not a fault of ours.
        status = 400 if error.code == 501 else error.code
        code = {413: "payload_too_large", 500: "trigger_failed"}.get(status, "invalid_request")
        body = orjson.dumps(envelope(code, error.reason))
        self.status = f"{status} {'Bad Request' if status == 400 else error.reason}"
        self.response_headers += [("Content-Type", "application/json"), ("X-Request-Id", "unread")]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _Channel(HTTPChannel):  # type: ignore[misc, unused-ignore]
    error_task_class = _EnvelopeErrorTask

    @property
    def busy(self) -> bool:
        """Whether a request of this connection still waits for its whole reply."""
        return bool(self.requests or self.total_outbufs_len)


class WaitressServer:
    """waitress on a bound socket. `run` blocks until `stop` is called (from any thread, or by a signal)."""

    def __init__(self, application: WSGIApplication, listening: socket.socket, *, body_limit: int) -> None:
        self._stopping = threading.Event()
        self._server: TcpWSGIServer = create_server(
            application,
            sockets=[listening],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=max(UNREADABLE, 2 * body_limit),
            asyncore_use_poll=True,
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        self._server.channel_class = _Channel

    def stop(self) -> None:
        """Take no more connections, finish the replies in flight, and let `run` return."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._server.pull_trigger()

    def run(self) -> None:
        """Serve until stopped."""
        while not self._stopping.is_set():
            self._turn(1.0)
        wasyncore.dispatcher.close(self._server)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and self._finishing():
            self._turn(0.05)
        self._server.task_dispatcher.shutdown(timeout=1)
        wasyncore.close_all(self._server._map)  # noqa: SLF001 - waitress closes its own map in the same way

    def _turn(self, timeout: float) -> None:
        self._server.asyncore.loop(timeout=timeout, use_poll=True, map=self._server._map, count=1)  # noqa: SLF001

    def _finishing(self) -> bool:
        channels = list(self._server.active_channels.values())
        for channel in channels:
            if not channel.busy:
                channel.will_close = True
        return any(channel.busy for channel in channels)


def serve(application: WSGIApplication, listening: socket.socket, *, body_limit: int) -> None:
    """Serve on waitress until SIGTERM or SIGINT; replies in flight are finished."""
    server = WaitressServer(application, listening, body_limit=body_limit)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        server.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    server.run()


@contextlib.contextmanager
def serving(application: WSGIApplication, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in a thread of this process for as long as the context lasts; gives the base URL."""
    listening = bind(host, port)
    url = url_of(listening)
    server = WaitressServer(application, listening, body_limit=UNREADABLE)
    thread = threading.Thread(target=server.run, name="trigger-mock", daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.stop()
        thread.join(GRACE + 5)


def serve_fast(
    make: Callable[[], WSGIApplication], host: str, port: int, *, workers: int, ready: Callable[[], None]
) -> None:
    """Serve on granian, in as many processes as asked, until SIGTERM or SIGINT. `make` builds the application in each.

    `make` must be picklable; `ready` is called once the port answers. Raises `ImportError` without the extra `[fast]`.
    """
    from granian.constants import Interfaces
    from granian.server import Server

    server = Server(
        "trigger_mock",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        # A client that never finishes its body holds a thread of granian's; there must be more of them than of those.
        blocking_threads=2 * THREADS,
        backpressure=8 * THREADS,
        websockets=False,
        log_enabled=False,
    )
    announce = threading.Thread(target=partial(_when_it_answers, host, port, ready), daemon=True)
    server.on_startup(announce.start)
    server.serve(target_loader=make, wrap_loader=False)


def _when_it_answers(host: str, port: int, ready: Callable[[], None], tries: int = 600) -> None:
    for _ in range(tries):
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            ready()
            return


def free_port(host: str, port: int) -> tuple[str, int]:
    """Check that a port can be had (0: choose one) for a server that binds by itself. Raises `OSError`."""
    with bind(host, port) as probe:
        address: tuple[Any, ...] = probe.getsockname()
    return str(address[0]), int(address[1])
