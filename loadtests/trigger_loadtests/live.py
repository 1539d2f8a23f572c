"""How a run goes, while it goes: a table that renews itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from trigger_loadtests.histograms import Histogram
from trigger_loadtests.plan import Plan

#: Seconds between lines where nobody watches a terminal.
PLAIN_SECONDS = 5.0


@contextlib.contextmanager
def view(plan: Plan, *, quiet: bool) -> Generator[Callable[[Any], None]]:
    """Yield what the conductor calls to show itself; writes to the error stream only."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as display:
            yield lambda conductor: display.update(_panel(plan, conductor))
    else:
        last = time.monotonic()

        def line(conductor: Any) -> None:
            nonlocal last
            if time.monotonic() - last >= PLAIN_SECONDS:
                last = time.monotonic()
                print(_line(plan, conductor), file=sys.stderr, flush=True)

        yield line


def _now(plan: Plan, conductor: Any) -> dict[str, str]:
    """Return the figures of the last complete slice of time, and the totals."""
    bins = conductor.recorder.bins
    done = sorted(bins)[:-1][-3:]
    width = plan.bin_seconds * max(len(done), 1)
    counts = {name: sum(bins[number].counts[name] for number in done) / width for name in ("due", "sent")}
    failed = sum(bins[number].failures.total() for number in bins)
    throttled = sum(part.counts["throttled"] + part.counts["withheld"] for part in bins.values())
    latest = bins[done[-1]].response if done else None
    lost = sum(member.lost for member in conductor.members.values())
    figures = {
        "time": f"{conductor.elapsed:.0f}/{plan.seconds:.0f} s",
        "wanted": f"{counts['due']:.1f}/s" if plan.model == "open" else "-",
        "sent": f"{counts['sent']:.1f}/s",
        "in flight": str(conductor.in_flight),
        "p50": _ms(latest, 50),
        "p95": _ms(latest, 95),
        "failed": str(failed),
        "throttled": str(throttled),
    }
    if conductor.steps:
        step = conductor.steps[-1]
        figures["last rate"] = f"{step.rate:.1f}/s {'met' if step.met else 'broke'}"
    if lost:
        figures["WORKERS LOST"] = str(lost)
    return figures


def _ms(hist: Histogram | None, percentile: float) -> str:
    value = None if hist is None else hist.percentile(percentile)
    return "-" if value is None else f"{value:.0f} ms"


def _line(plan: Plan, conductor: Any) -> str:
    return "  ".join(f"{name} {value}" for name, value in _now(plan, conductor).items())


def _panel(plan: Plan, conductor: Any) -> Table:
    figures = _now(plan, conductor)
    table = Table(title=f"{plan.profile} · {plan.target}", title_justify="left")
    for name in figures:
        table.add_column(name, justify="right")
    table.add_row(*figures.values())
    return table
