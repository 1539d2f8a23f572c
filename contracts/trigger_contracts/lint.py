"""What is wrong with a contract document, by pointer and, given its text, by line.

The rules are general: each looks for a kind of mistake, named after the defect of the published contract that
is of that kind. D1: no schema where one belongs. D2: a schema named or referred to and not defined. D3:
`oneOf` whose branches are not plainly exclusive. D4: a 422 without the field-validation shape. D5: headers in
prose only. D6: "at least one of" in prose only. D7: what a field always is, or is null without, in prose
only. D8: an error code that the list of codes omits. A document of any shape is looked at; none makes it
fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trigger_contracts.lines import lines
from trigger_contracts.pointer import pointer, resolve
from trigger_contracts.schemas import Path, entries, exclusive, members, nodes, schemas, target, texts

__all__ = ["Finding", "lint"]

_SCHEMA_NAME = re.compile(r"`((?:[A-Z]+[a-z]+){2,})`")
_HEADER_NAME = re.compile(r"`([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*-(?:[A-Z][A-Za-z]*|\*))`")
_ONE_OF_FIELDS = re.compile(r"[Aa]t least one of ([^.]*?) is\s+required")
_THIS_OR = re.compile(r"[Ss]upply this or `(\w+)`")
_ALWAYS = re.compile(r"`(\w+)`+ is \**always\**")
_NULL_UNLESS = re.compile(r"null otherwise|`score` is null")
_CODE = re.compile(r"detail\.code = \"(\w+)\"")
_CODE_LIST = re.compile(r"values: ((?:`\w+`[,\s]*)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One mistake of a contract document: its kind (D1 to D8), where it stands, and what was expected."""

    defect: str
    pointer: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.pointer if self.line is None else f"line {self.line}, {self.pointer}"
        return f"{self.defect} {place}: {self.message}"


_NOT_EXCLUSIVE = (
    "its branches are not exclusive: a value that fits two of them is refused; "
    "expected a property that all of them require, with constants that differ"
)

#: What a rule yields: where, and what is wrong there.
Remark = tuple[Path, str]


def lint(document: object, source: str | None = None) -> list[Finding]:
    """List what is wrong with a contract document; `source` is its text, for line numbers."""
    where = lines(source) if source is not None else {}
    found: dict[Finding, None] = {}
    for defect, rule in _RULES:
        for path, message in rule(document):
            place = pointer(path)
            line = _line(where, path)
            found[Finding(defect=defect, pointer=place, line=line, message=message)] = None
    return list(found)


def _line(where: dict[str, int], path: Path) -> int | None:
    """The line of a place; of one that is missing, the line of what should hold it."""
    places = (pointer(path[:size]) for size in range(len(path), -1, -1))
    return next((where[place] for place in places if place in where), None)


def _no_schema(document: object) -> Iterator[Remark]:
    for path, schema in schemas(document):
        if not isinstance(schema, dict | bool):
            yield path, f"{_shown(schema)} stands where a schema belongs; expected an object or a boolean"


def _undefined(document: object) -> Iterator[Remark]:
    defined = members(members(members(document).get("components")).get("schemas"))
    for path, node in nodes(document):
        reference = members(node).get("$ref")
        if isinstance(reference, str) and reference.startswith("#") and not _leads(document, reference):
            yield (*path, "$ref"), f"{_shown(reference)} leads nowhere in this document"
        for field in ("description", "summary"):
            for name in dict.fromkeys(_SCHEMA_NAME.findall(_text(node, field))):
                if name not in defined:
                    yield (*path, field), f"names `{name}`, which components/schemas does not define"


def _overlapping(document: object) -> Iterator[Remark]:
    for path, schema in schemas(document):
        branches = [branch for branch in entries(members(schema).get("oneOf")) if members(branch)]
        if len(branches) > 1 and not exclusive(document, branches):
            yield (*path, "oneOf"), _NOT_EXCLUSIVE


def _one_shape_of_422(document: object) -> Iterator[Remark]:
    for path, response in _responses(document):
        if path[-1] != "422":
            continue
        for kind, media in members(members(response).get("content")).items():
            place = (*path, "content", kind, "schema")
            shapes = _alternatives(document, members(media).get("schema"))
            details = [target(document, members(shape.get("properties")).get("detail")) for shape in shapes]
            if not any(detail.get("type") == "array" for detail in details):
                yield place, "lacks the field-validation shape, in which `detail` is an array of errors"


