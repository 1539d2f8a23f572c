"""What is shown of a call holds no key of this server, wherever a client put one.

Judging a text by all ways in which a key can be written is slow, and nearly no text holds one: a text is
first asked for parts of the keys, as it is and with its escapes undone, and only one that has some is judged.
Knows nothing of HTTP.
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
from trigger_mock.benches import Bench, Benches
from trigger_mock.json_values import is_array, is_object

#: Keys that were made for benches are told by their form, however many benches there are.
_MADE = re.compile(r"xtk_bench_[\w-]{8,}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
#: Shorter keys are looked for as they are.
_SHORT = 8

Mask = Callable[[str], str]


def mask_of(benches: Benches, bench: Bench) -> Mask:
    """What hides the keys of the server in a text about this bench."""
    keys = {
        key.key
        for each in benches
        for organisation in each.store.organisations.values()
        for key in organisation.keys
        if each is bench or _MADE.fullmatch(key.key) is None
    }
    return _secrets(frozenset(keys))


@lru_cache(maxsize=64)
def _secrets(keys: frozenset[str]) -> Mask:
    return _Secrets(keys)


class _Secrets:
    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = tuple(keys)
        self._parts = tuple({part.lower() for key in self._keys for part in _parts(key)})
        self._redactor: Redactor | None = None

    def __call__(self, text: str) -> str:
        if self._suspects(text) or (any(mark in text for mark in "%\\&") and self._suspects(_undone(text))):
            if self._redactor is None:
                self._redactor = Redactor(self._keys)
            text = self._redactor(text)
        return _MADE.sub(MASK, text) if "_" in text else text

    def _suspects(self, text: str) -> bool:
        lowered = text.lower()
        return any(part in lowered for part in self._parts)


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


def clean(value: Any, mask: Mask) -> Any:
    """A JSON value that any encoder takes, without keys: what is no number of JSON, or too large, as text."""
    if isinstance(value, str):
        return mask(encodable(value))
    if is_object(value):
        return {mask(encodable(str(name))): clean(each, mask) for name, each in value.items()}
    if is_array(value):
        return [clean(each, mask) for each in value]
    if isinstance(value, float):
        text = str(getattr(value, "text", value))
        return float(value) if value - value == 0 else text
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return f"an integer of {value.bit_length()} bits"
    return value


def encodable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()


def body_of(raw: bytes, mask: Mask, *, deepest: int = 200) -> tuple[orjson.Fragment | None, str | None]:
    """A body as JSON, to the letter, or else as text: what JSON's strict readers refuse, or nests deeper than
    many of them read.
    """
    text = mask(raw.decode("utf-8", "replace"))
    try:
        kept = text.encode()
        value = orjson.loads(kept)
    except ValueError:
        return None, encodable(text)
    if raw.count(b"[") + raw.count(b"{") > deepest and _deeper_than(value, deepest):
        return None, text
    return orjson.Fragment(kept), None


def _deeper_than(value: Any, levels: int) -> bool:
    inside = [value]
    for _ in range(levels):
        inside = [
            each
            for outer in inside
            if isinstance(outer, (dict, list))
            for each in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(each, (dict, list))
        ]
        if not inside:
            return False
    return True
