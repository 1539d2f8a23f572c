"""Judging one request or one response by the effective contract.

Decides what of a body, a status and the headers breaks a schema of the contract, and says so by pointer.
Needs `jsonschema-rs` (in the extras `verify` and `load`), loaded at the first judgement. Knows nothing of
promises across requests, nor of what a schema cannot say (that `mode` echoes the request, that ids are
unique).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from trigger_contracts.document import ENDPOINT, effective, resolve
from trigger_contracts.formats import FORMATS
from trigger_contracts.pointer import pointer

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["Violation", "request_violations", "response_violations"]

#: Nobody reads more, and a body may break a schema in a million places.
_MOST_VIOLATIONS = 50
#: As much of a value as a message shows.
_MOST_SHOWN = 120

_OPERATION = pointer(("paths", ENDPOINT, "post"))
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_JSON = "application/json"

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where an instance breaks the contract.

    `pointer` leads into the instance (`#/data/0/id`; of a header, `headers#/retry-after`; of the status,
    `status`), `rule` into the effective contract.
    """

    pointer: str
    message: str
    rule: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message} [{self.rule}]"


def request_violations(body: object) -> list[Violation]:
    """List what is wrong with a request's body; an empty list means that the contract allows it."""
    return _violations(f"{_OPERATION}/requestBody/content/application~1json/schema", body)


def response_violations(status: int, body: object, headers: Headers | None = None) -> list[Violation]:
    """List what is wrong with a response; the headers, when given, are judged too."""
    place = f"{_OPERATION}/responses/{status}"
    known: Mapping[str, Any] = resolve(_contract(), f"{_OPERATION}/responses")
    if str(status) not in known:
        documented = ", ".join(known)
        return [
            Violation(
                pointer="status",
                message=f"{status} is not documented; expected one of {documented}",
                rule=f"{_OPERATION}/responses",
            )
        ]
    found = [] if headers is None else list(_header_violations(place, headers))
    unreal = list(islice(_not_json(body), _MOST_VIOLATIONS))
    judged = _judgeable(body) if unreal else body
    return [*found, *unreal, *_violations(f"{place}/content/application~1json/schema", judged)]


def compile_all() -> None:
    """Compile every schema that a judgement may need: a contract that cannot be used says so at once."""
    _contract.cache_clear()
    _validator.cache_clear()
    responses: Mapping[str, Any] = resolve(_contract(), f"{_OPERATION}/responses")
    _validator(f"{_OPERATION}/requestBody/content/application~1json/schema")
    for status in responses:
        _validator(f"{_OPERATION}/responses/{status}/content/application~1json/schema")


@cache
def _contract() -> dict[str, Any]:
    return effective()


@cache
def _validator(place: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs

    # The whole document under one reference: pointers in errors are then pointers into the contract.
    schema: dict[str, Any] = {"$schema": _DIALECT, "$ref": place, **_contract()}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, formats=dict(FORMATS))


def _violations(place: str, instance: object) -> list[Violation]:
    validator = _validator(place)
    value = cast("Any", instance)
    try:
        if validator.is_valid(value):
            return []
        return _first(validator.iter_errors(value))
    except (ValueError, TypeError, OverflowError, RecursionError):
        # What the validator cannot take in (a lone surrogate, say) breaks no rule by itself.
        return _first(validator.iter_errors(cast("Any", _judgeable(instance))))


def _first(errors: Iterable[jsonschema_rs.ValidationError]) -> list[Violation]:
    leaves = (leaf for error in errors for leaf in _leaves(error))
    return [
        Violation(
            pointer=pointer(leaf.instance_path), message=_explained(leaf), rule=pointer(leaf.schema_path)
        )
        for leaf in islice(leaves, _MOST_VIOLATIONS)
    ]


