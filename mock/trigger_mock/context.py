"""The markdown block that `mode=compose` puts before an agent.

Form: a heading, then one bullet a row, `- **[LESSON]** …` or `- **[PROCEDURE]** …`, its reason and the
trigger that fired behind the text, a procedure's steps as a numbered list below. Contract:
`SearchResponse.context`.

Row text is data from past sessions and may be hostile. It cannot leave its line: every kind of line break and
control character becomes a blank, characters that reorder text are dropped, a step cannot open with a block
marker, a tag cannot be closed or opened, and the marker of a bullet cannot be spoken. Everything else stands
as it was recorded. Knows nothing of HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from trigger_fixtures import Row

HEADING = "## Lessons and procedures from past sessions"

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCK_MARKER = re.compile(r"(?=[#>|=*+~`\[-]|_ *_ *_)|\d+(?=[.)](?:\s|$))")
_SURROGATE = re.compile("[\ud800-\udfff]")


def compose(kept: Iterable[tuple[Row, tuple[str, ...], str]]) -> str | None:
    """Return the block of these rows (each with the entities that fired it and the reason it stays); None
    when there are none.
    """
    items = [_item(row, matched_on, because) for row, matched_on, because in kept]
    return "\n".join([HEADING, "", *items]) + "\n" if items else None


def one_line(text: str) -> str:
    """A text that cannot leave its line, open or close a tag, or look like a bullet of ours."""
    line = " ".join(_CONTROL.sub(" ", _REORDERING.sub("", text)).split())
    return _TAG.sub("&lt;", _SURROGATE.sub("\ufffd", line)).replace("**[", r"\*\*[")


def _item(row: Row, matched_on: tuple[str, ...], because: str) -> str:
    fired = ", ".join(map(_code, matched_on))
    label = f"**[{row.type.upper()}]**"
    return f"- {label} {_line(row.text)} ({_line(because)}; fired by {fired}){_steps(row.steps)}"


@lru_cache(maxsize=8192)
def _line(text: str) -> str:
    return one_line(text)


@lru_cache(maxsize=8192)
def _steps(steps: tuple[str, ...] | None) -> str:
    if not steps:
        return ""
    return "".join(f"\n  {number}. {_after_marker(one_line(step))}" for number, step in enumerate(steps, 1))


def _after_marker(line: str) -> str:
    """A line that may follow a list marker without opening a block of its own: its first marker is
    escaped.
    """
    marker = _BLOCK_MARKER.match(line)
    return f"{line[: marker.end()]}\\{line[marker.end() :]}" if marker else line


@lru_cache(maxsize=8192)
def _code(entity: str) -> str:
    """An inline code span whose fence is longer than any run of backticks within."""
    line = one_line(entity)
    runs = re.findall("`+", line)
    if not runs:
        return f"`{line}`"
    fence = "`" * (max(map(len, runs)) + 1)
    return f"{fence} {line} {fence}"
