"""Fixtures as the control plane takes them: described by the schema that editors use, judged by the loader
that reads files, and told what is wrong in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from trigger_fixtures import Corpus, FixtureErrors, Organisation, follows_schema, parse
from trigger_mock.control.room import Declined, JsonBody
from trigger_mock.json_values import is_array, is_object

_PREFIX = "Fixtures."
#: In place of a `$ref` to one of these parts, in a model's field: pydantic follows references itself, and
#: knows of none but its own.
COMPONENT = "x-component"


@cache
def definitions() -> dict[str, Any]:
    """The parts of `fixtures.schema.json`, named as components of an OpenAPI document."""
    text = files("trigger_fixtures").joinpath("fixtures.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{_PREFIX}'))
    parts: dict[str, Any] = {f"{_PREFIX}{name}": part for name, part in schema.pop("$defs").items()}
    record = parts[f"{_PREFIX}memory"]
    # Over HTTP the organisation may be left out where there is one only.
    parts[f"{_PREFIX}record"] = record | {"required": ["type", "text"]}
    parts[f"{_PREFIX}document"] = {name: part for name, part in schema.items() if name != "$schema"}
    return parts


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{_PREFIX}{name}"}


#: A whole document, as a file holds it.
DOCUMENT = JsonBody(_reference("document"))
#: One memory.
MEMORY = JsonBody(_reference("record"))
#: One memory or several.
MEMORIES = JsonBody({"anyOf": [_reference("record"), {"type": "array", "items": _reference("record")}]})


def corpus_of(document: Any, *, earlier: Mapping[str, Organisation] | None = None) -> Corpus:
    """A document as the loader reads it. Raises `Declined` with all that is wrong with it: 422 where the
    schema says so too, 409 where the document contradicts itself or what is there.
    """
    try:
        return parse(json.dumps(document).encode(), name="request", earlier=earlier)
    except FixtureErrors as errors:
        raise Declined(
            409 if follows_schema(document) else 422,
            "invalid_fixtures",
            "; ".join(
                f"{each.field or 'the document'}: seen {each.seen}; expected {each.expected}"
                for each in errors.mistakes[:10]
            ),
            mistakes=[
                {"field": each.field, "seen": each.seen, "expected": each.expected}
                for each in errors.mistakes
            ],
        ) from None


def rows_of(body: Any, organisations: Mapping[str, Organisation]) -> Corpus:
    """One memory or several, each of an organisation that is there."""
    records = body if is_array(body) else [body]
    if len(organisations) == 1:
        (only,) = organisations
        records = [{"organisation": only} | each if is_object(each) else each for each in records]
    elif any(is_object(each) and "organisation" not in each for each in records):
        names = ", ".join(map(repr, organisations)) or "one that is there"
        raise Declined(409, "conflict", f"organisation: seen nothing in a memory; expected one of {names}")
    return corpus_of({"memories": records}, earlier=organisations)
