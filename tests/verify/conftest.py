"""Prints the table of the proof of bite after a run that held it, from whichever workers."""

from __future__ import annotations

import pytest

_caught: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "caught by":
                _caught[report.nodeid.rpartition("[")[2].rstrip("]")] = str(value)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _caught:
        terminalreporter.section(f"proof of bite: {len(_caught)} wrong servers caught")
        for name, promises in sorted(_caught.items()):
            terminalreporter.write_line(f"{name:<34} {promises}")
