"""The markdown block that `mode=compose` puts before an agent.

Form: a heading, then one bullet a row, `- **[LESSON]** …` or `- **[PROCEDURE]** …`, its reason and the
trigger that fired behind the text, a procedure's steps as a numbered list below. Contract:
`SearchResponse.context`.

Row text is data from past sessions and may be hostile. It cannot leave its line, and so can be neither a
heading nor another bullet: every kind of line break and control character becomes a blank, characters that
reorder or hide text are dropped, and a step cannot open with a block marker. It cannot close a tag or open
one; the label of a bullet is escaped, and a backtick without a partner too. Everything else stands as it was
recorded: what a line claims of itself remains a claim. Knows nothing of HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from trigger_fixtures import Row

HEADING = "## Lessons and procedures from past sessions"

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_REORDERING_OR_HIDDEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_TAG = re.compile(r"<(?=[A-Za-z]|\s*[/!?])")
_CLOSING_TAG = re.compile(r"<(?=\s*[/!?])")
_LABEL = re.compile(r"\[(?=\s*(?:LESSON|PROCEDURE)\s*\\?\])", re.IGNORECASE)
_BLOCK_MARKER = re.compile(r"(?=[#>|=*+~`\[-]|_ *_ *_)|\d+(?=[.)](?:\s|$))")
_SURROGATE = re.compile("[\ud800-\udfff]")


def compose(kept: Iterable[tuple[Row, tuple[str, ...], str]]) -> str | None:
    """Return the block of these rows (each with the entities that fired it and the reason it stays); None
    when there are none.
    """
    items = [_item(row, matched_on, because) for row, matched_on, because in kept]
    return "\n".join([HEADING, "", *items]) + "\n" if items else None


def one_line(text: str) -> str:
    """A text that cannot leave its line, nor open or close a tag, nor bear the label of a bullet."""
    line = _LABEL.sub(r"\\[", _TAG.sub("&lt;", _on_one_line(text)))
    if line.count("`") % 2:
        head, _, tail = line.rpartition("`")
        line = f"{head}\\`{tail}"
    return line


def _on_one_line(text: str) -> str:
    shown = _SURROGATE.sub("\ufffd", _REORDERING_OR_HIDDEN.sub("", text))
    return " ".join(_CONTROL.sub(" ", shown).split())


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
    """An inline code span whose fence is longer than any run of backticks within.

    Entities are not decoded in it, so only what would close a tag is escaped: `Vec<u8>` stands as it is.
    """
    line = _LABEL.sub("(", _CLOSING_TAG.sub("&lt;", _on_one_line(entity)))
    runs = re.findall("`+", line)
    if not runs:
        return f"`{line}`"
    fence = "`" * (max(map(len, runs)) + 1)
    return f"{fence} {line} {fence}"
