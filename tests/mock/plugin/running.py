"""Running pytest with the plugin as its users do: in a process of its own, on a folder of test files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PATIENCE = 300.0
#: What the tests of a folder share: a client that is under test.
CLIENT = """
import json
import urllib.error
import urllib.request

import pytest


def send(bench, body):
    request = urllib.request.Request(bench.endpoint, json.dumps(body).encode(), bench.headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
"""


def command(folder: Path, *arguments: str) -> list[str]:
    """pytest with the plugin and xdist, and nothing of this run's own settings; warnings are errors."""
    plugins = ["-p", "trigger_mock.plugin", "-p", "xdist", "-p", "no:cacheprovider"]
    settings = ["-W", "error", "--basetemp", str(folder / "base")]
    return [sys.executable, "-m", "pytest", *plugins, *settings, *arguments]


def environment(**variables: str) -> dict[str, str]:
    """This environment without what concerns this run alone."""
    ours = ("TRIGGER_MOCK_", "PYTEST_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join(path for path in sys.path if path)
    return kept | {
        "PYTHONPATH": path,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "200",
        **variables,
    }


def run_pytest(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        command(folder, *arguments),
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def run_tests(
    folder: Path, tests: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run these tests, which may use the client."""
    (folder / "test_client.py").write_text(CLIENT + tests, "utf-8")
    return run_pytest(folder, "test_client.py", *arguments, **variables)
