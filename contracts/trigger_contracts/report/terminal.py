"""The verdict where a person watches: coloured on a terminal, the plain lines elsewhere."""

from __future__ import annotations

import sys

from trigger_contracts.report.plain import lines
from trigger_contracts.verdict import Verdict

_COLOURS = {
    "BROKEN": "bold red",
    "WARNED": "bold yellow",
    "Not": "bold",
    "Every": "bold green",
    "Promises": "bold red",
    "chapter": "bold",
}


def show(verdict: Verdict) -> None:
    """Print the verdict."""
    if not sys.stdout.isatty():
        encoding = sys.stdout.encoding or "utf-8"
        text = "\n".join(lines(verdict)) + "\n"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines(verdict):
        style = _COLOURS.get(line.partition(" ")[0], "")
        console.print(Text(line, style=style))
