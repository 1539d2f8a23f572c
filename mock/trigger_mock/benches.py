"""The benches of a server: worlds of their own that share its address. A key belongs to one of them, and
using it is all that a client needs to be in it.

The bench `default` answers from the fixtures that the server was started with and stays as long as it does;
others are made at run time, own their organisations, keys, rows, limits, clock and journal, and go when
nobody has used them for a while. Knows nothing of HTTP.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import TYPE_CHECKING

from trigger_fixtures import ApiKey, Corpus, Organisation
from trigger_mock.clock import Clock
from trigger_mock.credentials import Caller, Keyring
from trigger_mock.faults import Faults
from trigger_mock.journal import Journal
from trigger_mock.limits import Counters, Limiter, MemoryCounters, Overrides
from trigger_mock.store import Store

if TYPE_CHECKING:
    from trigger_mock.reloading import Reloading

DEFAULT = "default"
#: Seconds without use after which a bench is gone, unless it is made with another number.
LIFETIME = 600.0
#: Benches at one time, so that a test run that never closes one cannot fill the memory.
MOST = 1000


class UnknownBench(LookupError):
    """No bench of this name: it was never made, was closed, or expired."""


class BenchConflict(Exception):
    """The name or a key is taken, or there are as many benches as there may be."""


@dataclass(slots=True, kw_only=True)
class Bench:
    """One world. `lifetime`: seconds without use after which it is gone; None: never. `fault_header`: whether
    its requests may ask for a fault by themselves.
    """

    name: str
    store: Store
    clock: Clock
    limiter: Limiter
    journal: Journal
    faults: Faults = field(default_factory=Faults)
    fault_header: bool = False
    lifetime: float | None = None
    used: float = 0.0

    def expired(self, now: float) -> bool:
        """Whether nobody has used it for too long."""
        return self.lifetime is not None and now - self.used > self.lifetime

    @property
    def faulty(self) -> bool:
        """Whether calls may meet a fault at all."""
        return bool(self.faults.rules) or self.fault_header


class Benches:
    """All benches of a server. `clock` (seconds, monotonic) is what they expire by."""

    def __init__(
        self,
        corpus: Corpus,
        *,
        counting: Counters | None = None,
        limits: Overrides | None = None,
        clock: Callable[[], float] = time.monotonic,
        journal: int = 0,
        allow_token_scheme: bool = False,
        fault_header: bool = False,
    ) -> None:
        self._clock = clock
        self._lock = RLock()
        self._keyring = Keyring(allow_token_scheme=allow_token_scheme)
        own = Clock(clock)
        self.default = Bench(
            name=DEFAULT,
            store=Store(corpus),
            clock=own,
            limiter=Limiter(counting or MemoryCounters(own), limits),
            journal=Journal(journal),
            fault_header=fault_header,
        )
        #: What keeps the default bench at its files, where anything does.
        self.reloading: Reloading | None = None
        self._benches = {DEFAULT: self.default}
        self._keyring.admit(self.default, corpus.organisations.values())

    def __iter__(self) -> Iterator[Bench]:
        """Those that live, the default one first, then by age."""
        with self._lock:
            self._let_go()
            return iter(list(self._benches.values()))

    def caller(self, api_key: str | None, authorization: str | None) -> Caller:
        """Return who sent these two headers, and so whose bench is meant. Raises `Unauthorized`."""
        caller = self._keyring.caller(api_key, authorization)
        bench = caller.bench
        if bench.lifetime is not None:
            now = self._clock()
            if bench.expired(now):
                self.close(bench.name)
                return self._keyring.caller(api_key, authorization)  # refuses as it does any unknown key
            bench.used = now
        return caller

    def named(self, name: str) -> Bench:
        """The bench of this name, which counts as used. Raises `UnknownBench`."""
        with self._lock:
            self._let_go()
            bench = self._found(name)
            bench.used = self._clock()
            return bench

    def open(
        self,
        corpus: Corpus,
        *,
        name: str | None = None,
        lifetime: float = LIFETIME,
        journal: int | None = None,
        fault_header: bool = False,
    ) -> Bench:
        """Make a bench that answers from these fixtures. Its keys are new ones, the limits of the fixtures'
        keys kept.

        Raises `BenchConflict`.
        """
        corpus = replace(
            corpus, organisations={each.name: _with_new_keys(each) for each in corpus.organisations.values()}
        )
        with self._lock:
            self._let_go()
            name = name or f"bench-{secrets.token_hex(4)}"
            if name in self._benches:
                raise BenchConflict(f"the bench {name!r} is there already; close it, or take another name")
            if len(self._benches) >= MOST:
                raise BenchConflict(f"there are {MOST} benches, as many as there may be; close some")
            clock = Clock(self._clock)
            bench = Bench(
                name=name,
                store=Store(corpus),
                clock=clock,
                limiter=Limiter(MemoryCounters(clock)),
                journal=Journal(self.default.journal.size if journal is None else journal),
                fault_header=fault_header,
                lifetime=lifetime,
                used=self._clock(),
            )
            self._keyring.admit(bench, corpus.organisations.values())
            self._benches[name] = bench
            return bench

    def close(self, name: str) -> None:
        """End a bench: its keys are unknown from here on. Raises `UnknownBench`; `ValueError` for the default
        one.
        """
        with self._lock:
            if name == DEFAULT:
                raise ValueError("the bench 'default' lives as long as its server")
            bench = self._found(name)
            del self._benches[name]
            self._keyring.dismiss(bench)
            bench.faults.clear()

    def reset(self, bench: Bench) -> None:
        """Begin a bench anew: its rows and keys as at its start, no calls, no faults, no counted requests, a
        clock that runs.
        """
        with self._lock:
            self.replace(bench, bench.store.origin)
            bench.limiter.forget()
            bench.clock.reset()
            bench.journal.clear()
            bench.faults.clear()

    def replace(self, bench: Bench, corpus: Corpus) -> None:
        """Answer from other fixtures, until the next reset. Raises `KeyTaken` and changes nothing.

        Keys that are gone are unknown at once, and new ones lead to the new rows.
        """
        self._change(bench, corpus, bench.store.replace)

    def rebase(self, bench: Bench, corpus: Corpus) -> None:
        """Answer from the files' new state, and return to it by a reset; rows that were added at run time
        stay. Raises `KeyTaken` and changes nothing.
        """
        self._change(bench, corpus, bench.store.rebase)

    def _change(self, bench: Bench, corpus: Corpus, put: Callable[[Corpus], None]) -> None:
        with self._lock:
            self._keyring.require_free(bench, corpus.organisations.values())
            # Rows before keys: a new key never meets an organisation that has none yet.
            put(corpus)
            self._keyring.admit(bench, corpus.organisations.values())
            bench.limiter.reread()

    def _found(self, name: str) -> Bench:
        try:
            return self._benches[name]
        except KeyError:
            raise UnknownBench(
                f"there is no bench {name!r}: it was never made, was closed, or expired"
            ) from None

    def _let_go(self) -> None:
        now = self._clock()
        for bench in list(self._benches.values()):
            if bench.expired(now):
                self.close(bench.name)


def _with_new_keys(organisation: Organisation) -> Organisation:
    keys = organisation.keys or (ApiKey(key=""),)
    return replace(
        organisation,
        keys=tuple(replace(key, key=f"xtk_bench_{secrets.token_urlsafe(18)}") for key in keys),
    )
