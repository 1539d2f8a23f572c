"""`python -m benchmarks.mock [--quick] [--json FILE] [NAME…]`: measure, and print what held."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

from benchmarks.mock import footprint, journal, one_server, recall, request_path, start, waiting
from benchmarks.mock.measure import Measure

PARTS: dict[str, Callable[..., Iterator[Measure]]] = {
    "request": request_path.run,
    "server": one_server.run,
    "recall": recall.run,
    "footprint": footprint.run,
    "start": start.run,
    "waiting": waiting.run,
    "journal": journal.run,
}
_VERDICTS = {True: "met", False: "MISSED", None: "-"}


@click.command()
@click.option("--quick", is_flag=True, help="Fewer rounds and smaller stores: a minute and a half at most.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures to a file too.",
)
@click.argument("names", nargs=-1, type=click.Choice(list(PARTS)))
def main(names: tuple[str, ...], json_file: Path | None, *, quick: bool) -> None:
    """Measure the mock against its floor. NAMES choose parts; without any, all are measured.

    Exit code 0 when every bound that could be measured holds, 1 otherwise.
    """
    signal.signal(signal.SIGTERM, _leave)
    began = time.monotonic()
    about = _about()
    click.echo(" · ".join(f"{name} {value}" for name, value in about.items()))
    measures: list[Measure] = []
    for name in names or PARTS:
        for measure in PARTS[name](quick=quick):
            measures.append(measure)
            click.echo(line(measure))
    click.echo(f"measured in {time.monotonic() - began:.0f} s")
    if json_file is not None:
        told = [{**asdict(measure), "met": measure.met} for measure in measures]
        json_file.write_text(json.dumps({"about": about, "quick": quick, "measures": told}, indent=2) + "\n")
    sys.exit(any(measure.met is False for measure in measures))


def line(measure: Measure) -> str:
    """A line of the table: what, measured, bound, verdict, and what is behind it."""
    value = "-" if measure.value is None else _figure(measure.value, measure.unit)
    bound = ""
    if measure.at_most is not None:
        bound = f"≤ {_figure(measure.at_most, measure.unit)}"
    elif measure.at_least is not None:
        bound = f"≥ {_figure(measure.at_least, measure.unit)}"
    return f"{measure.what:<62} {value:>9}  {bound:<9} {_VERDICTS[measure.met]:<7} {measure.detail}"


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f} {unit}" if unit == "×" else f"{value:.0f} {unit}"


def _about() -> dict[str, str]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _leave(_signal: int, _frame: FrameType | None) -> None:
    # As an exception, so that every server on the way out is stopped.
    sys.exit(143)


if __name__ == "__main__":
    main()
