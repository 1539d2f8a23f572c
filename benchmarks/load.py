"""How fast and how true the load generator is, as ratios within one run.

Speed: requests per second of one process in a closed loop, every answer judged, against a bare FastHttpUser
that judges nothing, on the same raw WSGI callable, in interleaved rounds. Truth: the open model at a known
rate against a target whose log holds its own times, with `wrk` beside it; and the open model against a stall,
with a stock Locust user under `constant_throughput` beside it. Only 127.0.0.1 is loaded.
Run: `python -m benchmarks.load` (about two minutes).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEY = "xtk_toy_key_for_tests"
PATHS = os.pathsep.join(str(ROOT / part) for part in ("mock", "contracts", "fixtures", "loadtests", "."))
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS, "TRIGGER_API_KEY": KEY, "TRIGGER_LOAD_API_KEY": KEY}

_ANSWER: dict[str, Any] = {
    "object": "search",
    "mode": "retrieve",
    "data": [
        {
            "id": f"5f0c2c1e-8c7e-4b5a-9a53-3a0b6f0f2a1{number}",
            "object": "memory",
            "type": "lesson",
            "text": "Retry the export once; the second attempt is idempotent. " * 6,
            "user_id": "load-user-1",
            "group_ids": [],
            "categories": ["export"],
            "score": None,
            "details": {"trigger_entities": ["ERR-1000"], "matched_on": ["ERR-1000"]},
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        }
        for number in range(2)
    ],
    "context": None,
    "stage_timings": {},
    "context_selection_applied": False,
}
RAW = f"""
BODY = {json.dumps(_ANSWER).encode()!r}
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
def app(environ, start_response):
    environ["wsgi.input"].read()
    start_response("200 OK", HEADERS)
    return [BODY]
"""
BARE = """
from locust import FastHttpUser, task
BODY = b'{"user_id": "load-user-1", "entities": ["ERR-1000"], "mode": "retrieve"}' + b" " * 360
HEADERS = {"x-api-key": "x", "Content-Type": "application/json"}
class Bare(FastHttpUser):
    @task
    def call(self):
        self.client.post("/v1/memories/trigger", data=BODY, headers=HEADERS)
"""
JUDGING = """
from trigger_loadtests import surroundings
from trigger_loadtests.locustfile import *
for agent in AGENTS:
    agent.abstract = True
class Judging(CodingAgent):
    abstract = False
    def __init__(self, environment):
        super().__init__(environment)
        self._rows = tuple(tuple(ask._replace(pause=0.0) for ask in session) for session in self._rows)
"""
STOCK = """
import os
from locust import FastHttpUser, constant_throughput, task
BODY = b'{"user_id": "u", "entities": ["x"], "mode": "retrieve"}'
HEADERS = {"x-api-key": os.environ["TRIGGER_API_KEY"], "Content-Type": "application/json"}
class Stock(FastHttpUser):
    wait_time = constant_throughput(20)
    @task
    def call(self):
        self.client.post("/v1/memories/trigger", data=BODY, headers=HEADERS)
"""


@contextlib.contextmanager
def process(*command: str) -> Generator[subprocess.Popen[str]]:
    running = subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.wait(10)


@contextlib.contextmanager
def toy(*options: str) -> Generator[str]:
    with process(sys.executable, "-m", "tests.load.toy", *options) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


@contextlib.contextmanager
def raw(folder: Path, port: int = 18471) -> Generator[str]:
    (folder / "rawapp.py").write_text(RAW)
    arguments = ("--interface", "wsgi", "--port", str(port), "--blocking-threads", "4", "--no-access-log")
    command = [sys.executable, "-m", "granian", *arguments, "--log-level", "error", "rawapp:app"]
    server = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT)
    try:
        time.sleep(2.0)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def locust(file: Path, url: str, seconds: int, users: int) -> dict[str, Any]:
    """Run plain Locust; return its aggregated figures."""
    out = file.with_suffix(".json")
    out.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "locust",
        "-f",
        str(file),
        "--headless",
        "-u",
        str(users),
        "-r",
        str(users),
    ]
    options = ["-t", f"{seconds}s", "--host", url, "--json-file", str(out.with_suffix("")), "--skip-log"]
    subprocess.run(
        [*command, *options],
        env={**ENVIRONMENT, "TRIGGER_LOAD_COMPOSE": "0"},
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    rows = json.loads(out.read_text())
    calls = sum(row["num_requests"] for row in rows)
    start = min(row["start_time"] for row in rows)
    end = max(row["last_request_timestamp"] for row in rows)
    times = [(float(at), count) for row in rows for at, count in row["response_times"].items()]
    failed = sum(row["num_failures"] for row in rows)
    return {"rate": calls / (end - start), "times": sorted(times), "calls": calls, "failed": failed}


def share(times: list[tuple[float, int]], at: float) -> float:
    """Return a percentile of counted values."""
    left = at / 100 * sum(count for _, count in times)
    for value, count in times:
        left -= count
        if left <= 0:
            return value
    return times[-1][0]


def trigger_load(url: str, out: Path, *options: str) -> dict[str, Any]:
    subprocess.run(
        [sys.executable, "-m", "trigger_loadtests", url, "-q", "--json", str(out), *options],
        env=ENVIRONMENT, cwd=ROOT, check=False, capture_output=True,
    )  # fmt: skip
    account: dict[str, Any] = json.loads(out.read_text())
    return account


def speed(folder: Path, rounds: int, seconds: int) -> dict[str, Any]:
    (folder / "bare.py").write_text(BARE)
    (folder / "judging.py").write_text(JUDGING)
    rates: dict[str, list[float]] = {"bare": [], "judging": []}
    with raw(folder) as url:
        for _ in range(rounds):
            for name, found in rates.items():
                run = locust(folder / f"{name}.py", url, seconds, 16)
                assert not run["failed"], f"{name}: {run['failed']} of {run['calls']} failed"
                found.append(run["rate"])
    pairs = [judging / bare for bare, judging in zip(*rates.values(), strict=True)]
    medians = {name: round(statistics.median(found)) for name, found in rates.items()}
    return {
        "requests_per_second": medians,
        "rounds": [round(pair, 2) for pair in pairs],
        "ratio": round(statistics.median(pairs), 3),
        "bound": ">= 0.6",
    }


def truth(folder: Path, seconds: int, rounds: int = 4) -> dict[str, Any]:
    """Hold the figures against the target's log, until a round was quiet enough to judge by."""
    heard = list[dict[str, Any]]()
    for _ in range(rounds):
        heard.append(true_figures(folder, seconds))
        if heard[-1]["verdict"] != "not judged":
            break
    return {"p50_bound": "within 3 ms", "p99_bound": "within 20 %", "rounds": heard}