def _leaves(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Of a failed choice, the errors that tell most: those of the branch that came furthest, when one did."""
    branches = _branches(error)
    ranks = sorted((_came(branch) for branch in branches), reverse=True)
    if not branches or _described(error) or ranks[0] in ((len(error.instance_path), False), *ranks[1:]):
        yield error
        return
    best = max(branches, key=_came)
    for inner in best:
        yield from _leaves(inner)


def _branches(error: jsonschema_rs.ValidationError) -> list[list[jsonschema_rs.ValidationError]]:
    context = cast("list[list[jsonschema_rs.ValidationError]] | None", getattr(error.kind, "context", None))
    return [branch for branch in context or () if branch]


def _came(branch: list[jsonschema_rs.ValidationError]) -> tuple[int, bool]:
    """How deep a branch's first mistake lies, and whether at least the value's type was right there."""
    depth = min(len(error.instance_path) for error in branch)
    return depth, all(error.kind.name != "type" for error in branch if len(error.instance_path) == depth)


def _explained(error: jsonschema_rs.ValidationError) -> str:
    if said := _described(error):
        return said
    if branches := _branches(error):
        return "fits no alternative: " + "; ".join(_shortened(branch[0].message) for branch in branches)
    return _shortened(error.message)


def _described(error: jsonschema_rs.ValidationError) -> str | None:
    """The contract's own words for a rule across fields, which is a choice within an `allOf`."""
    path = error.schema_path
    if path[-1:] != ["anyOf"] or path[-3:-2] != ["allOf"]:
        return None
    return cast("str | None", resolve(_contract(), pointer(path[:-1])).get("description"))


def _shown(value: object) -> str:
    return _shortened(ascii(value) if isinstance(value, str) else repr(value))


def _shortened(text: str) -> str:
    """Shorten from the middle: a message says what it is about first and what is wrong last."""
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(safe) <= 2 * _MOST_SHOWN:
        return safe
    return f"{safe[:_MOST_SHOWN]} … {safe[-_MOST_SHOWN:]}"


def _judgeable(root: object) -> object:
    """Return a copy that any validator takes in and that gets the same verdict.

    Texts keep their length, containers their kind down to a depth that no schema of the contract looks into,
    and numbers their kind and their sign.
    """
    deepest = 16

    def copied(value: object, depth: int) -> object:
        if isinstance(value, str):
            return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
        if isinstance(value, dict):
            members = cast("dict[object, object]", value).items() if depth < deepest else ()
            return {cast("str", copied(str(key), depth)): copied(child, depth + 1) for key, child in members}
        if isinstance(value, list | tuple):
            entries = cast("Iterable[object]", value) if depth < deepest else ()
            return [copied(child, depth + 1) for child in entries]
        if isinstance(value, float) and not math.isfinite(value):
            return 0.5
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return max(-(2**53), min(value, 2**53))
        return repr(value)

    return copied(root, 0)


def _not_json(root: object) -> Iterator[Violation]:
    """Find numbers that JSON does not have, without recursion; a response must not carry them anywhere."""
    pending: list[tuple[tuple[str | int, ...], object]] = [((), root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending += [((*path, key), child) for key, child in cast("dict[str, object]", value).items()]
        elif isinstance(value, list):
            pending += [((*path, at), child) for at, child in enumerate(cast("list[object]", value))]
        elif isinstance(value, float) and not math.isfinite(value):
            yield Violation(
                pointer=pointer(path), message=f"{value} is no number of JSON", rule="RFC 8259, section 6"
            )


def _header_violations(place: str, headers: Headers) -> Iterator[Violation]:
    pairs = cast("Mapping[str, str]", headers).items() if isinstance(headers, Mapping) else headers
    sent: dict[str, list[str]] = {}
    for name, value in pairs:
        sent.setdefault(name.lower(), []).append(value)
    kind = sent.get("content-type", [])
    if [value.split(";", 1)[0].strip().lower() for value in kind] != [_JSON]:
        yield Violation(
            pointer="headers#/content-type",
            message=f"{', '.join(map(_shown, kind)) or 'absent'}; expected {_JSON}",
            rule=f"{place}/content",
        )
    declared: Mapping[str, Mapping[str, str]] = resolve(_contract(), place).get("headers", {})
    for name, reference in declared.items():
        rule = reference["$ref"]
        yield from _header(name, sent.get(name.lower(), []), rule, resolve(_contract(), rule))


def _header(name: str, values: list[str], rule: str, declared: Mapping[str, Any]) -> Iterator[Violation]:
    place = pointer((name.lower(),))
    if not values and declared.get("required"):
        yield Violation(pointer=f"headers{place}", message="absent; the contract requires it", rule=rule)
    if len(values) > 1:
        yield Violation(
            pointer=f"headers{place}", message=f"sent {len(values)} times; expected once", rule=rule
        )
    for value in values:
        text = value.strip()
        # A header's value is text: it is the integer that the schema asks for when it is all digits.
        if not (text.isascii() and text.isdigit()):
            yield Violation(
                pointer=f"headers{place}",
                message=f"{_shown(value)} is no whole number of 0 or more",
                rule=f"{rule}/schema",
            )
