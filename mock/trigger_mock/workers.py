"""Serving the application on granian: faster, and in several processes that share a port. An extra, `[fast]`.

granian hands the body of a request to the application as it arrives. What is added here: the body is read to
its end before the application is asked, so that no byte of it is taken for the next request and no reply is
destroyed on its way; and a worker that is told to stop does, whatever its clients leave unfinished. What
cannot be changed from here: what is no HTTP is answered by granian itself, with an empty 400, and a client
that closes its half before the reply came may get none.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from trigger_mock.server import GRACE, THREADS, UNREADABLE, bind

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: Bytes of a body that are read at once.
PIECE = 2**16
#: Seconds for the last reply to reach its client.
SENDING = 1.0


def serve(
    make: Callable[[], WSGIApplication],
    host: str,
    port: int,
    *,
    workers: int,
    body_limit: int,
    ready: Callable[[], None],
) -> None:
    """Serve in as many processes as asked, until SIGTERM or SIGINT. `make` builds the application in each.

    `make` must be picklable; `ready` is called once the port answers. Raises `ImportError` without the extra.
    """
    from granian.constants import Interfaces
    from granian.server import Server

    server = Server(
        "trigger_mock",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        workers_kill_timeout=int(GRACE),
        # A client that never finishes its body holds a thread; there must be more of them than of those.
        blocking_threads=2 * THREADS,
        backpressure=8 * THREADS,
        websockets=False,
        log_enabled=False,
    )
    announce = threading.Thread(target=partial(_when_it_answers, host, port, ready), daemon=True)
    server.on_startup(announce.start)
    server.serve(target_loader=partial(_application, make, body_limit), wrap_loader=False)


def free_port(host: str, port: int) -> tuple[str, int]:
    """Check that a port can be had (0: choose one) for a server that binds by itself. Raises `OSError`."""
    with bind(host, port) as probe:
        address: tuple[Any, ...] = probe.getsockname()
    return str(address[0]), int(address[1])


def _application(make: Callable[[], WSGIApplication], body_limit: int) -> WSGIApplication:
    return _Worker(make(), body_limit)


class _Worker:
    """The application in one process of granian's. Made in the main thread, before granian takes signals."""

    def __init__(self, application: WSGIApplication, body_limit: int) -> None:
        self._application = application
        self._body_limit = body_limit
        self._lock = threading.Lock()
        self._answering = 0
        self._last_answer = 0.0
        # A terminal sends its SIGINT to every process of ours, and a worker may hang when a second
        # signal follows the first. It is told to stop by its parent's SIGTERM alone.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        told, tell = socket.socketpair()
        tell.setblocking(False)
        signal.set_wakeup_fd(tell.detach(), warn_on_full_buffer=False)
        threading.Thread(target=self._leave, args=(told, os.getppid()), daemon=True).start()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer as the application does, with the whole body at hand; close if too long."""
        kept, received, whole = _read(environ, self._body_limit)
        environ["wsgi.input"] = BytesIO(kept)
        environ["CONTENT_LENGTH"] = str(received)
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        with self._in_flight():
            status, headers, content = _answer(self._application, environ)
        start_response(status, headers if whole else [*headers, ("Connection", "close")])
        return [content]

    @contextlib.contextmanager
    def _in_flight(self) -> Generator[None]:
        with self._lock:
            self._answering += 1
        try:
            yield
        finally:
            with self._lock:
                self._answering -= 1
                self._last_answer = time.monotonic()

    def _leave(self, told: socket.socket, parent: int) -> None:
        """Once told to stop (or orphaned), end the process as soon as no reply is in flight.

        granian ends by itself when every connection is done; but it would wait for a client that never
        finishes its body.
        """
        while not select.select([told], [], [], 1.0)[0] and os.getppid() == parent:
            pass
        began = time.monotonic()
        while time.monotonic() < began + GRACE:
            time.sleep(0.05)
            if not self._answering and time.monotonic() > max(began, self._last_answer) + SENDING:
                break
        os._exit(0)


def _answer(
    application: WSGIApplication, environ: WSGIEnvironment
) -> tuple[str, list[tuple[str, str]], bytes]:
    started: list[Any] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _exc_info: Any = None
    ) -> Callable[[bytes], object]:
        started[:] = status, headers
        return written.append

    written: list[bytes] = []
    answer = application(environ, start_response)
    try:
        written += answer
    finally:
        if close := getattr(answer, "close", None):
            close()
    return started[0], started[1], b"".join(written)


def _read(environ: WSGIEnvironment, body_limit: int) -> tuple[bytes, int, bool]:
    """Read the body: what is kept of it (all that the application would take), its length, did it end."""
    announced = int(environ.get("CONTENT_LENGTH") or -1)
    if announced > UNREADABLE:
        return b"", announced, False
    kept: list[bytes] = []
    received = 0
    while received != announced and received <= UNREADABLE:
        piece = environ["wsgi.input"].read(PIECE)
        if not piece:
            return b"".join(kept), received, announced < 0
        if received <= body_limit:
            kept.append(piece)
        received += len(piece)
    return b"".join(kept), received, received == announced


def _when_it_answers(host: str, port: int, ready: Callable[[], None], tries: int = 600) -> None:
    for _ in range(tries):
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            ready()
            return
