"""Prints the table of the proof of bite after a run that held it, from whichever workers."""

from __future__ import annotations

import pytest

_HEADINGS = {
    "caught by": "wrong servers, and what caught them",
    "accused of": "conforming servers, accused of",
}
_judged: dict[str, dict[str, str]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        for name, value in report.user_properties:
            if name in _HEADINGS:
                server = report.nodeid.rpartition("[")[2].rstrip("]")
                _judged.setdefault(name, {})[server] = str(value)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name, table in sorted(_judged.items(), reverse=True):
        terminalreporter.section(f"proof of bite: {len(table)} {_HEADINGS[name]}")
        for server, promises in sorted(table.items()):
            terminalreporter.write_line(f"{server:<34} {promises}")
