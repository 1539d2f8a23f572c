"""Walking the schemas of an OpenAPI document, whatever state the document is in.

Decides where a schema is expected, follows references within the document, and tells whether two schemas can
hold for one value. Nothing here assumes that a value has the type that OpenAPI asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import cast

from trigger_contracts.pointer import resolve

Path = tuple[str | int, ...]
Located = tuple[Path, object]

_ONE = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "dependentSchemas", "patternProperties", "properties")
#: Under these a `$ref` or a description is data, not part of the contract.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
#: Deeper than any contract is written; a document that nests further is not walked to its end.
_DEEPEST = 100


def members(value: object) -> dict[str, object]:
    """Return an object's members; of anything else, none."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def entries(value: object) -> list[object]:
    """Return an array's entries; of anything else, none."""
    return cast("list[object]", value) if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the texts among an array's entries."""
    return [entry for entry in entries(value) if isinstance(entry, str)]


def nodes(document: object, start: Path = ()) -> Iterator[Located]:
    """Yield every object of a document that is no example, default or constant, parents first."""
    pending: list[Located] = [(start, document)]
    while pending:
        path, node = pending.pop()
        held = members(node)
        if held:
            yield path, held
        if len(path) > _DEEPEST:
            continue
        # `properties` may well hold a property called `default`: there the name is no keyword.
        names_are_free = bool(path) and path[-1] in _NAMED
        inner: list[Located] = [
            ((*path, key), child) for key, child in held.items() if names_are_free or key not in _DATA
        ]
        inner += [((*path, at), child) for at, child in enumerate(entries(node))]
        pending += reversed(inner)


def schemas(document: object) -> Iterator[Located]:
    """Yield whatever stands where a schema belongs, outer before inner."""
    pending = list(_roots(document))
    while pending:
        path, schema = pending.pop(0)
        yield path, schema
        if len(path) > _DEEPEST:
            continue
        for keyword, value in members(schema).items():
            if keyword in _ONE:
                pending.append(((*path, keyword), value))
            elif keyword in _MANY:
                pending += [((*path, keyword, at), inner) for at, inner in enumerate(entries(value))]
            elif keyword in _NAMED:
                pending += [((*path, keyword, name), inner) for name, inner in members(value).items()]


def _roots(document: object) -> Iterator[Located]:
    named = members(members(members(document).get("components")).get("schemas"))
    yield from ((("components", "schemas", name), schema) for name, schema in named.items())
    for path, node in nodes(document):
        in_place = path[:2] != ("components", "schemas") and "schema" in members(node)
        # A media type, a header or a parameter: the objects that carry one schema.
        if in_place and len(path) > 1 and path[-2] in ("content", "headers", "parameters"):
            yield (*path, "schema"), members(node)["schema"]


def target(document: object, schema: object) -> dict[str, object]:
    """Follow a schema's references to what it means; a dangling or circular one means nothing."""
    followed: set[str] = set()
    here = members(schema)
    while isinstance(reference := here.get("$ref"), str):
        if reference in followed:
            return {}
        followed.add(reference)
        try:
            here = members(resolve(document, reference))
        except (LookupError, ValueError):
            return {}
    return here


def exclusive(document: object, branches: list[object]) -> bool:
    """Say whether it is plain that no value fits two of the branches."""
    meanings = [target(document, branch) for branch in branches]
    return all(_apart(one, other) for one, other in combinations(meanings, 2))


def _apart(one: dict[str, object], other: dict[str, object]) -> bool:
    if _disjoint(_types(one), _types(other)) or _disjoint(_values(one), _values(other)):
        return True
    needed, also_needed = set(texts(one.get("required"))), set(texts(other.get("required")))
    mine, theirs = members(one.get("properties")), members(other.get("properties"))
    for name in needed & also_needed:
        one_field, other_field = mine.get(name), theirs.get(name)
        if _disjoint(_values(one_field), _values(other_field)) or _disjoint(
            _types(one_field), _types(other_field)
        ):
            return True
    closed = one.get("additionalProperties") is False
    also_closed = other.get("additionalProperties") is False
    return bool((also_closed and needed - set(theirs)) or (closed and also_needed - set(mine)))


def _types(schema: object) -> set[str]:
    stated = members(schema).get("type")
    found = {stated} if isinstance(stated, str) else set(texts(stated))
    return found | {"integer"} if "number" in found else found


def _values(schema: object) -> set[str]:
    held = members(schema)
    values = [held["const"]] if "const" in held else entries(held.get("enum"))
    return {f"{type(value).__name__}:{value!r}" for value in values}


def _disjoint(some: set[str], others: set[str]) -> bool:
    return bool(some and others) and some.isdisjoint(others)
