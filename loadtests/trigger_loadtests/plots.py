"""Plots as inline SVG: several lines on one frame, readable without scripts or fonts of our own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 860, 250
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 26, 34

COLOURS = ("#1f5fa8", "#c2511b", "#2e7d4f", "#7b3f9e", "#a8860c", "#555f6b", "#b3264a", "#1f8a9c")


class Series(NamedTuple):
    """A named line; a missing value breaks it. `dots`: also mark the points."""

    name: str
    points: Sequence[tuple[float, float | None]]
    dots: bool = False
    dashed: bool = False


def plot(title: str, series: Sequence[Series], *, x_label: str, y_label: str) -> str:
    """Return a plot, or a sentence when there is nothing to plot."""
    values = [y for line in series for _, y in line.points if y is not None]
    xs = [x for line in series for x, _ in line.points]
    if not values or not xs:
        return f"<figure><figcaption>{escape(title)}</figcaption><p>Nothing was measured.</p></figure>"
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1e-9)
    y_high = _round_up(max(values) or 1.0)

    def place(x: float, y: float) -> str:
        across = LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - y / y_high * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    parts = [_frame(x_low, x_high, y_high, x_label, y_label)]
    parts.extend(
        _line(
            line, COLOURS[number % len(COLOURS)], [None if y is None else place(x, y) for x, y in line.points]
        )
        for number, line in enumerate(series)
    )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>{_legend(series)}"
        f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg></div></figure>'
    )


def _legend(series: Sequence[Series]) -> str:
    items = "".join(
        f'<span><i style="background:{COLOURS[number % len(COLOURS)]}"></i>{escape(line.name)}</span>'
        for number, line in enumerate(series)
    )
    return f'<p class="legend">{items}</p>'


def _line(line: Series, colour: str, places: Sequence[str | None]) -> str:
    runs: list[list[str]] = [[]]
    for place in places:
        if place is None:
            runs.append([])
        else:
            runs[-1].append(place)
    dash = ' stroke-dasharray="6 4"' if line.dashed else ""
    drawn = [
        f'<polyline points="{" ".join(run)}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        for run in runs
        if len(run) > 1
    ]
    marks = [place for run in runs for place in run if line.dots or len(run) == 1]
    drawn.extend(
        f'<circle cx="{place.split(",")[0]}" cy="{place.split(",")[1]}" r="3.5" fill="{colour}"/>'
        for place in marks
    )
    return "".join(drawn)


def _frame(x_low: float, x_high: float, y_high: float, x_label: str, y_label: str) -> str:
    parts: list[str] = []
    for tick in range(5):
        value = y_high * tick / 4
        down = HEIGHT - BOTTOM - tick / 4 * (HEIGHT - TOP - BOTTOM)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down:.1f}" y2="{down:.1f}" class="grid"/>'
            f'<text x="{LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        )
    for tick in range(6):
        value = x_low + (x_high - x_low) * tick / 5
        across = LEFT + tick / 5 * (WIDTH - LEFT - RIGHT)
        parts.append(
            f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_short(value)}</text>'
        )
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{escape(x_label)}</text>'
        f'<text x="4" y="{TOP - 14}" text-anchor="start">{escape(y_label)}</text>'
    )
    return "".join(parts)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"


def _round_up(value: float) -> float:
    """Return the next number of a form that reads well on an axis with four steps."""
    scale = 10.0 ** math.floor(math.log10(value))
    return next(scale * step for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10, 12) if scale * step >= value)
