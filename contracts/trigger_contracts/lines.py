"""On which line of a text, JSON or YAML, the value at each pointer stands."""

from __future__ import annotations

from typing import Any

from trigger_contracts.pointer import pointer


def lines(source: str) -> dict[str, int]:
    """Map each pointer of a JSON or YAML text to its line, from 1; of an unreadable text, nothing."""
    import yaml  # only needed where a person is told a line

    # JSON is YAML but for tabs, which stand only between the tokens of a JSON text.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = source.replace("\t", " ") if source.lstrip()[:1] == "{" else source
    try:
        root = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    found: dict[str, int] = {}
    pending: list[tuple[tuple[str | int, ...], Any, frozenset[int]]] = [((), root, frozenset())]
    while pending and len(found) < 100_000:
        path, node, above = pending.pop()
        if node is None or id(node) in above:
            continue
        found[pointer(path)] = node.start_mark.line + 1
        inside = above | {id(node)}
        if isinstance(node, yaml.MappingNode):
            pending += [((*path, str(key.value)), child, inside) for key, child in node.value]
        elif isinstance(node, yaml.SequenceNode):
            pending += [((*path, at), child, inside) for at, child in enumerate(node.value)]
    return found
