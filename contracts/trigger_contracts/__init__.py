"""What the contract of `POST /v1/memories/trigger` says, and how to judge by it.

Importing this package is cheap: no schema library, no web framework, no test tool is loaded before it is
needed, and the document itself is not read before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trigger_contracts.endpoint import ENDPOINT

if TYPE_CHECKING:
    from trigger_contracts.document import (
        Repair,
        Repaired,
        UnreadableDocument,
        effective,
        published,
        published_bytes,
        read,
        repair,
        resolve,
    )

__all__ = [
    "ENDPOINT",
    "Repair",
    "Repaired",
    "UnreadableDocument",
    "effective",
    "published",
    "published_bytes",
    "read",
    "repair",
    "resolve",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("trigger_contracts.document"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
