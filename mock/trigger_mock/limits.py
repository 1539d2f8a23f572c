"""How often a key may call: a rate and a daily cap, each a fixed window that opens with its first request.

Contract: the 429 ('Rate-limit or daily-cap exceeded') and its headers (defect D5). The decision and the
headers of one request come from the same counts, so that they agree however many threads or processes share
a key. In one process the windows are our own, on an injected clock; when several share them they live in
Redis, through the `limits` library (whose in-memory windows have no clock to inject, and tell what remains in
a second call).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from trigger_fixtures import Organisation, Rate
from trigger_mock.credentials import Caller
from trigger_mock.refusals import RateLimited

if TYPE_CHECKING:
    from limits.storage import RedisStorage

DAY = 86_400
#: What a key may do when neither fixtures nor an option says: enough for any client, easy to spend in a test.
DEFAULT_RATE = Rate(1200, 10)
UNLIMITED = "none"
#: Seconds after which a Redis that does not answer has failed: a client waits for an answer, not for Redis.
REDIS_PATIENCE = 1.0


class Count(NamedTuple):
    """A window: how many requests it has seen, and after how many whole seconds it is closed for sure."""

    seen: int
    reset: int


class Counters(Protocol):
    """Where windows are counted."""

    def count(self, name: str, seconds: int) -> Count:
        """Count one request in the window `name`, opening it for `seconds` when it is closed."""
        ...

    def peek(self, name: str) -> Count:
        """Look at the window `name` without counting; one that is closed has seen nothing."""
        ...

    def clear(self, names: Iterable[str]) -> None:
        """Close these windows, as if nothing had been counted in them."""
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
        return Count(seen + 1, _until(closes, now))

    def peek(self, name: str) -> Count:
        """Look at a window."""
        with self._lock:
            now = self._clock()
            closes, seen = self._windows.get(name, (now, 0))
        return Count(seen, _until(closes, now)) if now < closes else Count(0, 0)

    def clear(self, names: Iterable[str]) -> None:
        """Close windows."""
        with self._lock:
            for name in names:
                self._windows.pop(name, None)


def _until(closes: float, now: float) -> int:
    seconds = math.ceil(closes - now)
    # The difference of two floats is rounded, and a client that waits exactly so long must get through.
    return seconds if now + seconds >= closes else seconds + 1


class RedisCounters:
    """Windows that several processes share. `uri` is `redis://…` as the `limits` library reads it."""

    def __init__(self, uri: str) -> None:
        # Imported here: most servers count in memory, and redis is an extra.
        from limits.storage import RedisStorage
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        options: dict[str, Any] = {
            "socket_connect_timeout": REDIS_PATIENCE,
            "socket_timeout": REDIS_PATIENCE,
            "retry": Retry(NoBackoff(), 1),  # once: a pooled connection may be older than the server
        }
        self._storage: RedisStorage = RedisStorage(uri, key_prefix="trigger-mock", **options)
        self._redis: Any = self._storage.get_connection()
        self._redis.ping()

    def count(self, name: str, seconds: int) -> Count:
        """Count one request by one atomic script of the storage."""
        return Count(self._storage.incr(name, seconds), self._reset(name))

    def peek(self, name: str) -> Count:
        """Look at a window."""
        return Count(self._storage.get(name), self._reset(name))

    def clear(self, names: Iterable[str]) -> None:
        """Close windows, for all who share them."""
        for name in names:
            self._storage.clear(name)

    def _reset(self, name: str) -> int:
        # The storage tells expiry in whole seconds, rounded; half a second too little would be refused again.
        left = int(self._redis.pttl(self._storage.prefixed_key(name)))
        return math.ceil(max(0, left) / 1000)


def counters(uri: str, clock: Callable[[], float] = time.monotonic) -> Counters:
    """Make the counters that a storage address names: `memory://` or `redis://host:port/db`.

    Raises `ValueError` for another scheme, `ConnectionError` when no Redis answers, `ImportError` without the
    extra. No message carries the password that an address may hold.
    """
    if uri == "memory://":
        return MemoryCounters(clock)
    shown = _without_password(uri)
    if not uri.startswith(("redis://", "rediss://")):
        raise ValueError(f"{shown!r} is no place to count; expected memory:// or redis://host:port/db")
    from redis.exceptions import RedisError

    try:
        return RedisCounters(uri)
    except ValueError:
        raise ValueError(f"{shown!r} is no address of a Redis; expected redis://host:port/db") from None
    except (RedisError, OSError) as error:
        raise ConnectionError(f"no Redis answers at {shown}: {type(error).__name__}") from None


def _without_password(uri: str) -> str:
    scheme, separator, rest = uri.partition("?")[0].rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


class Quota(NamedTuple):
    """What the `RateLimit-*` headers say: the window that binds first."""

    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The three headers; `RateLimit-Reset` in delta seconds, so that waiting it out is enough."""
        return [
            ("RateLimit-Limit", str(self.limit)),
            ("RateLimit-Remaining", str(self.remaining)),
            ("RateLimit-Reset", str(self.reset)),
        ]


