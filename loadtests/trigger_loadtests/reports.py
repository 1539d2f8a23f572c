"""The account of a run as files: JSON, a page, CSV, JUnit; and as text for the terminal."""

from __future__ import annotations

import csv as comma_separated
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import orjson

from trigger_loadtests import junit as junit_file
from trigger_loadtests import page
from trigger_loadtests.table import render

Account = Mapping[str, Any]


def version() -> str:
    """Return the version of the kit."""
    try:
        return installed("trigger-kit")
    except PackageNotFoundError:
        return "0 (not installed)"


def table(account: Account) -> str:
    """Return the account as text."""
    return render(account, colour=sys.stdout.isatty())


def unwritable(*paths: Path | None) -> str | None:
    """Say which of these files could not be written: better known before a run than after it."""
    for path in paths:
        if path is None:
            continue
        try:
            with path.open("ab"):
                pass
        except OSError as error:
            return f"{path} cannot be written: {error.strerror}"
    return None


def write(
    account: Account,
    *,
    html: Path | None = None,
    json: Path | None = None,
    csv: Path | None = None,
    junit: Path | None = None,
) -> None:
    """Write what was asked for."""
    if json:
        json.write_bytes(orjson.dumps(account, option=orjson.OPT_INDENT_2) + b"\n")
    if html:
        html.write_text(page.render(account), encoding="utf-8")
    if csv:
        _write_csv(account, csv)
    if junit:
        junit.write_bytes(junit_file.render(account))


_COLUMNS = (
    "at",
    "seconds",
    "wanted",
    "sent",
    "answered",
    "throttled",
    "failed",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
)


def _write_csv(account: Account, path: Path) -> None:
    """Write the timeline, one line a slice; a column for each reason of failure that occurred."""
    line = account["timeline"]
    reasons = sorted({reason for part in line for reason in part["failures"]})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = comma_separated.writer(file)
        writer.writerow([*_COLUMNS, *(f"failed:{reason}" for reason in reasons)])
        for part in line:
            known = {**part, "failed": sum(part["failures"].values())}
            writer.writerow(
                [*("" if known[name] is None else known[name] for name in _COLUMNS)]
                + [part["failures"].get(reason, 0) for reason in reasons]
            )
