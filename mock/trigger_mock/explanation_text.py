"""An explanation for a reader at a terminal: plain text, the answer first, then what led to it.

Texts of requests and rows are data and may be hostile: no control character and nothing that reorders text
reaches the terminal.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from trigger_mock.explanation import Explanation
from trigger_mock.fates import Fate
from trigger_mock.seen import shown
from trigger_mock.unread import rows, spoken

LONGEST_TEXT = 160
MOST_ROWS = 20


def text_of(explanation: Explanation) -> str:
    """The whole explanation, without a line break at its end."""
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 40), 120)
    return "\n".join(_plain(line) for line in _lines(explanation, width))


def _lines(told: Explanation, width: int) -> Iterator[str]:
    yield from _wrapped(told.summary, width, "", "  ")
    if told.mode is not None:
        scope = ", ".join(f"{axis} {_listed(value)}" for axis, value in told.scope.items()) or "no scope"
        yield f"asked as {spoken(told.organisation)}: {scope}; {' and '.join(told.include)}; mode {told.mode}"
    if told.refusal is not None:
        yield from _section("What to change", told.refusal.lines, told.refusal.left_out, width)
    yield from _section("Not read", [missed.sentence for missed in told.unread], 0, width)
    spoken_of = {missed.field for missed in told.unread}
    others = [hint for hint in told.hints if hint.split(" ", 1)[0] not in spoken_of]
    yield from _section("Hints", others, 0, width)
    if told.mode is not None:
        yield from _fired(told, width)
    yield from _rows(told, width)
    misses = [f"{miss.sentence} ({rows(miss.rows_count)}); {miss.change}" for miss in told.near_misses]
    yield from _section("Nearly fired", misses, told.near_misses_left_out, width)


def _fired(told: Explanation, width: int) -> Iterator[str]:
    count = len(told.identifiers) + told.identifiers_left_out
    source = f" from {told.signal}" if told.signal else ""
    yield from ("", f"Fired{source}: {count} {'identifier' if count == 1 else 'identifiers'}")
    carried = [identifier for identifier in told.identifiers if identifier.rows_count or identifier.elsewhere]
    idle = [
        identifier for identifier in told.identifiers if not (identifier.rows_count or identifier.elsewhere)
    ]
    for identifier in carried:
        elsewhere = f", {identifier.elsewhere} of other organisations" if identifier.elsewhere else ""
        where = ", ".join(map(spoken, identifier.places)) + (", …" if identifier.places_left_out else "")
        line = f"{spoken(identifier.text)}  from {where}: on {rows(identifier.rows_count)}{elsewhere}"
        yield from _wrapped(line, width, "  ")
    if idle:
        named = ", ".join(spoken(identifier.text) for identifier in idle[:12])
        left = len(idle) - 12 + told.identifiers_left_out if len(idle) > 12 else told.identifiers_left_out
        yield from _wrapped(f"on no row: {named}" + (f", and {left} more" if left > 0 else ""), width, "  ")


def _rows(told: Explanation, width: int) -> Iterator[str]:
    if not told.rows and not told.elsewhere:
        return
    yield from ("", "Rows that carry what fired" if told.rows else "Rows of others")
    for fate in told.rows[:MOST_ROWS]:
        yield from _fate(fate, told.organisation, width)
    left_out = told.rows_left_out + len(told.rows[MOST_ROWS:])
    if left_out:
        yield f"  … and {left_out} more; --json tells of {len(told.rows)}"
    if told.elsewhere and all(fate.row.organisation == told.organisation for fate in told.rows):
        yield f"  - of other organisations: {rows(told.elsewhere)}; no key of this one recalls them"


def _fate(fate: Fate, organisation: str, width: int) -> Iterator[str]:
    row = fate.row
    head = f"{fate.rank}." if fate.rank is not None else "-"
    of = "" if row.organisation == organisation else f" of {spoken(row.organisation)}"
    matched = ", ".join(map(spoken, fate.matched_on))
    yield f"  {head} {fate.outcome}: {row.type} {row.id}{of}, matched on {matched}"
    details = [str(shown(row.text))[:LONGEST_TEXT]]
    if fate.because is not None:
        details.append(f"gate: {fate.because} (confidence {fate.confidence})")
    details += fate.reasons
    if fate.change is not None:
        details.append(f"→ {fate.change}")
    for detail in details:
        yield from _wrapped(detail, width, " " * 5)


def _section(title: str, items: list[str] | tuple[str, ...], left_out: int, width: int) -> Iterator[str]:
    if not items:
        return
    yield from ("", title)
    for item in items:
        yield from _wrapped(item, width, "  - ", "    ")
    if left_out:
        yield f"  … and {left_out} more"


def _wrapped(text: str, width: int, indent: str, further: str | None = None) -> list[str]:
    """The lines of a text; of a word that is too long for one, no letter is hidden."""
    return textwrap.wrap(
        _plain(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  " if further is None else further,
        break_on_hyphens=False,
    )


def _listed(value: str | list[str]) -> str:
    if isinstance(value, str):
        return spoken(value)
    return f"{', '.join(map(spoken, value[:5]))}{', …' if len(value) > 5 else ''}"


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
