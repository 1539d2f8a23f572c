"""What is shown of a call, with every key of its bench masked: a client may put one anywhere, and an answer
may echo it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from trigger_contracts.redaction import Redactor
from trigger_fixtures import Organisation
from trigger_mock.benches import Bench
from trigger_mock.store import Store

Mask = Callable[[str], str]

#: Making one takes longer than using it; organisations are replaced, never changed.
_MADE: WeakKeyDictionary[Store, tuple[Mapping[str, Organisation], Mask]] = WeakKeyDictionary()


def mask_of(bench: Bench) -> Mask:
    """What masks the keys of this bench in any text, and makes the text encodable."""
    organisations = bench.store.organisations
    known = _MADE.get(bench.store)
    if known is not None and known[0] is organisations:
        return known[1]
    redact = Redactor(key.key for organisation in organisations.values() for key in organisation.keys)

    def mask(text: str) -> str:
        return redact(text).encode("utf-8", "backslashreplace").decode()

    _MADE[bench.store] = organisations, mask
    return mask


def content(raw: bytes, mask: Mask) -> tuple[Any, str | None]:
    """A body as JSON, or, where it is none that can be shown as such, as text."""
    text = mask(raw.decode("utf-8", "backslashreplace"))
    try:
        value = orjson.loads(text)
        orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None, text
    return value, None
