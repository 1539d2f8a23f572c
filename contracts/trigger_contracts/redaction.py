"""Keeping keys out of everything that is written.

A target may echo a key, and reports quote what targets say. A key is recognised in any letter case, and
with any of its characters percent-encoded, JSON-escaped or written as an HTML entity, and in base64 at each
alignment and in hex. A near miss of a key (its first letter or its last cut off, say) tells as much as the
key: its core is enough.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

MASK = "[redacted]"

#: Keys shorter than this are masked only as they are: their core would be found in ordinary words.
_SHORT = 8


class Redactor:
    """Masks a fixed set of secrets in any text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        patterns: list[str] = []
        for secret in sorted({one for one in secrets if one}, key=len, reverse=True):
            if len(secret) < _SHORT:
                patterns.append(rf"(?<!\w){_spelled(secret)}(?!\w)")
                continue
            first, core, last = secret[0], secret[1:-1], secret[-1]
            patterns.append(f"(?:{_spelled(first)})?{_spelled(core)}(?:{_spelled(last)})?")
            half = secret[: max(len(secret) // 2, 6)]
            if len(half) >= _SHORT:
                patterns.append(_spelled(half))
            patterns.extend(_encoded(secret))
        self._pattern = re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def __call__(self, text: str) -> str:
        """The text with every secret masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def _spelled(text: str) -> str:
    return "".join(_character(one) for one in text)


def _character(one: str) -> str:
    """Every usual way to write one character, as a pattern."""
    code = ord(one)
    ways = {
        re.escape(one),
        rf"\\u{code:04x}",
        rf"\\x{code:02x}",
        rf"&\#0*{code};",
        rf"&\#x0*{code:x};",
        *("".join(f"%(?:25)?{byte:02x}" for byte in one.encode("utf-8", "surrogatepass")),),
    }
    if one in '"\\/':
        ways.add(re.escape("\\" + one))
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&(?:apos|#39|#x27);"}.get(one)
    if named:
        ways.add(named)
    return "(?:" + "|".join(sorted(ways, key=len, reverse=True)) + ")"


def _encoded(secret: str) -> list[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    found = [raw.hex()]
    for shift in range(3):
        # The characters of base64 that depend on this secret alone, wherever in a longer text it starts.
        text = base64.b64encode(b"\0" * shift + raw).decode()
        start = (shift * 8 + 5) // 6
        whole = (shift + len(raw)) * 8 // 6
        sure = text[start:whole]
        found.append(_either_alphabet(sure))
    return found


def _either_alphabet(text: str) -> str:
    return "".join({"+": "[+-]", "/": "(?:[/_]|%2f)"}.get(one, re.escape(one)) for one in text)
