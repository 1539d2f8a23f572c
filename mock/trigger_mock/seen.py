"""How an input is shown back to whoever sent it: short, and always valid JSON in valid UTF-8.

A validation entry carries the `input` that failed. Clients send megabytes, NaN, lone surrogates and nests of
a thousand arrays; what comes back is bounded and can be encoded.
"""

from __future__ import annotations

import math
import re
from typing import Any

from trigger_mock.numbers import Number

LONGEST_TEXT = 200
MOST_ITEMS = 20
DEEPEST = 4

_SURROGATE = re.compile("[\ud800-\udfff]")


def shown(value: Any, depth: int = 0) -> Any:
    """A copy of a JSON value: long texts and lists cut (and saying so), deep nests closed, unencodable
    characters replaced.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Number) or (isinstance(value, float) and not math.isfinite(value)):
        return _number(value)
    if isinstance(value, dict):
        if depth == DEEPEST:
            return {"…": f"{len(value)} more"} if value else {}
        items = list(value.items())
        some = {_text(str(key)): shown(item, depth + 1) for key, item in items[:MOST_ITEMS]}
        return some | ({"…": f"{len(items) - MOST_ITEMS} more"} if len(items) > MOST_ITEMS else {})
    if isinstance(value, list):
        if depth == DEEPEST:
            return [f"… {len(value)} more"] if value else []
        some_items = [shown(item, depth + 1) for item in value[:MOST_ITEMS]]
        return some_items + ([f"… {len(value) - MOST_ITEMS} more"] if len(value) > MOST_ITEMS else [])
    return value


def _text(text: str) -> str:
    cut = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}… ({len(text)} characters)"
    return _SURROGATE.sub("\ufffd", cut)


def _number(value: float) -> float | str:
    text = value.text if isinstance(value, Number) else repr(value)
    return float(value) if math.isfinite(value) and len(text) <= 17 else _text(text)
