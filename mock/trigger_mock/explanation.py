"""What an explanation holds: frozen values, and the JSON that they make.

The fields say what `trigger_mock.explain` found; nothing is computed here but the form. Texts of requests and
rows are cut as `trigger_mock.seen` cuts them; a merge patch alone holds whole values: it is to be applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from trigger_mock.advice import Advice
from trigger_mock.fates import Fate
from trigger_mock.seen import shown


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """An identifier fired, the places it was read from, and the ids of the organisation's rows that carry it.

    `elsewhere`: how many rows of other organisations carry it.
    """

    text: str
    places: tuple[str, ...]
    places_left_out: int
    rows: tuple[str, ...]
    rows_count: int
    elsewhere: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "identifier": shown(self.text),
            "from": [shown(place) for place in self.places],
            "from_left_out": self.places_left_out,
            "rows": list(self.rows),
            "rows_count": self.rows_count,
            "rows_of_other_organisations": self.elsewhere,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A field that nothing reads, and what it would have fired where it was probably meant.

    `rows_count`: the rows that it would have recalled under the request's own scope.
    """

    field: str
    meant: str
    identifiers: tuple[str, ...]
    rows_count: int
    sentence: str
    change: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "field": self.field,
            "meant": self.meant,
            "identifiers": [shown(identifier) for identifier in self.identifiers],
            "rows_count": self.rows_count,
            "sentence": self.sentence,
            "change": self.change,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A trigger that almost fired. `in_scope`: how many of the rows that carry it the scope admits."""

    kind: str
    fired: str
    trigger: str
    place: str
    sentence: str
    rows_count: int
    in_scope: int
    change: str
    patch: Mapping[str, Any] | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "fired": shown(self.fired),
            "from": shown(self.place),
            "trigger": shown(self.trigger),
            "sentence": self.sentence,
            "rows_count": self.rows_count,
            "rows_in_scope": self.in_scope,
            "change": self.change,
            "patch": None if self.patch is None else dict(self.patch),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a request is answered as it is. Fields about what a refused body fires are empty.

    `recalled` and `dropped` are the ids of all such rows, in the answer's order; `rows` tells the fate of the
    first of them and of those kept out.
    """

    organisation: str
    summary: str
    refusal: Advice | None = None
    mode: str | None = None
    signal: str | None = None
    scope: Mapping[str, Any] = field(default_factory=_nothing)
    include: tuple[str, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    identifiers_left_out: int = 0
    recalled: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kept_out: int = 0
    rows: tuple[Fate, ...] = ()
    elsewhere: int = 0
    unread: tuple[Missed, ...] = ()
    near_misses: tuple[Miss, ...] = ()
    near_misses_left_out: int = 0
    hints: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The status that the request draws."""
        return self.refusal.status if self.refusal else 200

    @property
    def rows_left_out(self) -> int:
        """How many rows are counted and not told of."""
        return len(self.recalled) + len(self.dropped) + self.kept_out - len(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: bounded, and encodable whatever the request held."""
        return {
            "object": "explanation",
            "organisation": self.organisation,
            "status": self.status,
            "summary": self.summary,
            "refusal": self.refusal.as_dict() if self.refusal else None,
            "mode": self.mode,
            "signal": self.signal,
            "scope": shown(dict(self.scope)),
            "include": list(self.include),
            "identifiers": [identifier.as_dict() for identifier in self.identifiers],
            "identifiers_left_out": self.identifiers_left_out,
            "counts": {
                "recalled": len(self.recalled),
                "dropped": len(self.dropped),
                "kept_out": self.kept_out,
                "rows_of_other_organisations": self.elsewhere,
            },
            "rows": [_fate(fate) for fate in self.rows],
            "rows_left_out": self.rows_left_out,
            "unread": [missed.as_dict() for missed in self.unread],
            "near_misses": [miss.as_dict() for miss in self.near_misses],
            "near_misses_left_out": self.near_misses_left_out,
            "hints": list(self.hints),
        }


def _fate(fate: Fate) -> dict[str, Any]:
    row = fate.row
    return {
        "id": row.id,
        "type": row.type,
        "organisation": row.organisation,
        "text": shown(row.text),
        "user_id": row.user_id,
        "agent_id": row.agent_id,
        "app_id": row.app_id,
        "group_ids": shown(list(row.group_ids)),
        "trigger_entities": shown(list(row.trigger_entities)),
        "matched_on": shown(list(fate.matched_on)),
        "fate": fate.outcome,
        "rank": fate.rank,
        "because": fate.because,
        "confidence": fate.confidence,
        "reasons": list(fate.reasons),
        "change": fate.change,
        "patch": None if fate.patch is None else dict(fate.patch),
    }
