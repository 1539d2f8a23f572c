"""How often a key may call: a rate and a daily cap, each a fixed window that opens with its first request.

Contract: the 429 ('Rate-limit or daily-cap exceeded') and its headers (defect D5). The count, the decision and the headers of
one request come from one atomic step, so that they agree however many threads or processes share a key. In one process the
windows are our own, on an injected clock; when several share them they live in Redis, through the `limits` library (whose
in-memory windows have no clock to inject, and tell remaining and reset in a second, separate call).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from trigger_fixtures import Rate
from trigger_mock.credentials import Caller
from trigger_mock.refusals import RateLimited

if TYPE_CHECKING:
    from limits.storage import RedisStorage

DAY = 86_400
#: What a key may do when neither its fixtures nor an option says: enough for any client, little enough to exhaust in a test.
DEFAULT_RATE = Rate(1200, 10)
UNLIMITED = "none"


class Count(NamedTuple):
    """A window after a request: how many it has seen, and in how many seconds it closes."""

    seen: int
    reset: float


class Counters(Protocol):
    """Where windows are counted."""

    def count(self, name: str, seconds: int) -> Count:
        """Count one request in the window `name`, opening it for `seconds` when it is closed."""
        ...


class MemoryCounters:
    """Windows of this process, on the clock that it is given."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: dict[str, tuple[float, int]] = {}
        self._lock = Lock()

    def count(self, name: str, seconds: int) -> Count:
        """Count one request: O(1), one short lock."""
        with self._lock:
            now = self._clock()
            closes, seen = self._windows.get(name, (now, 0))
            if now >= closes:
                closes, seen = now + seconds, 0
            self._windows[name] = closes, seen + 1
        return Count(seen + 1, closes - now)


class RedisCounters:
    """Windows that several processes share. `uri` is `redis://…` as the `limits` library reads it."""

    def __init__(self, uri: str) -> None:
        # Imported here: most servers count in memory, and redis is an extra.
        from limits.storage import RedisStorage

        self._storage: RedisStorage = RedisStorage(uri, key_prefix="trigger-mock")
        if not self._storage.check():
            raise ConnectionError(f"no Redis answers at {uri.rpartition('@')[2]}")

    def count(self, name: str, seconds: int) -> Count:
        """Count one request in one atomic script of the storage."""
        seen = self._storage.incr(name, seconds)
        # `get_expiry` rounds to whole seconds, and a client that waited half a second too little would be refused again.
        left = self._storage.get_connection(True).pttl(self._storage.prefixed_key(name))
        return Count(seen, max(0, int(left)) / 1000)


def counters(uri: str, clock: Callable[[], float] = time.monotonic) -> Counters:
    """Make the counters that a storage address names: `memory://` or `redis://host:port/db`.

    Raises `ValueError` for another scheme, `ConnectionError` when no Redis answers, `ImportError` without the extra.
    """
    if uri == "memory://":
        return MemoryCounters(clock)
    if uri.startswith(("redis://", "rediss://")):
        try:
            return RedisCounters(uri)
        except ImportError:
            raise
        except Exception as error:
            raise ConnectionError(
                f"no Redis answers at {uri.rpartition('@')[2]}: {type(error).__name__}"
            ) from None
    raise ValueError(f"{uri!r} is no place to count; expected memory:// or redis://host:port/db")


class Quota(NamedTuple):
    """What the `RateLimit-*` headers say: the window that binds first."""

    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The three headers; `RateLimit-Reset` in delta seconds, rounded up so that waiting it out is enough."""
        return [
            ("RateLimit-Limit", str(self.limit)),
            ("RateLimit-Remaining", str(self.remaining)),
            ("RateLimit-Reset", str(self.reset)),
        ]


class Overrides(NamedTuple):
    """What the command line says in place of the fixtures: a limit, `"none"` to lift it, None to leave it to them."""

    rate_limit: Rate | str | None = None
    daily_cap: int | str | None = None


class Limiter:
    """Spends requests of keys. `overrides` win over fixtures; in fixtures a key's own limit wins over its organisation's."""

    def __init__(self, counters: Counters, overrides: Overrides = Overrides()) -> None:
        self._counters = counters
        self._overrides = overrides
        self._windows: dict[str, list[tuple[str, str, Rate]]] = {}

    def spend(self, caller: Caller) -> tuple[Quota | None, RateLimited | None]:
        """Count one request of this caller; return what its headers say, and the refusal when it came too often.

        Both windows are counted whether or not the other refuses, so that a refusal knows of both and its `Retry-After`
        is true: a request that waits so long gets through. None for the quota when nothing limits the key.
        """
        tightest: Quota | None = None
        exceeded: tuple[str, int] | None = None
        longest_wait = 0
        for what, name, (amount, seconds) in self._windows_of(caller):
            seen, left = self._counters.count(name, seconds)
            quota = Quota(amount, max(0, amount - seen), max(1, math.ceil(left)))
            if (
                tightest is None
                or quota.remaining < tightest.remaining
                or (quota.remaining == tightest.remaining == 0 and quota.reset > tightest.reset)
            ):
                tightest = quota
            if quota.remaining == 0:
                longest_wait = max(longest_wait, quota.reset)
            if seen > amount and (exceeded is None or quota.reset > exceeded[1]):
                exceeded = what, quota.reset
        return tightest, RateLimited(exceeded[0], longest_wait) if exceeded else None

    def _windows_of(self, caller: Caller) -> list[tuple[str, str, Rate]]:
        known = self._windows.get(caller.key.key)
        if known is None:
            known = self._windows[caller.key.key] = list(self._limits_of(caller))
        return known

    def _limits_of(self, caller: Caller) -> list[tuple[str, str, Rate]]:
        key, organisation = caller.key, caller.organisation
        rate = self._overrides.rate_limit or key.rate_limit or organisation.rate_limit or DEFAULT_RATE
        cap = self._overrides.daily_cap or key.daily_cap or organisation.daily_cap or UNLIMITED
        # Named by place, not by key: a name goes to the storage, and a key never does.
        place = f"{organisation.name}/{organisation.keys.index(key)}"
        windows: list[tuple[str, str, Rate]] = []
        if isinstance(rate, Rate):
            windows.append(("Rate limit", f"rate/{place}", rate))
        if isinstance(cap, int):
            windows.append(("Daily cap", f"day/{place}", Rate(cap, DAY)))
        return windows
