"""Reading a contract document from a file, JSON or YAML, with errors that name the file and the line.

Decides what counts as a contract document: an object whose `openapi` is 3.x. Values come out as JSON would
give them (text keys, no dates), whichever of the two it was written in. Knows nothing of what the document
says.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

#: More nodes than any contract has, fewer than a YAML file of nested aliases expands to.
_MOST_NODES = 300_000

#: How JSON begins and YAML, as people write it, does not.
_LIKE_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[)")


class UnreadableDocument(ValueError):
    """A file that is no contract document; the text names the file, the line, and what was expected."""


def read(path: str | Path) -> dict[str, Any]:
    """Read an OpenAPI 3 document from a JSON or YAML file."""
    return parse(text_of(path), str(path))


def text_of(path: str | Path) -> str:
    """Read the text of a file, UTF-8 with or without a byte order mark."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = broken.object[: broken.start].count(b"\n") + 1
        raise UnreadableDocument(f"{path}:{line}: not UTF-8 text") from None
    except (OSError, ValueError) as broken:
        reason = (broken.strerror if isinstance(broken, OSError) else None) or str(broken)
        raise UnreadableDocument(f"{path}: cannot be read: {reason}") from None


def parse(text: str, name: str = "document") -> dict[str, Any]:
    """Read an OpenAPI 3 document from text; `name` stands in messages."""
    value = _json(text, name) if _LIKE_JSON.match(text) else _yaml(text, name)
    if not isinstance(value, dict):
        raise UnreadableDocument(
            f"{name}:1: holds {_kind(value)}; expected an object with `openapi` and `paths`"
        )
    document = cast("dict[str, Any]", value)
    version = document.get("openapi")
    if version is None:
        seen = "a Swagger 2 document" if "swagger" in document else "no `openapi` field"
        raise UnreadableDocument(f"{name}:1: {seen}; expected an OpenAPI 3 document")
    if not isinstance(version, str) or not version.startswith("3."):
        line = next((n for n, row in enumerate(text.splitlines(), 1) if "openapi" in row), 1)
        raise UnreadableDocument(f'{name}:{line}: `openapi` is {version!r}; expected a text such as "3.1.0"')
    return document


def _json(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as broken:
        place = f"{name}:{broken.lineno}"
        raise UnreadableDocument(f"{place}: not JSON: {broken.msg} (column {broken.colno})") from None
    except RecursionError:
        raise UnreadableDocument(f"{name}:1: nested too deep to read") from None
    except ValueError as broken:  # an integer of more digits than Python converts
        raise UnreadableDocument(f"{name}:1: not readable as JSON: {broken}") from None


def _yaml(text: str, name: str) -> object:
    import yaml  # the published and effective documents are JSON: most runs never need it

    class Plain(yaml.SafeLoader):
        """YAML without dates: a contract's timestamps are texts."""

    Plain.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        # A subclass of SafeLoader: it constructs plain values only.
        return _as_json(yaml.load(text, Loader=Plain), name)  # noqa: S506
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark or broken.context_mark
        line = mark.line + 1 if mark else 1
        raise UnreadableDocument(f"{name}:{line}: not YAML: {broken.problem or broken.context}") from None
    except yaml.YAMLError as broken:
        at = getattr(broken, "position", 0)
        raise UnreadableDocument(
            f"{name}:{text[:at].count(chr(10)) + 1}: not YAML: {str(broken).splitlines()[0]}"
        ) from None
    except RecursionError:
        raise UnreadableDocument(f"{name}:1: nested too deep to read") from None
    except (ValueError, TypeError) as broken:
        if isinstance(broken, UnreadableDocument):
            raise
        raise UnreadableDocument(f"{name}:1: not readable as YAML: {broken}") from None


def _as_json(value: object, name: str) -> object:
    """Give a YAML value the form JSON would have given it: keys are texts, nothing is shared or circular."""
    left = _MOST_NODES

    def plain(node: object, above: frozenset[int]) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise UnreadableDocument(f"{name}:1: aliases expand to more than {_MOST_NODES:,} values")
        if id(node) in above:
            raise UnreadableDocument(f"{name}:1: an alias holds itself; a contract document is a tree")
        if isinstance(node, dict):
            inside = above | {id(cast("object", node))}
            members = cast("dict[object, object]", node).items()
            return {_key(key): plain(child, inside) for key, child in members}
        if isinstance(node, list):
            inside = above | {id(cast("object", node))}
            return [plain(child, inside) for child in cast("list[object]", node)]
        if node is None or isinstance(node, str | int | float):
            return node
        raise UnreadableDocument(f"{name}:1: holds a {type(node).__name__}, which JSON does not have")

    return plain(value, frozenset())


def _key(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return "an array"
    return "a text" if isinstance(value, str) else "a number or a boolean"
