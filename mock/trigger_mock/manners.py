"""How a connection of waitress is broken on purpose, an answer dripped, and a call held up: what the
application asks of a `Connection`, carried out at the socket.

All of it happens in the thread of the call; the event loop does not look at a connection that it serves.
Attributes declared as `Any` are waitress's own.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from trigger_mock.connection import LONGEST, Broken, Dripped

#: Seconds after which a call that waits looks again whether it still has to.
TURN = 0.1
_CLIENT_GONE: int = getattr(select, "POLLRDHUP", select.POLLHUP)


class MannersTask(WSGITask):
    """The application's answer to one request, sent in the manner that it asked for; the `Connection` under
    it.
    """

    channel: Any
    manner: Broken | Dripped | None = None

    @property
    def dismissed(self) -> bool:
        """Whether the server is stopping."""
        return bool(self.channel.dismissed)

    def wait(self, seconds: float, ended: Callable[[], bool], *, for_client: bool = False) -> None:
        """Let time pass, as `Connection` says."""
        self.channel.wait(seconds, ended, for_client=for_client)

    def write(self, data: bytes) -> None:
        """Send a piece of the answer, in the manner that the application asked for."""
        manner = self.manner
        if manner is None:
            super().write(data)
        elif isinstance(manner, Dripped):
            self._drip(data, manner)
        elif not self.close_on_finish:
            self._break(data, manner)

    def _drip(self, data: bytes, manner: Dripped) -> None:
        super().write(b"")  # the head
        self.channel.send_now()
        until = time.monotonic() + LONGEST
        at = 0
        with self.channel.server.borrow():
            while at < len(data):
                left = until - time.monotonic()
                last = left <= 0 or manner.ended() or self.channel.dismissed
                piece = data[at:] if last else data[at : at + manner.size]
                super().write(piece)
                self.channel.send_now()
                at += len(piece)
                if at < len(data):
                    self.wait(min(manner.interval, left), manner.ended)

    def _break(self, data: bytes, manner: Broken) -> None:
        if manner.after is None:
            self.wrote_header = True  # nor is anything else said in its place
        else:
            super().write(b"")
            super().write(data[: manner.after])
        self.content_bytes_written = self.content_length or 0  # there is no more to come
        self.close_on_finish = True
        self.channel.send_now()
        if manner.reset:
            self.channel.reset()


class HeldChannel(HTTPChannel):
    """A connection that a call can be held up on. `dismissed`: whether the server is going."""

    server: Any
    socket: Any
    _flush_exception: Any
    _flush_some: Any
    dismissed = False

    def wait(self, seconds: float, ended: Callable[[], bool], *, for_client: bool) -> None:
        """Let time pass within a call, as `Connection` says; the loop looks away from the socket then."""
        until = time.monotonic() + seconds
        while self.connected and not self.dismissed and not ended():
            left = until - time.monotonic()
            if left <= 0 or self._changes(_CLIENT_GONE if for_client else 0, min(left, TURN)):
                return

    def send_now(self) -> None:
        """Send, from within a call, all that was written: the loop waits for the call's end otherwise."""
        until = time.monotonic() + LONGEST
        while self.connected and time.monotonic() < until:
            with self.outbuf_lock:
                _, failed = self._flush_exception(self._flush_some, do_close=False)
            if failed or not self.total_outbufs_len or self._changes(select.POLLOUT, TURN) & select.POLLERR:
                return

    def reset(self) -> None:
        """Close, from within a call, by a reset."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.will_close = True
        self.server.pull_trigger()

    def _changes(self, of_interest: int, seconds: float) -> int:
        """What the socket tells within this time; that it failed, in any case."""
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError):  # closed under our hands
            poll.register(self.socket, of_interest)
            for _, changes in poll.poll(math.ceil(seconds * 1000)):
                return changes
            return 0
        return select.POLLERR
