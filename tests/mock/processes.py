"""Running the command `trigger-mock` as its users do: in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import IO
from urllib.parse import urlsplit

PATIENCE = 30.0
KEY, OTHER_KEY = "xtk_test_north", "xtk_test_south"
FIXTURES = f"""
organisations:
  north: {{keys: [{KEY}, xtk_test_north_second]}}
  south: {{keys: [{OTHER_KEY}]}}
memories:
  - {{organisation: north, type: lesson, user_id: user-123, trigger_entities: [tool_loop.py],
     text: The loop swallows AbortError; re-raise it so that a run can be cancelled.}}
  - {{organisation: north, type: procedure, user_id: user-123, group_ids: [grp_a],
     trigger_entities: [stripe.refunds.create, FIN-409],
     text: How annual invoices are refunded., steps: [Issue a credit note., Close the case.]}}
  - {{organisation: south, type: lesson, user_id: user-123, trigger_entities: [tool_loop.py],
     text: This one belongs to others.}}
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A command that said that it is up."""

    process: subprocess.Popen[str]
    announced: str
    example: str
    _stderr: IO[str]

    @property
    def url(self) -> str:
        found = re.search(r"http://\S+", self.announced)
        assert found, self.announced
        return found[0]

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 0)

    @property
    def log(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """End it; the exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(PATIENCE)


def environment(**variables: str) -> dict[str, str]:
    """This environment without what it says to the mock, and with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIGGER_MOCK_")}
    return kept | {"PYTHONWARNINGS": "error"} | variables


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "trigger_mock", *arguments],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@contextlib.contextmanager
def running(*arguments: str, variables: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Run the command until it answers, and for as long as the context lasts."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "trigger_mock", *arguments],
            env=environment(**(variables or {})),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process,
    ):
        lines: Queue[str] = Queue()
        assert process.stdout is not None
        reader = threading.Thread(target=_read_into, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            announced, example = lines.get(timeout=PATIENCE), lines.get(timeout=PATIENCE)
            yield Running(process, announced, example, stderr)
        except Empty:
            stderr.seek(0)
            raise AssertionError(f"the command did not come up: {stderr.read()}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
            reader.join(PATIENCE)


def _read_into(stream: IO[str], lines: Queue[str]) -> None:
    for line in stream:
        lines.put(line.rstrip("\n"))


def write(folder: Path, text: str = FIXTURES, name: str = "fixtures.yaml") -> str:
    """Write a set of fixtures; its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def run_code(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of Python in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
