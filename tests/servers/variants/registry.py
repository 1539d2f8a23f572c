"""How a variant is written down: one class that overrides a step, and what that breaks.

`breaks` names the promises any of which catches it; `also` the ones that it breaks as well, in truth.
A suite is right when it accuses at least one of the first and nothing outside both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.servers.behaviour import UNLIMITED, Behaviour, Rate


@dataclass(frozen=True, slots=True)
class Variant:
    """A server to judge."""

    name: str
    story: str
    behaviour: type[Behaviour] = Behaviour
    breaks: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    rate_limit: Rate | None = None

    def make(self, rate_limit: Rate | None = None) -> Behaviour:
        """A fresh server of this kind; the given limit wins over the variant's own."""
        return self.behaviour(rate=rate_limit or self.rate_limit or UNLIMITED)


#: The promises that are judged by comparing the rows of answers: rows that come and go break them too.
SETS = (
    "AUTH-4 VAL-9 SCOPE-2 SCOPE-3 SCOPE-4 SCOPE-7 MATCH-1 MATCH-2 MATCH-4 MATCH-7 "
    "TYPE-2 ORDER-1 MODE-5 MODE-8 ROB-2"
)

wrong: dict[str, Variant] = {}
benign: dict[str, Variant] = {}

Wrap = Callable[[type[Behaviour]], type[Behaviour]]


def breaks(
    *promises: str, name: str, story: str, also: str = "", needs: str = "", rate_limit: Rate | None = None
) -> Wrap:
    """Register the decorated behaviour as wrong; `also` and `needs` are words apart by blanks."""

    def register(behaviour: type[Behaviour]) -> type[Behaviour]:
        if name in wrong or name in benign:
            raise ValueError(f"two variants are called {name!r}")
        wrong[name] = Variant(
            name,
            story,
            behaviour,
            frozenset(promises),
            frozenset(also.split()),
            frozenset(needs.split()),
            rate_limit,
        )
        return behaviour

    return register


def keeps_all(*, name: str, story: str, rate_limit: Rate | None = None, also: str = "") -> Wrap:
    """Register the decorated behaviour as conforming; `also` names the `should`s that may warn of it."""

    def register(behaviour: type[Behaviour]) -> type[Behaviour]:
        if name in wrong or name in benign:
            raise ValueError(f"two variants are called {name!r}")
        benign[name] = Variant(name, story, behaviour, also=frozenset(also.split()), rate_limit=rate_limit)
        return behaviour

    return register
