"""Keeping keys out of everything that is written.

A target may echo a key, and reports quote what targets say. A key is recognised in any letter case, and
with any of its characters percent-encoded, JSON-escaped or written as an HTML entity, backwards, in hex, and
in base64 at each alignment. A part of a key (cut off by whoever shortened a text, say) tells nearly as much
as the key: half of it in a row is enough. The near misses of a key, which the run itself sends, are masked
whole where they hold no such part. What a target does to a key beyond that (encryption, a word put
between its letters) is not seen.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from trigger_contracts.near import near_keys

MASK = "[redacted]"

#: Keys shorter than this are masked only as they are: their core would be found in ordinary words.
_SHORT = 8


class Redactor:
    """Masks a fixed set of secrets in any text, and what this run makes of them to try a door."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({one for one in secrets if one}, key=len, reverse=True)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Made when there is something to search: for a long key it takes a third of a second."""
        patterns: list[str] = []
        for secret in self._secrets:
            if len(secret) < _SHORT:
                patterns.append(rf"(?<!\w){_spelled(secret)}(?!\w)")
                continue
            patterns += [*_parts(secret), _spelled(secret[::-1]), *_encoded(secret)]
            for near, _ in near_keys(secret, "").values():
                if not _shares_a_half(near, secret) and len(near) >= _SHORT:
                    patterns += [_spelled(near), _spelled(near[::-1]), *_encoded(near)]
        return re.compile("|".join(patterns), re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """The text with every secret masked."""
        return self._pattern.sub(MASK, text) if text and self._secrets else text


def _shares_a_half(text: str, secret: str) -> bool:
    """Whether a text is masked for the part of the secret in it."""
    least = max(_SHORT, (len(secret) + 1) // 2)
    folded = text.lower()
    return any(secret[at : at + least].lower() in folded for at in range(len(secret) - least + 1))


def _parts(secret: str) -> Iterator[str]:
    """Every run of the secret that is at least half of it, the longest that stands there."""
    letters = [_character(one) for one in secret]
    least = max(_SHORT, (len(secret) + 1) // 2)
    for start in range(len(secret) - least + 1):
        rest = ""
        for letter in reversed(letters[start + least :]):
            rest = f"(?:{letter}{rest})?"
        yield "".join(letters[start : start + least]) + rest


def _spelled(text: str) -> str:
    return "".join(_character(one) for one in text)


def _character(one: str) -> str:
    """Every usual way to write one character, as a pattern."""
    code = ord(one)
    ways = {
        re.escape(one),
        rf"\\u{code:04x}",
        rf"\\x{code:02x}",
        rf"&\#0*{code}(?:;|(?!\d))",
        rf"&\#x0*{code:x}(?:;|(?![0-9a-f]))",
        *("".join(f"%(?:25)?{byte:02x}" for byte in one.encode("utf-8", "surrogatepass")),),
    }
    if one in '"\\/':  # JSON within JSON puts a backslash before the backslash
        ways.add(rf"\\+{re.escape(one)}")
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
