"""What to do about a refusal: the body that the endpoint answers with, and for each thing wrong what would be
right.

The refusal is `trigger_mock.refusals`' own; the advice rests on it alone. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trigger_mock.json_values import is_array
from trigger_mock.refusals import InvalidFields, InvalidRequest, Refusal, UnsupportedInclude

#: As many as are read by a person.
MOST_ENTRIES = 20

_RIGHT = {
    "json_invalid": "send valid JSON in UTF-8",
    "missing": "send a JSON object",
    "list_type": "send an array of strings",
    "string_type": "send a string, in quotes",
    "dict_type": "send an object",
    "literal_error": "send one of the values of the contract",
    "string_too_long": "send at most 2000 characters",
    "unique_items": "name each value once",
}
_OF_ACTION = 'send an object such as {"tool": "Edit", "args": {"file_path": "src/loop.py"}}'
_OF_BODY = "send a JSON object, with Content-Type: application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A refusal, the body it is answered with, and what to change, one line for each thing wrong."""

    status: int
    code: str
    body: Mapping[str, Any]
    lines: tuple[str, ...]
    left_out: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON: of a body with a thousand entries the first ones."""
        detail: Any = self.body["detail"]
        if is_array(detail):
            detail = detail[:MOST_ENTRIES]
        return {
            "status": self.status,
            "code": self.code,
            "body": {"detail": detail},
            "change": list(self.lines),
            "change_left_out": self.left_out,
        }


def advice_on(refusal: Refusal) -> Advice:
    """What to do about it."""
    lines = (
        [_line(entry) for entry in refusal.entries] if isinstance(refusal, InvalidFields) else _of(refusal)
    )
    return Advice(
        status=refusal.status,
        code=refusal.code,
        body=refusal.body,
        lines=tuple(lines[:MOST_ENTRIES]),
        left_out=max(0, len(lines) - MOST_ENTRIES),
    )


def _of(refusal: Refusal) -> list[str]:
    match refusal:
        case UnsupportedInclude():
            return [f"{refusal}; leave include out to ask for both"]
        case InvalidRequest():
            return str(refusal).split("; ")
        case _:
            return [str(refusal)]


def _line(entry: Mapping[str, Any]) -> str:
    place = ".".join(map(str, entry["loc"][1:])) or "the body"
    kind = entry["type"]
    if kind == "json_invalid":
        return f"the body, at {entry['loc'][1]}: {entry['ctx']['error']}; {_RIGHT[kind]}"
    if kind == "model_attributes_type":
        right = _OF_ACTION if place == "action" else _OF_BODY
    else:
        right = _RIGHT.get(kind, "see the contract")
    return f"{place}: {entry['msg']}; {right}"
