"""What the application may ask of the connection under a request, apart from an answer: to break it, to send
the answer in drops, or to be told when nobody waits for it any more.

Our own server offers it in the request's environment, and `trigger_mock.wire` carries it out at the socket.
Other servers and test clients have none of it. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

#: Seconds that a call is held up at most, whatever was asked for.
LONGEST = 60.0
#: Where the request's environment holds its `Connection`.
CONNECTION = "trigger_mock.connection"
#: Where it holds what a thread enters before it waits: another one does its work for as long.
BORROW = "trigger_mock.borrow"


@dataclass(frozen=True, slots=True)
class Broken:
    """The connection ends behind so many bytes of the answer's body; None: before the answer's first byte.

    `reset`: by a reset in place of an orderly end.
    """

    after: int | None
    reset: bool


@dataclass(frozen=True, slots=True)
class Dripped:
    """The answer's body arrives in pieces of so many bytes, so many seconds apart."""

    size: int
    interval: float
    ended: Callable[[], bool]


class Connection(Protocol):
    """The connection under one request. `manner`: how its answer is sent, unless simply."""

    manner: Broken | Dripped | None

    @property
    def dismissed(self) -> bool:
        """Whether the server is stopping: nothing should be waited for any more."""
        ...

    def wait(self, seconds: float, ended: Callable[[], bool], *, for_client: bool = False) -> None:
        """Let time pass: until it has, `ended` says so, the server stops, or the client is gone.

        `for_client`: a client that has closed its half counts as gone; it may only have said all it had to.
        """
        ...


def connection_of(environ: WSGIEnvironment) -> Connection | None:
    """The connection under this request, where the server lets it be asked."""
    return cast("Connection | None", environ.get(CONNECTION))


def borrowed(environ: WSGIEnvironment) -> AbstractContextManager[None]:
    """What to be in while waiting, so that other requests find a thread."""
    borrow: Callable[[], AbstractContextManager[None]] = environ.get(BORROW, nullcontext)
    return borrow()