def true_figures(folder: Path, seconds: int) -> dict[str, Any]:
    log = folder / "target.log"
    with toy("--delay", "0.02", "--log", str(log)) as url:
        (folder / "ask.lua").write_text(
            'wrk.method = "POST"\nwrk.body = \'{"user_id": "u", "entities": ["x"], "mode": "retrieve"}\'\n'
            f'wrk.headers["x-api-key"] = "{KEY}"\nwrk.headers["Content-Type"] = "application/json"\n'
        )
        options = ("-t1", "-c1", f"-d{seconds}s", "--latency", "-s", str(folder / "ask.lua"))
        beside = subprocess.Popen(
            ["wrk", *options, f"{url}/v1/memories/trigger"], stdout=subprocess.PIPE, text=True
        )
        account = trigger_load(
            url, folder / "truth.json", "-p", "steady", "--rate", "300", "-d", f"{seconds}s"
        )
        said, _ = beside.communicate(timeout=60)
    times = sorted(
        1000 * (answered - received)
        for received, answered in (map(float, line.split()) for line in log.read_text().splitlines())
    )
    overall, generator = account["overall"], account["generator"]
    figures = {
        "wrk_p50_ms": wrk_percentile(said, 50),
        "service_p50_ms": overall["service_ms"]["p50"],
        "log_p99_ms": round(times[int(0.99 * len(times))], 2),
        "response_p99_ms": overall["response_ms"]["p99"],
        "service_p99_ms": overall["service_ms"]["p99"],
        "wrk_p99_ms": wrk_percentile(said, 99),
        "lag_p95_ms": generator["lag_p95_ms"],
        "generator_cpu_percent": generator["cpu_percent"][0],
        "generator_waited_for_a_cpu_percent": generator["cpu_waited_percent"][0],
        "load_average": os.getloadavg()[0],
    }
    return {"verdict": judged(figures), **figures}


def judged(figures: dict[str, float]) -> str:
    """Say whether the bounds held; a loud machine is told by what is not under test.

    When `wrk` beside the generator cannot see the target's own p99 either, or the kernel kept the generator
    waiting for a CPU, a bound that was missed says nothing about the generator.
    """
    truth = figures["log_p99_ms"]
    held = (
        abs(figures["service_p50_ms"] - figures["wrk_p50_ms"]) <= 3
        and abs(figures["response_p99_ms"] - truth) <= 0.2 * truth
    )
    loud = (
        abs(figures["wrk_p99_ms"] - truth) > 0.2 * truth or figures["generator_waited_for_a_cpu_percent"] > 2
    )
    return "held" if held else "not judged" if loud else "missed"


def wrk_percentile(said: str, at: int) -> float:
    found = re.search(rf"{at}%\s+([\d.]+)(us|ms|s)", said)
    assert found, said
    return round(float(found[1]) * {"us": 0.001, "ms": 1, "s": 1000}[found[2]], 2)


def stall(folder: Path, seconds: int, freeze: int) -> dict[str, Any]:
    (folder / "stock.py").write_text(STOCK)
    options = ("--delay", "0.01", "--freeze-at", "2", "--freeze-for", str(freeze))
    with toy(*options) as url:
        ours = trigger_load(url, folder / "stall.json", "-p", "steady", "--rate", "40", "-d", f"{seconds}s")
    with toy(*options) as url:
        stock = locust(folder / "stock.py", url, seconds, 2)
    return {
        "freeze_ms": freeze * 1000,
        "ours_p95_ms": ours["overall"]["response_ms"]["p95"],
        "ours_p99_ms": ours["overall"]["response_ms"]["p99"],
        "stock_locust_p95_ms": share(stock["times"], 95),
        "stock_locust_p99_ms": share(stock["times"], 99),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", choices=["speed", "truth", "stall"])
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is needed beside the generator: install it first")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "speed": lambda: speed(folder, options.rounds, options.seconds),
            "truth": lambda: truth(folder, max(options.seconds * 2, 8)),
            "stall": lambda: stall(folder, max(options.seconds * 3, 12), max(options.seconds // 2, 2)),
        }
        for title, measure in measures.items():
            if options.only in (None, title):
                print(title, json.dumps(measure(), indent=2), flush=True)


if __name__ == "__main__":
    main()
