"""Numbers that remember how the client wrote them.

An identifier fires by its JSON text, so `1.50` must stay `1.50`, and an integer of 40 digits all of its
digits; a float holds neither. Knows nothing of requests.
"""

from __future__ import annotations

import json
from typing import Self


class Number(float):
    """A JSON number that Python's own types would round, shorten or refuse."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """Keep the text; as a value it is the nearest float (infinite when beyond its range)."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def integer(text: str) -> int | Number:
    """Read a JSON integer; beyond 64 bits (and what Python agrees to convert) by its text, and so is `-0`."""
    return int(text) if len(text) < 19 and text != "-0" else Number(text)


def json_text(value: bool | float) -> str:
    """The JSON text of a number or boolean as it was sent: `404`, `1.50`, `true`."""
    return value.text if isinstance(value, Number) else json.dumps(value)
