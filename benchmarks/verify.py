"""How long a verification takes, beside a plain `schemathesis run` on the same mock; ratios within one run.

Wall time: the profiles `quick` and `standard`, with both organisations' keys and the shipped fixtures'
probes, against `schemathesis run … -n 100` with the key and no other setting. Start: from the command to the
first byte that a listener gets. Rate: every request of a `standard` run over its whole time, thinking
included, against one `requests.Session` that does nothing else. The mock counts each key's requests and
refuses none: waiting for a window is no speed.
Run: `python -m benchmarks.verify [--quick]` (about three minutes, or one).
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click
import requests

from benchmarks.mock.__main__ import line
from benchmarks.mock.measure import Measure, interleaved
from benchmarks.mock.processes import PATIENCE, ROOT, UNREACHABLE, free_port, running
from trigger_contracts.document import ENDPOINT
from trigger_contracts.probes import from_fixtures

QUICK, STANDARD, START, RATE = 2.0, 6.0, 1.0, 0.5

KEY, OTHER_KEY = "xtk_demo_acme", "xtk_demo_globex"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("mock", "contracts", "fixtures", ".")),
    "KEY": KEY,
    "OTHER_KEY": OTHER_KEY,
}
#: No single command of this benchmark takes longer.
LONGEST = 300.0


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the mock answers, and a folder for what the commands write."""

    url: str
    folder: Path

    def schemathesis(self, url: str | None = None) -> list[str]:
        """A plain run of Schemathesis on the published contract: 100 examples, the key, nothing else."""
        contract = str(ROOT / "openapi.public.json")
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", contract]
        return [*command, "--url", url or self.url, "-H", f"x-api-key: {KEY}", "-n", "100"]

    def verify(self, profile: str, url: str | None = None) -> list[str]:
        """A verification with both keys and every probe, and with its figures in a file."""
        command = [sys.executable, "-m", "trigger_contracts", url or self.url, "--profile", profile]
        command += ["--api-key-env", "KEY", "--other-api-key-env", "OTHER_KEY"]
        command += ["--probes-from-fixtures", "default", "--seed", "1"]
        return [*command, "--report", f"json={self.figures}"]

    @property
    def figures(self) -> Path:
        """What the last verification counted."""
        return self.folder / "verdict.json"

    def seconds(self, command: Sequence[str], *expected: int) -> float:
        """The wall time of a command, which must end with one of the expected codes."""
        began = perf_counter()
        done = subprocess.run(
            command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, timeout=LONGEST, check=False
        )
        taken = perf_counter() - began
        if done.returncode not in expected:
            said = (done.stdout + done.stderr)[-2000:].decode(errors="replace")
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {said}")
        return taken


def walls(bench: Bench, rounds: int) -> Iterator[Measure]:
    """Both profiles against Schemathesis, whose own run ends with 1: it holds the contract's faults against
    the mock.
    """
    timed = interleaved(
        [
            lambda: bench.seconds(bench.schemathesis(), 0, 1),
            lambda: bench.seconds(bench.verify("quick"), 0),
            lambda: bench.seconds(bench.verify("standard"), 0),
        ],
        rounds,
    )
    for side, (profile, bound) in enumerate((("quick", QUICK), ("standard", STANDARD)), 1):
        yield Measure(
            what=f"profile {profile}, against schemathesis -n 100",
            value=timed.ratio(side),
            at_most=bound,
            detail=f"{timed.median(side):.1f} s against {timed.median(0):.1f} s",
        )


def start(bench: Bench, rounds: int) -> Iterator[Measure]:
    """From the command to the first byte at the target, which hears it and says nothing."""
    timed = interleaved(
        [
            lambda: heard(lambda url: bench.schemathesis(url), bench.folder),
            lambda: heard(lambda url: bench.verify("quick", url), bench.folder),
        ],
        rounds,
    )
    yield Measure(
        what="start to the first request, against schemathesis",
        value=timed.ratio(),
        at_most=START,
        detail=f"{timed.median(1):.2f} s against {timed.median(0):.2f} s",
    )


def heard(command: Callable[[str], list[str]], folder: Path) -> float:
    """Seconds until a command that is given this listener's URL has sent its first byte there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        words = command(f"http://127.0.0.1:{listener.getsockname()[1]}")
        began = perf_counter()
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE)
                if not connection.recv(1):
                    raise RuntimeError(f"{words[0]} connected and sent nothing")
                return perf_counter() - began
        finally:
            # The verification's pytest is in a group of its own, and ends when it is told, or unanswered.
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def rate(bench: Bench, rounds: int) -> Iterator[Measure]:
    """Requests of a `standard` run per second of its whole time, against a loop that only asks."""
    timed = interleaved(
        [lambda: bare(bench.url, seconds=3.0), lambda: driven(bench)],
        rounds,
    )
    yield Measure(
        what="requests per second, against one requests.Session",
        value=timed.ratio(),
        at_least=RATE,
        detail=f"{timed.median(1):.0f}/s against {timed.median(0):.0f}/s",
    )


def bare(url: str, *, seconds: float) -> float:
    """Requests per second of one session that asks for each known row in turn, and only reads the answer."""
    asks: list[dict[str, Any]] = [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in from_fixtures(None, KEY)
    ]
    with requests.Session() as session:
        session.headers["x-api-key"] = KEY
        began = perf_counter()
        for count, ask in enumerate(itertools.cycle(asks), 1):
            answer = session.post(url + ENDPOINT, json=ask, timeout=10)
            answer.raise_for_status()
            answer.json()
            taken = perf_counter() - began
            if taken >= seconds:
                return count / taken
    raise RuntimeError("the shipped fixtures hold nothing to ask for")


def driven(bench: Bench, *more: str) -> float:
    """Requests per second of a whole verification, from its own count and the time on the clock."""
    seconds = bench.seconds([*bench.verify("standard"), *more], 0)
    figures: dict[str, Any] = json.loads(bench.figures.read_text(encoding="utf-8"))
    sent: int = figures["traffic"]["requests"]
    return sent / seconds


PARTS: dict[str, tuple[Callable[[Bench, int], Iterator[Measure]], int, int]] = {
    # part: rounds, and those of --quick; one more round warms up
    "wall": (walls, 3, 1),
    "start": (start, 9, 3),
    "rate": (rate, 3, 1),
}


@click.command()
@click.option("--quick", is_flag=True, help="One round where three are usual.")
@click.argument("names", nargs=-1, type=click.Choice(list(PARTS)))
def main(names: tuple[str, ...], *, quick: bool) -> None:
    """Measure trigger-verify against its bounds. NAMES choose parts; without any, all are measured.

    Exit code 0 when every bound holds, 1 otherwise.
    """
    began = time.monotonic()
    port = free_port()
    measures: list[Measure] = []
    mock = [sys.executable, "-m", "trigger_mock", "--port", str(port), "--rate-limit", UNREACHABLE]
    ask = {"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}
    headers = {"Content-Type": "application/json", "x-api-key": KEY}
    with (
        running(mock, port, json.dumps(ask).encode(), headers),
        TemporaryDirectory() as folder,
    ):
        bench = Bench(f"http://127.0.0.1:{port}", Path(folder))
        for name in names or PARTS:
            part, rounds, few = PARTS[name]
            for measure in part(bench, few if quick else rounds):
                measures.append(measure)
                click.echo(line(measure))
    click.echo(f"measured in {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}")
    sys.exit(any(measure.met is False for measure in measures))


if __name__ == "__main__":
    main()
