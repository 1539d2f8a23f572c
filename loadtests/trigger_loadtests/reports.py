"""The account of a run as files: JSON, a page, CSV, JUnit; and as text for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import orjson

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
