"""The form of a 200: the effective contract's schema, constants, ids, timestamps, timings.

What has a promise of its own (the mode's consequences, `matched_on`, timings) is left out of the verdict on
the schema, so that one fault is held against one promise.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from trigger_contracts.exchange import Answer, Exchange, JsonObject, RowView, is_number
from trigger_contracts.json_values import is_array, is_object

Said = Iterator[tuple[str, str]]


def form(exchange: Exchange) -> Said:
    """Everything about the shape of a 200."""
    reply = exchange.reply
    if reply is None:
        return
    media = (reply.header("Content-Type") or "").partition(";")[0].strip().lower()
    body = exchange.json
    if media != "application/json":
        yield "SHAPE-1", f"a 200 is {media or 'without a content type'}; expected application/json"
        return
    if not isinstance(body, dict):
        yield "SHAPE-1", "a 200 has a body that is no JSON object"
        return
    constant = _no_json_constant(reply.body, cast("JsonObject", body))
    if constant:
        yield "SHAPE-1", f"a 200 holds {constant}, which is no JSON"
        return
    yield "SHAPE-1", next(schema_faults(cast("JsonObject", body)), "")
    yield from _constants(Answer(exchange))
    yield "SHAPE-3", _timings_fault(cast("JsonObject", body)) or ""


def _no_json_constant(raw: bytes, body: JsonObject) -> str | None:
    """NaN or an infinity that is spelt out somewhere; among the timings it is their own promise's."""
    if b"NaN" not in raw and b"Infinity" not in raw:
        return None
    rest = {name: value for name, value in body.items() if name != "stage_timings"}
    rows = rest.get("data")
    if is_array(rows):  # a confidence of no number is judged by the promise about confidence
        rest["data"] = [_less_confidence(row) for row in rows]
    try:
        json.dumps(rest, allow_nan=False)
    except ValueError:
        return "NaN" if b"NaN" in raw else "Infinity"
    return None


def _less_confidence(row: Any) -> Any:
    if not is_object(row) or not is_object(row.get("details")):
        return row
    details = {name: value for name, value in row["details"].items() if name != "confidence"}
    return {**row, "details": details}


def schema_faults(body: JsonObject) -> Iterator[str]:
    """Violations of the effective contract, less those that a promise of their own judges."""
    from trigger_contracts.validation import response_violations

    try:
        violations = response_violations(200, body)
    except (ValueError, TypeError, RecursionError):
        return  # a number that JSON cannot hold: the promise about timings says so
    for one in violations:
        if not _judged_elsewhere(one.pointer, one.message, body):
            yield f"{one.pointer}: {one.message}"


def _judged_elsewhere(pointer: str, message: str, body: JsonObject) -> bool:
    parts = [part for part in pointer.removeprefix("#").split("/") if part]
    value = _at(body, parts)
    match parts:
        case ["context"]:
            return isinstance(value, str) or value is None
        case ["context_selection_applied"]:
            return isinstance(value, bool)
        case ["stage_timings", *_]:
            return isinstance(value, dict) or is_number(value) or isinstance(value, float) or value is None
        case ["data", _, "type"]:
            return value in ("fact", "artifact", "episode")
        case ["data", _, "score"]:
            return value is None or is_number(value)
        case ["data", _, "id" | "created_at" | "updated_at"]:
            return isinstance(value, str)
        case ["data", _, "details", "because" | "last_confirmed_at"]:
            return value is None or isinstance(value, str)
        case ["data", _, "details", "confidence"]:
            return value is None or is_number(value)
        case ["data", _, "details", "matched_on"]:
            return value in (None, [])
        case []:
            return "stage_timings" in message
        case _:
            return False


def _at(value: Any, parts: list[str]) -> Any:
    for part in parts:
        try:
            value = value[int(part)] if is_array(value) else value[part.replace("~1", "/").replace("~0", "~")]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value


_RFC3339 = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt "
    r"]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)


def is_timestamp(text: str) -> bool:
    """Whether a text is an RFC 3339 date-time of a day that exists."""
    if not _RFC3339.fullmatch(text) or not text.isascii():
        return False
    try:
        datetime.strptime(text[:10], "%Y-%m-%d")  # noqa: DTZ007 - the day alone is read
    except ValueError:
        return False
    return True


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in its usual spelling."""
    try:
        return len(text) == 36 and str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _constants(answer: Answer) -> Said:
    said = answer.body.get("object", "search")
    yield "SHAPE-2", "" if said == "search" else f"object is {said!r}; expected 'search'"
    ids = [row.id for row in answer.rows]
    if len(set(ids)) != len(ids):
        yield "SHAPE-2", "two rows of one answer carry the same id"
    for row in answer.rows:
        yield "SHAPE-2", next(_row_constants(row), "")
        score = row.raw.get("score")
        yield "SHAPE-4", "" if score is None else f"a row has score {score!r}; expected null"


def _row_constants(row: RowView) -> Iterator[str]:
    said = row.raw.get("object", "memory")
    if said != "memory":
        yield f"a row says object {said!r}; expected 'memory'"
    if not isinstance(row.raw.get("id"), str) or not is_uuid(str(row.raw["id"])):
        yield f"a row has id {row.raw.get('id')!r}; expected a UUID"
    if "details" in row.raw and not isinstance(row.raw["details"], dict):
        yield "a row has details that are no object"
    for where, name in ((row.raw, "created_at"), (row.raw, "updated_at"), (row.details, "last_confirmed_at")):
        stamp = where.get(name)
        if stamp is not None and not (isinstance(stamp, str) and is_timestamp(stamp)):
            yield f"{name} is {stamp!r}; expected an RFC 3339 date-time"


def _timings_fault(body: JsonObject) -> str | None:
    timings = body.get("stage_timings")
    if not isinstance(timings, dict):
        return (
            "stage_timings is missing"
            if "stage_timings" not in body
            else f"stage_timings is {timings!r}; expected an object"
        )
    for name, value in cast("Mapping[str, Any]", timings).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"stage_timings.{name} is {value!r}; expected a number"
        if not math.isfinite(value) or value < 0:
            return f"stage_timings.{name} is {value!r}; expected a finite number of at least 0"
    return None
