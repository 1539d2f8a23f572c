"""The `X-Request-Id` that signs every answer: the caller's own when it is sane, else a new one.

Sane is what a log line and a header can carry without being forged. Knows nothing of Flask or of a server.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@~-]{0,127}")


def generated() -> str:
    """A new id, like no other."""
    return str(uuid.uuid4())


def signature(sent: str, generate: Callable[[], str] = generated) -> str:
    """The id that answers a request which sent this one (empty for none)."""
    return sent if _SANE.fullmatch(sent) else generate()
