"""Applying an OpenAPI Overlay 1.0.0 document.

Decides which nodes an action's `target` selects and how `update` and `remove` change them: objects merge
recursively, arrays grow by the entries of the update, anything else is replaced; actions apply in order, each
to the result of the one before; a target that selects nothing is no error.

Of JSONPath (RFC 9535) it reads what an overlay of ours needs and refuses the rest by name: `$`, `.name`,
`.*`, `[*]`, `[0]`, `['name']`, `['one', 'two']` and `[?match(@, 'pattern')]`, which selects the texts that
match as a whole.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

Step = str | int
Path = tuple[Step, ...]
#: Of one node: the keys or indexes of the children that a segment selects.
Selector = Callable[[object], Iterator[Step]]

_SEGMENT = re.compile(
    r"""\.(?P<name>[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*)
      | (?P<all>\.\*|\[\s*\*\s*\])
      | \[\s*(?P<index>-?(?:0|[1-9]\d*))\s*\]
      | \[\s*(?P<names>'[^'\\]*'(?:\s*,\s*'[^'\\]*')*)\s*\]
      | \[\s*\?\s*match\(\s*@\s*,\s*'(?P<pattern>[^']*)'\s*\)\s*\]
    """,
    re.VERBOSE,
)


class OverlayError(ValueError):
    """The overlay document says something that cannot be applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step of an overlay: what it selects, why, and what it does there."""

    target: str
    description: str
    update: Any = None
    remove: bool = False


def actions(overlay: Mapping[str, Any]) -> tuple[Action, ...]:
    """Read the actions of an overlay document."""
    if not str(overlay.get("overlay", "")).startswith("1.0."):
        raise OverlayError(f"overlay: {overlay.get('overlay')!r}; expected 1.0.0")
    return tuple(
        Action(
            target=entry["target"],
            description=entry.get("description", ""),
            update=entry.get("update"),
            remove=entry.get("remove") is True,
        )
        for entry in overlay["actions"]
    )


def apply(document: dict[str, Any], action: Action) -> tuple[Path, ...]:
    """Apply one action in place; return the places it selected."""
    selected = tuple(select(document, action.target))
    if action.remove:
        # From the end, so that removing one entry of an array does not move the next.
        for path in reversed(selected):
            _remove(document, path)
    elif action.update is not None:
        for path in selected:
            _update(document, path, action.update)
    return selected


def select(document: object, target: str) -> Iterator[Path]:
    """Yield the path of every node that a target selects, in document order."""
    found: list[tuple[Path, object]] = [((), document)]
    for selector in _selectors(target):
        found = [((*path, step), cast("Any", node)[step]) for path, node in found for step in selector(node)]
    return (path for path, _ in found)


def merge(old: object, new: object) -> object:
    """Return what an `update` of `old` by `new` leaves."""
    if isinstance(old, dict) and isinstance(new, dict):
        merged = dict(cast("dict[str, object]", old))
        for key, value in cast("dict[str, object]", new).items():
            merged[key] = merge(merged[key], value) if key in merged else copy.deepcopy(value)
        return merged
    if isinstance(old, list) and isinstance(new, list):
        return [*cast("list[object]", old), *copy.deepcopy(cast("list[object]", new))]
    return copy.deepcopy(new)


def _selectors(target: str) -> Iterator[Selector]:
    if not target.startswith("$"):
        raise OverlayError(f"target {target!r}: expected a JSONPath that starts with $")
    at = 1
    while at < len(target):
        segment = _SEGMENT.match(target, at)
        if segment is None:
            raise OverlayError(f"target {target!r}: cannot read {target[at:]!r}")
        at = segment.end()
        if segment["all"]:
            yield _every
        elif segment["index"]:
            yield _entry(int(segment["index"]))
        elif segment["pattern"] is not None:
            yield _matching(re.compile(segment["pattern"]))
        else:
            names = [segment["name"]] if segment["name"] else re.findall(r"'([^']*)'", segment["names"])
            yield _members(names)


def _children(node: object) -> Iterator[tuple[Step, object]]:
    if isinstance(node, dict):
        yield from cast("dict[str, object]", node).items()
    elif isinstance(node, list):
        yield from enumerate(cast("list[object]", node))


def _every(node: object) -> Iterator[Step]:
    return (step for step, _ in _children(node))


def _entry(index: int) -> Selector:
    def entry(node: object) -> Iterator[Step]:
        if isinstance(node, list):
            size = len(cast("list[object]", node))
            if -size <= index < size:
                yield index % size

    return entry


def _members(names: list[str]) -> Selector:
    def members(node: object) -> Iterator[Step]:
        return (name for name in names if isinstance(node, dict) and name in node)

    return members


def _matching(pattern: re.Pattern[str]) -> Selector:
    def matching(node: object) -> Iterator[Step]:
        return (
            step for step, child in _children(node) if isinstance(child, str) and pattern.fullmatch(child)
        )

    return matching


def _remove(document: dict[str, Any], path: Path) -> None:
    if not path:
        raise OverlayError("target $: the whole document cannot be removed")
    parent: Any = document
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]


def _update(document: dict[str, Any], path: Path, new: object) -> None:
    if not path:
        merged = cast("dict[str, Any]", merge(document, new))
        document.update(merged)
        return
    parent: Any = document
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = merge(parent[path[-1]], new)
