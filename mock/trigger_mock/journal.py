"""The journal: every call to the endpoint, kept as it came and as it was answered, the oldest let go first.

A ring with a bound on calls and one on bytes, so that memory is flat however long a server runs. What is
written down is what costs nothing to write; what a call fired and what was not read follow from its request,
and are worked out for whoever asks. Credentials are never written down. Knows nothing of HTTP.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trigger_mock.credentials import Caller

#: Calls that are kept unless said otherwise.
SIZE = 1000
#: Bytes of requests and answers that are kept, however few calls that is: the last call always is.
MOST_BYTES = 32 * 2**20
#: Seconds after which whoever waits looks whether it still should.
TURN = 0.25

Header = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Call:
    """One call. `number` counts from 1 in its journal and is given when it is written down.

    `time`: seconds since 1970, on the bench's clock. `caller`: None when the credentials were refused.
    `request`: the body's bytes (empty when it was too large to be read). `headers`: those of the request,
    without credentials. `seconds`: how long the answer took, simulated latency and delays included. `missed`:
    what unread fields would have recalled, a sentence a field. `fault`: what was done to the answer on
    purpose, if anything.
    """

    number: int = 0
    time: float
    method: str
    path: str
    headers: tuple[Header, ...]
    caller: Caller | None
    request: bytes
    status: int
    answer_headers: tuple[Header, ...]
    answer: bytes
    seconds: float
    missed: tuple[str, ...] = ()
    fault: str | None = None

    @property
    def weight(self) -> int:
        """Bytes that it holds on to, about."""
        return len(self.request) + len(self.answer)


class Journal:
    """The last calls of a bench, at most `size` of them (0: none is written down)."""

    def __init__(self, size: int = SIZE, most_bytes: int = MOST_BYTES) -> None:
        self.size = size
        self._most_bytes = most_bytes
        self._calls: deque[Call] = deque()
        self._bytes = 0
        self._recorded = 0
        self._waiting = 0
        self._changed = Condition()

    def __iter__(self) -> Iterator[Call]:
        """What is kept now, oldest first."""
        with self._changed:
            return iter(list(self._calls))

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def recorded(self) -> int:
        """How many calls were ever written down."""
        return self._recorded

    def record(self, call: Call) -> None:
        """Write a call down: O(1), one short lock."""
        if not self.size:
            return
        with self._changed:
            self._recorded += 1
            call.number = self._recorded
            self._calls.append(call)
            self._bytes += call.weight
            while len(self._calls) > self.size or (self._bytes > self._most_bytes and len(self._calls) > 1):
                self._bytes -= self._calls.popleft().weight
            if self._waiting:
                self._changed.notify_all()

    def find(self, number: int) -> Call | None:
        """The call of this number, unless it was let go."""
        return next((call for call in self if call.number == number), None)

    def clear(self) -> None:
        """Forget all calls; numbers go on."""
        with self._changed:
            self._calls.clear()
            self._bytes = 0

    def wait(
        self,
        matches: Callable[[Call], bool],
        count: int,
        timeout: float,
        ended: Callable[[], bool] = lambda: False,
    ) -> list[Call]:
        """Return the calls that match, as soon as there are `count` of them, or after `timeout` seconds, or
        when `ended` says that nobody waits any more.

        Each call is looked at once, and outside the lock: waiting slows no call down.
        """
        deadline = time.monotonic() + timeout
        found: list[Call] = []
        last = 0
        while len(found) < count:
            with self._changed:
                self._waiting += 1
                try:
                    while self._newest <= last and (left := deadline - time.monotonic()) > 0 and not ended():
                        self._changed.wait(min(left, TURN))
                finally:
                    self._waiting -= 1
                fresh = [call for call in self._calls if call.number > last]
            last = fresh[-1].number if fresh else last
            found += filter(matches, fresh)
            if time.monotonic() >= deadline or ended():
                break
        return found

    @property
    def _newest(self) -> int:
        return self._calls[-1].number if self._calls else 0
