"""What the contract of `POST /v1/memories/trigger` says, and how to judge by it.

Importing this package is cheap: no schema library, no web framework, no test tool is loaded before it is
needed.
"""

from __future__ import annotations

from trigger_contracts.document import (
    ENDPOINT,
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
