"""Which triggers almost fired: but for case, blanks or slashes, as a path's tail, one edit away, or in part.

Recall is exact, so a trigger one letter off is silent; a client cannot see it, whoever knows the rows can.
Bounded for any store and request: identifiers beyond the first thousands of characters are not compared, and
no step looks at each pair. Knows nothing of scope: what a caller may be told of is chosen by who calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

#: In the order of nearness.
KINDS = {
    "case": "differs in case only",
    "blanks": "differs in blanks only",
    "case and blanks": "differs in case and blanks only",
    "slashes": "differs in slashes only",
    "path tail": "is another tail of the same path",
    "one edit": "is one letter away",
    "substring": "is a part of it",
    "superstring": "holds it as a part",
}
_Key: TypeAlias = Callable[[str], str]
_NEARNESS = {kind: place for place, kind in enumerate(KINDS)}
#: How many identifiers, and characters of them, are compared.
MOST_COMPARED = 500
MOST_CHARACTERS = 8192
#: Shorter words are near to everything.
SHORTEST_PART = 3
#: How many identifiers are looked for within triggers, one by one.
MOST_PARTS = 20
SHORTEST_EDITED = 4
LONGEST_EDITED = 64
MOST_SEGMENTS = 32


class NearMiss(NamedTuple):
    """What was fired, the trigger that it nearly is, and in which way."""

    kind: str
    fired: str
    trigger: str


def near_misses(fired: Iterable[str], triggers: Collection[str]) -> list[NearMiss]:
    """One near miss a trigger, the nearest first; triggers that did fire are not among them."""
    compared = list(_compared(fired))
    known = set(compared)
    near = _Near(compared)
    best: dict[str, NearMiss] = {}
    for trigger in triggers:
        if trigger not in known:
            found = near.to(trigger)
            if found is not None:
                best[trigger] = NearMiss(*found, trigger)
    parts = (whole for whole in compared if len(whole) >= SHORTEST_PART and near.is_part(whole, triggers))
    for whole in islice(parts, MOST_PARTS):
        for trigger in triggers:
            if whole in trigger and trigger not in known and trigger not in best:
                best[trigger] = NearMiss("superstring", whole, trigger)
    return sorted(best.values(), key=_nearness)


def _compared(fired: Iterable[str]) -> Iterator[str]:
    characters = 0
    for count, identifier in enumerate(fired):
        characters += len(identifier)
        if count >= MOST_COMPARED or characters > MOST_CHARACTERS:
            return
        yield identifier


def _nearness(miss: NearMiss) -> tuple[int, float, str]:
    shorter, longer = sorted((len(miss.fired), len(miss.trigger)))
    return _NEARNESS[miss.kind], -shorter / max(longer, 1), miss.trigger


class _Near:
    """The identifiers fired, prepared so that one trigger is compared with all of them at once."""

    def __init__(self, fired: list[str]) -> None:
        self._fired = fired
        self._text = "\n".join(fired)
        self._triggers: str | None = None
        self._folded = _first(fired, str.casefold)
        self._unspaced = _first(fired, _without_blanks)
        self._both = _first(fired, lambda text: _without_blanks(text.casefold()))
        self._slashed = _first(fired, _slashed)
        self._tails: dict[str, str] = {}
        self._edited: defaultdict[str, list[str]] = defaultdict(list)
        for identifier in fired:
            for tail in _tails(_slashed(identifier)):
                self._tails.setdefault(tail, identifier)
            for variant in _with_one_letter_less(identifier):
                self._edited[variant].append(identifier)

    def to(self, trigger: str) -> tuple[str, str] | None:
        """In which way the trigger is near, and to what."""
        for kind, known, key in (
            ("case", self._folded, trigger.casefold()),
            ("blanks", self._unspaced, _without_blanks(trigger)),
            ("case and blanks", self._both, _without_blanks(trigger.casefold())),
            ("slashes", self._slashed, _slashed(trigger)),
            ("path tail", self._tails, _slashed(trigger)),
        ):
            if key in known and key:
                return kind, known[key]
        for tail in _tails(_slashed(trigger)):
            if tail in self._slashed:
                return "path tail", self._slashed[tail]
        for variant in _with_one_letter_less(trigger):
            for identifier in self._edited.get(variant, ()):
                if _is_one_edit(identifier, trigger):
                    return "one edit", identifier
        if len(trigger) >= SHORTEST_PART and trigger in self._text:
            holders = [identifier for identifier in self._fired if trigger in identifier]
            if holders:
                return "substring", min(holders, key=len)
        return None

    def is_part(self, identifier: str, triggers: Collection[str]) -> bool:
        """Whether a trigger holds the identifier."""
        if self._triggers is None:
            self._triggers = "\n".join(triggers)
        return identifier in self._triggers


def _first(fired: list[str], key: _Key) -> dict[str, str]:
    found: dict[str, str] = {}
    for identifier in fired:
        found.setdefault(key(identifier), identifier)
    return found


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _slashed(text: str) -> str:
    return text.replace("\\", "/")


def _tails(path: str) -> Iterator[str]:
    at = 0
    for _ in range(MOST_SEGMENTS):
        at = path.find("/", at) + 1
        if not at:
            return
        if path[at:]:
            yield path[at:]


def _with_one_letter_less(word: str) -> Iterator[str]:
    """The word and all that one deletion makes of it: words one edit apart have one in common."""
    if SHORTEST_EDITED <= len(word) <= LONGEST_EDITED:
        yield word
        for at in range(len(word)):
            yield word[:at] + word[at + 1 :]


def _is_one_edit(one: str, other: str) -> bool:
    """Whether one letter more, less, other, or two changed about make the one of the other."""
    shorter, longer = sorted((one, other), key=len)
    start = 0
    while start < len(shorter) and shorter[start] == longer[start]:
        start += 1
    end = 0
    while end < len(shorter) - start and shorter[-1 - end] == longer[-1 - end]:
        end += 1
    rest, others = shorter[start : len(shorter) - end], longer[start : len(longer) - end]
    return len(others) <= 1 or (len(others) == 2 and rest == others[::-1])
