"""What a promise is, what can become of one, and the list of them all.

A promise is a function that takes an `Api` and raises when its sentence is broken; its docstring is the
sentence that a client may rely on. One module a chapter holds the functions; this one knows their order,
never their content.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trigger_contracts.exchange import Exchange
    from trigger_contracts.run import Api

Level = Literal["must", "should"]
Need = Literal["rows", "org2", "limit", "compose"]
Cause = Literal["inputs", "unseen", "target", "rate", "budget", "interrupted"]
Check = Callable[["Api"], None]

#: The modules of properties, by chapter, in the order of the printed table.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "AUTH": ("credentials",),
    "VAL": ("fields", "measures", "unreadable", "tolerated"),
    "ERR": ("refusals",),
    "SHAPE": ("shape",),
    "MODE": ("modes",),
    "SCOPE": ("scope", "near_scopes", "organisations", "crowds", "blocks"),
    "MATCH": ("matching", "quiet", "united"),
    "TYPE": ("recall",),
    "ORDER": ("recall",),
    "RATE": ("limits",),
    "HTTP": ("transport",),
    "ROB": ("transport",),
}

#: Judged with what Schemathesis makes of the contract, which takes it a while.
GENERATING = ("VAL-6", "ROB-1")
#: Judged late: what waits for the generated bodies, then what looks at everything that the others sent; the
#: last ones spend the rate limit.
_LATE = ("VAL-6", "HTTP", "RATE-1", "ROB-1", "ROB-2", "SHAPE", "ERR", "RATE-2", "RATE-3")


class Broken(Exception):
    """A promise does not hold; carries the exchange that shows it."""

    def __init__(self, message: str, exchange: Exchange | None = None, *others: Exchange) -> None:
        super().__init__(message)
        self.message = message
        self.exchange = exchange
        self.others = others


class NotExercised(Exception):
    """A promise could not be put to the test; the reason says for want of what."""

    def __init__(self, reason: str, cause: Cause = "unseen") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause: Cause = cause


class Unjudged(NotExercised):
    """The target (or the budget) got in the way: no verdict either way."""

    def __init__(self, reason: str, cause: Cause = "target") -> None:
        super().__init__(reason, cause)


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that a client may rely on."""

    id: str
    level: Level
    needs: tuple[Need, ...]
    pointer: str
    sentence: str
    check: Check

    @property
    def chapter(self) -> str:
        """The part of the table it belongs to: `SCOPE` for `SCOPE-5`."""
        return self.id.rsplit("-", 1)[0]


_registry: dict[str, Promise] = {}


def promise(
    id: str,  # noqa: A002 - the word that the table uses
    *,
    pointer: str,
    needs: tuple[Need, ...] = (),
    level: Level = "must",
) -> Callable[[Check], Check]:
    """Register a property under the id of its promise; the docstring is the sentence."""

    def register(check: Check) -> Check:
        sentence = " ".join((inspect.getdoc(check) or "").split("\n\n")[0].split())
        if not sentence or id in _registry:
            raise ValueError(f"{id}: a promise needs a sentence of its own and an id used once")
        _registry[id] = Promise(id, level, needs, pointer, sentence, check)
        return check

    return register


def catalogue() -> tuple[Promise, ...]:
    """Every promise, in the order of the table."""
    for module in dict.fromkeys(name for names in CHAPTERS.values() for name in names):
        import_module(f"trigger_contracts.{module}")
    chapters = list(CHAPTERS)
    return tuple(
        sorted(_registry.values(), key=lambda p: (chapters.index(p.chapter), int(p.id.rsplit("-", 1)[1])))
    )


def running_order(promises: Iterable[Promise]) -> list[Promise]:
    """The order to judge in: those that look back at the whole run come late, the limit is spent last."""

    def lateness(one: Promise) -> int:
        return next((at for at, name in enumerate(_LATE, 1) if name in (one.id, one.chapter)), 0)

    return sorted(promises, key=lateness)


def select(promises: Iterable[Promise], only: Iterable[str] = (), skip: Iterable[str] = ()) -> list[Promise]:
    """Keep the ids or chapters of `only` (all when empty), less those of `skip`."""
    wanted, unwanted = set(only), set(skip)
    return [
        one
        for one in promises
        if (not wanted or {one.id, one.chapter} & wanted) and not {one.id, one.chapter} & unwanted
    ]


def unknown_names(names: Iterable[str], *, beside: Iterable[str] = ()) -> list[str]:
    """Those of `names` that are neither a promise nor a chapter."""
    known = {one.id for one in catalogue()} | set(CHAPTERS) | set(beside)
    return [name for name in names if name not in known]
