"""How one connection of waitress is read, refused and closed.

What it adds to waitress: a request that is no HTTP is refused in the endpoint's envelope, a request that
breaks off is refused too, a body past the limit is read to its end and not kept, and a connection that closes
lets the client read its last reply first. What breaks on purpose is `trigger_mock.manners`. Knows nothing
of the endpoint.

Attributes declared as `Any` are waitress's own, where its published types miss or misname them.
"""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any, cast

import orjson
from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ErrorTask
from waitress.utilities import BadRequest

from trigger_mock.connection import BORROW, CONNECTION
from trigger_mock.manners import HeldChannel, MannersTask
from trigger_mock.refusals import code_of, envelope
from trigger_mock.request_id import signature

#: Bytes of one body that stay in memory; more of it waits on disk.
IN_MEMORY = 2**19
#: Bytes of a chunk's extensions, or of the trailer: nobody sends a tenth of it in good faith.
LONGEST_LINE = 2**16
#: Seconds for a client to finish sending and read its last reply before the connection is gone.
LINGER = 1.0

_REASONS = {
    400: "The request is not valid HTTP/1.1.",
    413: "The body is larger than this server reads.",
    431: "The headers are larger than this server reads.",
    500: "The request could not be processed.",
}


class _Body(OverflowableBuffer):
    """A body as it arrives: kept until it passes the limit, only counted from there on."""

    def __init__(self, limit: int) -> None:
        super().__init__(IN_MEMORY)
        self._limit = limit
        self._received = 0

    def __len__(self) -> int:
        return self._received

    def append(self, s: bytes) -> None:
        """Take a piece."""
        if self._received <= self._limit:
            super().append(s)
        self._received += len(s)


class _Parser(HTTPRequestParser):
    """One request as it arrives."""

    adj: Any
    body_rcv: Any
    error: Any

    def parse_header(self, header_plus: bytes) -> None:
        """Read what comes before the body."""
        try:
            super().parse_header(header_plus)
        except ValueError:  # a Content-Length of 5,000 digits; an IPv6 host without its bracket
            raise ParsingError("a number or an address cannot be read") from None
        if self.body_rcv is not None:
            self.body_rcv.buf = _Body(self.adj.inbuf_overflow)

    def received(self, data: bytes) -> int:
        """Take a piece; how many bytes of it belong to this request."""
        consumed = super().received(data)
        body = self.body_rcv
        if (
            isinstance(body, ChunkedReceiver)
            and max(len(body.control_line), len(body.trailer)) > LONGEST_LINE
        ):
            self.refuse()
        return consumed

    def refuse(self) -> None:
        """Give up on this request: it will be answered as no HTTP."""
        self.error = self.error or BadRequest("")
        self.completed = True


class _Task(MannersTask):
    """The application's answer to one request, and the `Connection` under it."""

    request: Any

    def get_environment(self) -> dict[str, Any]:
        """What the application is told, its path as it was sent: waitress folds slashes at its start."""
        environ: dict[str, Any] = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        environ[CONNECTION] = self
        environ[BORROW] = self.channel.server.borrow
        return environ


class _Refusal(ErrorTask):
    """The answer to what cannot be read as HTTP, or to a fault beyond the application."""

    request: Any
    response_headers: Any

    def execute(self) -> None:
        """Write it."""
        # A transfer coding that is not spoken here is the client's fault, not one of ours.
        status = 400 if self.request.error.code == 501 else self.request.error.code
        body = orjson.dumps(envelope(code_of(status), _REASONS.get(status, _REASONS[400])))
        self.status = f"{status} {self.request.error.reason if status != 400 else 'Bad Request'}"
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("X-Request-Id", signature(self.request.headers.get("X_REQUEST_ID", ""))),
        ]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class Channel(HeldChannel):
    """One connection."""

    parser_class = _Parser
    error_task_class = _Refusal
    task_class = _Task
    request: Any
    requests: Any
    requests_lock: Any
    server: Any
    socket: Any
    _flush_exception: Any
    _flush_some_if_lockable: Any
    _lingers_until: float | None = None

    @property
    def busy(self) -> bool:
        """Whether the client still waits for a reply, or may still be reading its last one."""
        return bool(self.requests or self.total_outbufs_len or self._lingers_until)

    def dismiss(self) -> None:
        """The server is going: the replies in flight say so, and an idle connection closes."""
        self.dismissed = True
        for request in list(self.requests):
            request.headers["CONNECTION"] = "close"
        if not self.busy:
            self.will_close = True

    def handle_read(self) -> None:
        """Take what has arrived."""
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        self.last_activity = time.time()
        if data:
            self.received(data)
        else:
            self._sent_all()

    def handle_write(self) -> None:
        """Send what waits; once the last reply is out, close in two steps."""
        if self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some_if_lockable)
            if self.connected and not self.total_outbufs_len and not self.will_close:
                self._linger()
        else:
            super().handle_write()

    def _sent_all(self) -> None:
        """The client sends no more. It may still read: what it began and did not finish draws a refusal."""
        with self.requests_lock:
            unfinished, self.request = self.request, None
            if unfinished is not None:
                unfinished.refuse()
                self.requests.append(unfinished)
                self.server.add_task(self)
                return
        self.handle_close()

    def _linger(self) -> None:
        """Close our half and read on for a while: closing with bytes unread destroys a reply on its way."""
        self.close_when_flushed = False
        self._lingers_until = time.monotonic() + LINGER
        # The loop asks every connection at every turn what it wants; only one that lingers pays for the
        # answer.
        self.__class__ = cast("Any", _Lingering)
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class _Lingering(Channel):
    """A connection whose last reply is out: what still arrives is thrown away until the client is done, or
    a while is over.
    """

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Whether it is time to close."""
        return self._lingers_until is None or time.monotonic() > self._lingers_until

    def handle_write(self) -> None:
        """Close."""
        self.handle_close()

    def received(self, data: bytes) -> bool:  # noqa: ARG002 - nothing of it is looked at
        """Throw a piece away."""
        return True

    def _sent_all(self) -> None:
        self.handle_close()
