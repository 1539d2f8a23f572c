"""What becomes of each row that carries an identifier fired: recalled, dropped by the gate, or kept out, by
what, and what to change.

A change is a JSON merge patch (RFC 7396) over the request: the values to set, null for a field to leave out.
Verdicts are those of `trigger_mock.recall` and `trigger_mock.gate`; nothing is decided twice here but the
words. Knows nothing of HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from trigger_fixtures import DIRECTIVES, Row
from trigger_mock.ask import Ask
from trigger_mock.gate import Verdict, judge
from trigger_mock.json_values import is_array
from trigger_mock.recall import Hit, Memories
from trigger_mock.seen import shown
from trigger_mock.unread import spoken

Outcome = Literal["recalled", "dropped", "kept out"]
AXES = ("user_id", "agent_id", "app_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """A row that carries something fired, and what became of it.

    `recalled`: it is in the answer, at `rank` (from 1). `dropped`: recalled, and the gate said no. `kept
    out`: `reasons` say by which axis, type or organisation. `change`: what would bring it back, in words,
    and as a merge `patch` over the request where the request alone can do it.
    """

    row: Row
    matched_on: tuple[str, ...]
    outcome: Outcome
    rank: int | None = None
    because: str | None = None
    confidence: float | None = None
    reasons: tuple[str, ...] = ()
    change: str | None = None
    patch: Mapping[str, Any] | None = None


class Fates(NamedTuple):
    """The answer in its order, what the gate dropped, and what was kept out, the nearest first.

    Of the rows kept out only the first `most` are told of; `kept_out_count` is of all.
    """

    recalled: list[Fate]
    dropped: list[Fate]
    kept_out: list[Fate]
    kept_out_count: int


def fates(
    candidates: Sequence[Row], fired: frozenset[str], ask: Ask, organisation: str, *, served: bool, most: int
) -> Fates:
    """The fate of each candidate: a row, of any organisation, that carries an identifier fired.

    A request that is not `served` was refused, and recalls nothing.
    """
    own = [row for row in candidates if row.organisation == organisation]
    hits = Memories(own).recall(fired, ask.scope, ask.types) if served else []
    verdicts = judge(ask.task, hits) if ask.mode == "compose" else [None] * len(hits)
    judged = list(zip(hits, verdicts, strict=True))
    kept = [each for each in judged if each[1] is None or each[1].kept]
    recalled = {id(hit.row) for hit in hits}
    rest = [row for row in candidates if id(row) not in recalled]
    rest.sort(key=lambda row: (row.organisation != organisation, row.type not in ask.types,
                               len(_failing(row, ask)), row.id))  # fmt: skip
    return Fates(
        [_recalled(rank, hit, verdict) for rank, (hit, verdict) in enumerate(kept, 1)],
        [_dropped(hit, verdict) for hit, verdict in judged if verdict is not None and not verdict.kept],
        [kept_out(row, fired, ask, organisation) for row in rest[:most]],
        len(rest),
    )


def kept_out(row: Row, fired: frozenset[str], ask: Ask, organisation: str) -> Fate:
    """Why a row is not recalled, and what would recall it."""
    patch = admission(row, ask)
    reasons = list(_obstacles(row, ask))
    if row.organisation != organisation:
        reasons.insert(0, f"organisation is {spoken(row.organisation)}; the key is one of {organisation}")
        change, patch = f"needs a key of {spoken(row.organisation)}", None
    elif row.type not in DIRECTIVES:
        change = "no request recalls it: the endpoint answers with lessons and procedures only"
    elif patch is None:
        change = "no request recalls it: the row carries no scope"
    else:
        change = f"would be recalled {in_words(patch)}"
    return Fate(
        row=row, matched_on=_matched(row, fired), outcome="kept out", reasons=tuple(reasons), change=change,
        patch=patch,
    )  # fmt: skip


def admission(row: Row, ask: Ask) -> dict[str, Any] | None:
    """The merge patch under which scope and types admit the row, empty when they do; None when nothing
    can.
    """
    if row.type not in DIRECTIVES:
        return None
    patch: dict[str, Any] = {} if row.type in ask.types else {"include": None}
    axes = _axes(row)
    for axis in _failing(row, ask):
        patch[axis] = axes.get(axis)
    asked = {axis: getattr(ask, axis) for axis in AXES} | {"group_ids": [g for g in ask.group_ids if g]}
    if not any((asked | patch)[axis] for axis in asked):
        if not axes:
            return None
        axis = next(iter(axes))
        patch[axis] = axes[axis]
    return patch


def in_words(patch: Mapping[str, Any]) -> str:
    """`with user_id="u-1" and without agent_id`."""
    with_ = [f"{field}={_json(value)}" for field, value in patch.items() if value is not None]
    without = [field for field, value in patch.items() if value is None]
    parts = [f"with {', '.join(with_)}"] if with_ else []
    parts += [f"without {', '.join(without)}"] if without else []
    return " and ".join(parts)


def _recalled(rank: int, hit: Hit, verdict: Verdict | None) -> Fate:
    return Fate(
        row=hit.row, matched_on=hit.matched_on, outcome="recalled", rank=rank,
        because=verdict.because if verdict else None, confidence=verdict.confidence if verdict else None,
    )  # fmt: skip


def _dropped(hit: Hit, verdict: Verdict) -> Fate:
    return Fate(
        row=hit.row, matched_on=hit.matched_on, outcome="dropped", because=verdict.because,
        confidence=verdict.confidence, change='would come back with mode="retrieve", or with another task',
        patch={"mode": "retrieve"},
    )  # fmt: skip


def _obstacles(row: Row, ask: Ask) -> Iterator[str]:
    if row.type not in DIRECTIVES:
        yield f"type is {row.type}; the endpoint recalls lessons and procedures only"
    elif row.type not in ask.types:
        yield f"type is {row.type}; include asks for {', '.join(sorted(ask.types))}"
    axes = _axes(row) | ({"group_ids": list(row.group_ids)} if row.group_ids else {})
    for axis in _failing(row, ask):
        seen = f"{axis} is {_json(axes[axis])}" if axis in axes else f"the row carries no {axis}"
        yield f"{seen}; the request asks for {_json(getattr(ask, axis))}"
    if not (ask.user_id or ask.agent_id or ask.app_id or any(ask.group_ids)):
        yield "the request names no scope"


def _failing(row: Row, ask: Ask) -> list[str]:
    """The axes that do not admit the row."""
    scope = ask.scope
    failing = [
        axis
        for axis in AXES
        if getattr(scope, axis) is not None and getattr(scope, axis) != getattr(row, axis)
    ]
    if scope.group_ids and scope.group_ids.isdisjoint(row.group_ids):
        failing.append("group_ids")
    return failing


def _axes(row: Row) -> dict[str, Any]:
    """The axes that the row carries, as a request names them."""
    axes: dict[str, Any] = {axis: getattr(row, axis) for axis in AXES if getattr(row, axis)}
    return axes | ({"group_ids": [row.group_ids[0]]} if any(row.group_ids[:1]) else {})


def _matched(row: Row, fired: frozenset[str]) -> tuple[str, ...]:
    return tuple(entity for entity in row.trigger_entities if entity in fired)


def _json(value: Any) -> str:
    if is_array(value):
        return f"[{', '.join(map(_json, value[:3]))}{', …' if len(value) > 3 else ''}]"
    return json.dumps(shown(value), ensure_ascii=False)
