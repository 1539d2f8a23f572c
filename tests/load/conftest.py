"""Toy servers and runs of the command, each in a process of its own and bounded in time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.load import toy

ROOT = Path(__file__).resolve().parents[2]


#: A machine on which a process waits for a CPU this much of the time cannot tell a slow generator from a busy
#: machine. The kernel says so, not the generator that is being tested.
STARVED_PERCENT = 2.0


class Ended(NamedTuple):
    """A run of the command that has ended."""

    code: int
    out: str
    err: str
    account: dict[str, Any]

    @property
    def starved(self) -> bool:
        """Whether it has no verdict because this machine had no CPU for it."""
        return (
            self.code == 3
            and "its machine was too busy" in self.account["verdict"]["why"]
            and max(self.account["generator"]["cpu_waited_percent"]) > STARVED_PERCENT
        )


def skip_if_starved(out: str) -> None:
    """Skip where the table of a run says that the kernel kept the generator waiting for a CPU."""
    waited = re.search(r"its machine was too busy \(it waited for a CPU (\d+) %", " ".join(out.split()))
    if waited and int(waited[1]) > STARVED_PERCENT:
        pytest.skip(waited[0])


def surroundings(key: str | None = toy.KEY) -> dict[str, str]:
    """Return an environment with this key and none of the caller's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIGGER_")}
    paths = [str(ROOT / part) for part in ("mock", "contracts", "fixtures", "loadtests", ".")]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), **({"TRIGGER_API_KEY": key} if key else {})}


def start(*arguments: str, key: str | None = toy.KEY) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "trigger_loadtests", *arguments],
        env=surroundings(key),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start toy servers by their options; return their URLs; end them with the test."""
    running: list[subprocess.Popen[str]] = []

    def serve(*options: str) -> str:
        command = [sys.executable, "-m", "tests.load.toy", *options]
        server = subprocess.Popen(command, env=surroundings(), cwd=ROOT, stdout=subprocess.PIPE, text=True)
        running.append(server)
        assert server.stdout is not None
        return server.stdout.readline().strip()

    yield serve
    for server in running:
        server.kill()
        server.wait(10)
        assert server.stdout is not None
        server.stdout.close()


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Ended]:
    """Run the command to its end and read its account; skip where this machine has no CPU for it."""

    def load(*arguments: str, key: str | None = toy.KEY) -> Ended:
        ended = once(*arguments, key=key)
        if ended.starved:
            pytest.skip(ended.account["verdict"]["why"])
        return ended

    def once(*arguments: str, key: str | None) -> Ended:
        path = tmp_path / "account.json"
        path.unlink(missing_ok=True)
        process = start(*arguments, "--json", str(path), key=key)
        out, err = process.communicate(timeout=170)
        text = path.read_text() if path.exists() else ""
        return Ended(process.returncode, out, err, json.loads(text) if text else {})

    return load
