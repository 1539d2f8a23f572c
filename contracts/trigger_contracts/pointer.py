"""JSON Pointers (RFC 6901): how the kit names a place in a document.

Written as URI fragments without percent-encoding (`#/components/schemas/Memory`), `#` being the whole
document. Knows nothing of OpenAPI.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast


def pointer(path: Iterable[str | int]) -> str:
    """Write the keys and indexes that lead to a place as a pointer."""
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def steps(text: str) -> list[str]:
    """Split a pointer, with or without its `#`, into its unescaped steps."""
    body = text.removeprefix("#")
    if not body:
        return []
    if not body.startswith("/"):
        raise ValueError(f"{text!r} is no JSON Pointer: expected '#' or a text that starts with '/' or '#/'")
    return [step.replace("~1", "/").replace("~0", "~") for step in body[1:].split("/")]


def resolve(document: object, text: str) -> Any:
    """Return what stands at a pointer; `LookupError` names the step that leads nowhere."""
    here = document
    for step in steps(text):
        if isinstance(here, dict) and step in here:
            here = cast("dict[str, object]", here)[step]
        elif (
            isinstance(here, list)
            and step.isascii()
            and step.isdigit()
            and int(step) < len(cast("list[object]", here))
        ):
            here = cast("list[object]", here)[int(step)]
        else:
            raise LookupError(f"{text}: nothing at {step!r}")
    return here