class Overrides(NamedTuple):
    """What the command line says in place of the fixtures: a limit, `"none"` to lift it, None to leave it."""

    rate_limit: Rate | str | None = None
    daily_cap: int | str | None = None


class _Window(NamedTuple):
    what: str
    name: str
    amount: int
    seconds: int


class Limiter:
    """Spends requests of keys.

    `overrides` win over fixtures; in fixtures a key's own limit wins over its organisation's.
    """

    def __init__(self, counters: Counters, overrides: Overrides | None = None) -> None:
        self._counters = counters
        self._overrides = overrides or Overrides()
        self._windows: dict[str, tuple[Organisation, list[_Window]]] = {}
        self._opened: set[str] = set()

    def spend(self, caller: Caller) -> tuple[Quota | None, RateLimited | None]:
        """Count one request of this caller; return what its headers say, and the refusal if it came too soon.

        A request that one window refuses is not counted in those after it (who hammers past a rate does not
        spend the day), but they are looked at: `Retry-After` is the time until all of them let it through.
        None for the quota when nothing limits the key.
        """
        quotas: list[Quota] = []
        refused: str | None = None
        for what, name, amount, seconds in self._windows_of(caller):
            seen, reset = self._counters.count(name, seconds) if not refused else self._counters.peek(name)
            quotas.append(Quota(amount, max(0, amount - seen), max(1, reset)))
            if not refused and seen > amount:
                refused = what
        if not quotas:
            return None, None
        # Of several windows that are spent the one that opens last is the one to wait for.
        tightest = min(quotas, key=lambda quota: (quota.remaining, -quota.reset))
        return tightest, RateLimited(refused, tightest.reset) if refused else None

    def forget(self) -> None:
        """Close all windows that were opened here, and read each key's limits anew."""
        self._counters.clear(list(self._opened))  # those of keys that are gone by now among them
        self._windows = {}

    def reread(self) -> None:
        """Read each key's limits anew, what was counted staying counted."""
        self._windows = {}

    def _windows_of(self, caller: Caller) -> list[_Window]:
        known = self._windows.get(caller.key.key)
        # A request that was on its way while fixtures changed has the organisation of before, and must not
        # leave its limits behind for those after it.
        if known is None or known[0] is not caller.organisation:
            known = self._windows[caller.key.key] = caller.organisation, list(self._limits_of(caller))
            self._opened.update(window.name for window in known[1])
        return known[1]

    def _limits_of(self, caller: Caller) -> Iterator[_Window]:
        key, organisation = caller.key, caller.organisation
        rate = self._overrides.rate_limit or key.rate_limit or organisation.rate_limit or DEFAULT_RATE
        cap = self._overrides.daily_cap or key.daily_cap or organisation.daily_cap or UNLIMITED
        # Named by place, not by key: a name goes to the storage, and a key never does.
        place = caller.place
        if isinstance(rate, Rate):
            # A rate of another period opens a window of its own: what was counted by the hour would bind a
            # rate by the minute for the rest of that hour.
            yield _Window("Rate limit", f"rate/{rate.seconds}/{place}", *rate)
        if isinstance(cap, int):
            yield _Window("Daily cap", f"day/{place}", cap, DAY)