def _undeclared_headers(document: object) -> Iterator[Remark]:
    for path, response in _responses(document):
        declared = [name.lower() for name in members(members(response).get("headers"))]
        for name in dict.fromkeys(_HEADER_NAME.findall(_text(response, "description"))):
            stem = name.lower()
            known = stem in declared or (
                stem.endswith("*") and any(header.startswith(stem[:-1]) for header in declared)
            )
            if not known:
                yield path, f"its description promises the header `{name}`, which `headers` does not declare"


def _needs_in_prose(document: object) -> Iterator[Remark]:
    for path, schema in _named_schemas(document):
        said = {frozenset(rule) for rule in _choices_of(schema)}
        for inner, node in nodes(schema):
            text = _text(node, "description")
            rules = [frozenset(re.findall(r"`(\w+)`", names)) for names in _ONE_OF_FIELDS.findall(text)]
            if inner:
                rules += [frozenset((str(inner[-1]), name)) for name in _THIS_OR.findall(text)]
            for rule in rules:
                if rule and rule not in said:
                    names = ", ".join(f"`{name}`" for name in sorted(rule))
                    yield (*path, *inner, "description"), f"at least one of {names} is required in prose only"


def _facts_in_prose(document: object) -> Iterator[Remark]:
    for path, schema in _named_schemas(document):
        properties = members(schema.get("properties"))
        for name in dict.fromkeys(_ALWAYS.findall(_text(schema, "description"))):
            if name in properties and name not in texts(schema.get("required")):
                yield (
                    (*path, "required"),
                    f"`{name}` is always there in prose only; expected it in `required`",
                )
        conditional = any(
            "if" in members(part) or "const" in members(part) for part in entries(schema.get("allOf"))
        )
        for name, field in properties.items():
            text = _text(field, "description")
            place = (*path, "properties", name)
            if _NULL_UNLESS.search(text) and not conditional:
                yield place, "says in prose only when a value is null; expected a condition in the schema"
            if "UUID" in text and "format" not in members(field):
                yield place, "is a UUID in prose only; expected `format: uuid`"


def _unlisted_codes(document: object) -> Iterator[Remark]:
    lists = [
        (path, set(re.findall(r"`(\w+)`", listed)))
        for path, node in nodes(document)
        for listed in _CODE_LIST.findall(_text(node, "description"))
    ]
    listed = set[str]().union(*(codes for _, codes in lists))
    for path, node in nodes(document):
        for code in _CODE.findall(_text(node, "description")):
            if lists and code not in listed:
                yield (*path, "description"), f"uses the code `{code}`, which {pointer(lists[0][0])} omits"


_RULES: tuple[tuple[str, Callable[[object], Iterator[Remark]]], ...] = (
    ("D1", _no_schema),
    ("D2", _undefined),
    ("D3", _overlapping),
    ("D4", _one_shape_of_422),
    ("D5", _undeclared_headers),
    ("D6", _needs_in_prose),
    ("D7", _facts_in_prose),
    ("D8", _unlisted_codes),
)


def _named_schemas(document: object) -> Iterator[tuple[Path, dict[str, object]]]:
    named = members(members(members(document).get("components")).get("schemas"))
    yield from ((("components", "schemas", name), members(schema)) for name, schema in named.items())


def _responses(document: object) -> Iterator[tuple[Path, object]]:
    for url, item in members(members(document).get("paths")).items():
        for method, operation in members(item).items():
            for status, response in members(members(operation).get("responses")).items():
                yield ("paths", url, method, "responses", status), response


def _alternatives(document: object, schema: object) -> list[dict[str, object]]:
    meaning = target(document, schema)
    choices = [*entries(meaning.get("anyOf")), *entries(meaning.get("oneOf"))]
    return [target(document, choice) for choice in choices] or [meaning]


def _choices_of(schema: dict[str, object]) -> Iterator[list[str]]:
    """The fields of which a schema itself asks for at least one."""
    for part in (schema, *entries(schema.get("allOf"))):
        for keyword in ("anyOf", "oneOf"):
            yield [
                name
                for each in entries(members(part).get(keyword))
                for name in texts(members(each).get("required"))
            ]


def _leads(document: object, reference: str) -> bool:
    try:
        resolve(document, reference)
    except (LookupError, ValueError):
        return False
    return True


def _text(node: object, field: str) -> str:
    value = members(node).get(field)
    return value if isinstance(value, str) else ""


def _shown(value: object) -> str:
    text = ascii(value) if isinstance(value, str) else type(value).__name__
    return text if len(text) <= 80 else text[:79] + "…"
