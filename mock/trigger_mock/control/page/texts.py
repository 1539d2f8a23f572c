"""How text that came from outside stands on the page: escaped, on its own direction, and with every character
that has no shape of its own written out.

A row's text, a tool's name or a header may hold anything. What could turn the line around, hide in it or end
it is shown as `\\u202e`, so that two identifiers that look the same and are not can be told apart. Long texts
are cut, and the whole is one key away. Knows nothing of calls and rows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import orjson
from markupsafe import Markup, escape

#: Characters that a text shows before it is folded, and those that a page shows at all: JSON has the rest.
SHORT = 240
MOST = 100_000
#: Categories of characters without a shape: controls, formats, surrogates, private use, unassigned ones,
#: line and paragraph ends, and blanks that are no plain space.
_SHAPELESS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
#: Marks that stand on one letter; more of them are written out, for they would climb over their neighbours.
_MOST_MARKS = 4
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_PLAIN = re.compile(r"[ -~]+")


def visible(text: object, *, lines: bool = False) -> Markup:
    """A text as it may stand anywhere. `lines`: line ends and tabs are kept, for where those are shown."""
    return Markup("<bdi>{}</bdi>").format(Markup("").join(_pieces(str(text), lines)))


def cut(text: object, most: int = SHORT) -> Markup:
    """A text of one line, cut, and saying so."""
    whole = str(text)
    if len(whole) <= most:
        return visible(whole)
    return visible(whole[:most]) + Markup('<span class="cut">… {} characters</span>').format(
        f"{len(whole):,}"
    )


def folded(text: object, most: int = SHORT) -> Markup:
    """A text of many lines: whole when it is short, else its beginning, which opens to the whole."""
    whole = str(text)
    shown = block(whole)
    if len(whole) <= most and whole.count("\n") < 12:
        return shown
    return Markup(
        '<details class="fold"><summary><span class="start">{}</span> '
        '<span class="cut">… {} characters, open</span></summary>{}</details>'
    ).format(visible(" ".join(whole[:most].split())), f"{len(whole):,}", shown)


def inline(text: object, most: int = SHORT) -> Markup:
    """A text within a line where it is short, else folded."""
    whole = str(text)
    return visible(whole) if len(whole) <= most else folded(whole, most)


def block(text: object) -> Markup:
    """A text of many lines as a block of its own, which scrolls by itself."""
    whole = str(text)
    end = f"\n… {len(whole) - MOST:,} more characters; the JSON has them" if len(whole) > MOST else ""
    return Markup('<pre tabindex="0">{}{}</pre>').format(visible(whole[:MOST], lines=True), end)


def json_block(value: Any) -> Markup:
    """A JSON value, indented."""
    return block(indented(value))


def compact(value: Any) -> Markup:
    """A JSON value within a line, cut; a text without its quotes."""
    return cut(value if isinstance(value, str) else orjson.dumps(value).decode())


def indented(value: Any) -> str:
    """A JSON value with a line an item; what stands in it stays as it was written, to the letter."""
    lines: list[str] = [""]
    depth = 0
    before = ""
    for piece in _TOKEN.findall(orjson.dumps(value).decode()):
        if piece in ("}", "]"):
            depth -= 1
            if before not in ("{", "["):
                lines.append("  " * depth)
        elif before in ("{", "[", ","):
            lines.append("  " * depth)
        lines[-1] += ": " if piece == ":" else piece
        depth += piece in ("{", "[")
        before = piece
    return "\n".join(lines)


def _pieces(text: str, lines: bool) -> Iterator[Markup]:
    at = marks = 0
    while at < len(text):
        plain = _PLAIN.match(text, at)
        if plain:
            marks = 0
            yield escape(plain[0])
            at = plain.end()
            continue
        character = text[at]
        at += 1
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if lines and character in "\n\t":
            yield Markup(character)  # noqa: S704 - one of two blanks
        elif category in _SHAPELESS or marks > _MOST_MARKS:
            name = unicodedata.name(character, f"U+{ord(character):04X}")
            yield Markup('<span class="hidden" title="{}">{}</span>').format(name, _escaped(character))
        else:
            yield escape(character)


def _escaped(character: str) -> str:
    short = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(character)
    number = ord(character)
    return short or (f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}")
