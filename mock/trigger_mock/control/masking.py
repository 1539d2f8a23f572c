"""What is shown of a call, with every key of the server masked: a client may put one anywhere, and an answer
may echo it.

Judging a text by all ways in which a key can be written is slow, and nearly no text holds one: a text is
first asked for parts of the keys, as it is and with its escapes undone, and only one that has some is judged.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import orjson

from trigger_contracts.redaction import MASK, Redactor
from trigger_mock.benches import Bench
from trigger_mock.control.room import benches
from trigger_mock.json_values import is_array, is_object

Mask = Callable[[str], str]

#: Keys that were made for benches are told by their form, however many benches there are.
_MADE = re.compile(r"xtk_bench_[\w-]{8,}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
#: Shorter keys are looked for as they are.
_SHORT = 8
#: JSON that nests deeper is shown as text: many readers go no further.
_DEEPEST = 200


def mask_of(bench: Bench) -> Mask:
    """What masks the keys of the server in any text about this bench, and makes the text encodable."""
    return _masking(
        frozenset(
            key.key
            for each in benches()
            for organisation in each.store.organisations.values()
            for key in organisation.keys
            if each is bench or _MADE.fullmatch(key.key) is None
        )
    )


class _Masking:
    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = tuple(keys)
        self._parts = tuple({part.lower() for key in self._keys for part in _parts(key)})
        self._redact: Redactor | None = None

    def __call__(self, text: str) -> str:
        text = text.encode("utf-8", "backslashreplace").decode()
        if self._suspects(text) or (any(mark in text for mark in "%\\&") and self._suspects(_undone(text))):
            if self._redact is None:
                self._redact = Redactor(self._keys)  # takes longer to make than to use
            text = self._redact(text)
        return _MADE.sub(MASK, text) if "_" in text else text

    def _suspects(self, text: str) -> bool:
        lowered = text.lower()
        return any(part in lowered for part in self._parts)


#: By the keys: organisations change, and a mask of the old keys must not outlive them.
_masking = lru_cache(maxsize=64)(_Masking)


def _parts(key: str) -> Iterator[str]:
    """Texts of which one is in whatever gives the key away."""
    if len(key) < _SHORT:
        yield key
        return
    least = max(_SHORT, (len(key) + 1) // 2)
    for start in range(len(key) - least + 1):
        yield key[start : start + least]
    yield key[::-1]
    raw = key.encode()
    yield raw.hex()
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + raw).decode()
        sure = text[(shift * 8 + 5) // 6 : (shift + len(raw)) * 8 // 6]
        # Either alphabet of base64, by what both have in common.
        yield max(re.split(r"[+/]", sure), key=len)


def _undone(text: str) -> str:
    """The text with the usual escapes undone, once more than once."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    return html.unescape(unquote(unquote(text))).replace("\\", "")


def content(raw: bytes, mask: Mask) -> tuple[Any, str | None]:
    """A body as JSON, to the letter, or, where it is none that can be shown as such, as text."""
    text = mask(raw.decode("utf-8", "backslashreplace"))
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None, text
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _is_deep(value):
        return None, text
    return orjson.Fragment(text), None


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [each for outer in level for each in _items(outer)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    return value.values() if is_object(value) else value if is_array(value) else ()


def clean(value: Any, mask: Mask) -> Any:
    """A JSON value that any encoder takes, without keys: a number that is none of JSON's as text."""
    if isinstance(value, str):
        return mask(value)
    if is_object(value):
        return {mask(str(name)): clean(each, mask) for name, each in value.items()}
    if is_array(value):
        return [clean(each, mask) for each in value]
    if isinstance(value, float):
        return float(value) if value - value == 0 else str(getattr(value, "text", value))
    return value
