"""JSON pointers (RFC 6901) into a decoded answer: what is there, taken away, put there.

A pointer that leads nowhere in this answer leaves it as it is. Knows nothing of HTTP.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from trigger_mock.json_values import is_array, is_object

#: What `found` gives where nothing is.
NOTHING = object()


def found(document: Any, pointer: str) -> Any:
    """The value at a pointer, or `NOTHING`."""
    value = document
    for step in _steps(pointer):
        value = _child(value, step)
        if value is NOTHING:
            break
    return value


def removed(document: Any, pointer: str) -> None:
    """Take the value at a pointer away."""
    parent, step = _parent(document, pointer)
    if _child(parent, step) is not NOTHING:
        del parent[step if is_object(parent) else int(step)]


def put(document: Any, pointer: str, value: Any) -> None:
    """Have a copy of this value at a pointer: in place of another, as a new field, or (`-`) as a last
    item.
    """
    value = deepcopy(value)  # what is put there may be changed by the next pointer
    parent, step = _parent(document, pointer)
    if is_object(parent):
        parent[step] = value
    elif is_array(parent) and step == "-":
        parent.append(value)
    elif _child(parent, step) is not NOTHING:
        parent[int(step)] = value


def _parent(document: Any, pointer: str) -> tuple[Any, str]:
    above, _, step = pointer.rpartition("/")
    return found(document, above), _unescaped(step)


def _steps(pointer: str) -> list[str]:
    return [_unescaped(step) for step in pointer.split("/")[1:]]


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _child(value: Any, step: str) -> Any:
    if is_object(value):
        return value.get(step, NOTHING)
    if is_array(value) and step.isascii() and step.isdecimal() and (step == "0" or step[0] != "0"):
        at = int(step) if len(step) < 10 else len(value)
        return value[at] if at < len(value) else NOTHING
    return NOTHING
