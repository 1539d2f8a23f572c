"""Servers as programs of their own, on loopback, that never outlive their block; and wrk, which drives
them.

What a server prints goes to a file, and is shown when it does not come up.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter, sleep

from benchmarks.mock import stores
from benchmarks.mock.floor import PATH

ROOT = Path(__file__).resolve().parents[2]
#: Seconds for a server to answer its first request; a machine under load takes a while.
PATIENCE = 30.0
HEADERS = {"Content-Type": "application/json", "x-api-key": stores.KEY}
#: A rate that counts every request and refuses none.
UNREACHABLE = "999999999/10second"

_WRK = """
local requests, at = {}, 0
init = function(_)
  for body in io.lines(os.getenv("BENCH_BODIES")) do
    local headers = {["Content-Type"] = "application/json", ["x-api-key"] = "%s"}
    requests[#requests + 1] = wrk.format("POST", "%s", headers, body)
  end
end
request = function()
  at = at %% #requests + 1
  return requests[at]
end
done = function(summary)
  local errors = summary.errors
  io.write(string.format("counted %%d in %%d us, %%d failed\\n", summary.requests, summary.duration,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answered: where, as which process, and how many seconds after it was started."""

    port: int
    process: subprocess.Popen[bytes]
    seconds: float

    @property
    def resident(self) -> int:
        """Resident memory of the process, in bytes."""
        return resident(self.process.pid)


def resident(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    statm = Path(f"/proc/{pid}/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
    return int(told.stdout) * 1024


def mock_command(port: int, *options: str) -> list[str]:
    """The command a user runs."""
    return [sys.executable, "-m", "trigger_mock", "--port", str(port), "--rate-limit", UNREACHABLE, *options]


def floor_command(port: int, body: Path, server: str = "waitress") -> list[str]:
    """The bare view, served."""
    return [sys.executable, "-m", "benchmarks.mock.floor", str(port), str(body), server]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], port: int, body: bytes, headers: dict[str, str] = HEADERS
) -> Iterator[Running]:
    """Start a server, wait for the first 200 to a request with this body, and stop it with all that it
    started.
    """
    with TemporaryFile() as said:
        began = perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            while not _answers(port, body, headers):
                if process.poll() is not None or perf_counter() - began > PATIENCE:
                    said.seek(0)
                    raise RuntimeError(
                        f"{' '.join(command)} does not answer: {said.read()[-2000:].decode(errors='replace')}"
                    )
                sleep(0.002)
            yield Running(port, process, perf_counter() - began)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def ask(
    port: int, body: bytes, headers: dict[str, str] = HEADERS, timeout: float = 10.0
) -> tuple[int, bytes]:
    """One request on a connection of its own: the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", PATH, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def _answers(port: int, body: bytes, headers: dict[str, str]) -> bool:
    try:
        status, _ = ask(port, body, headers)
    except (OSError, http.client.HTTPException):
        return False
    return status == 200


def has_wrk() -> bool:
    """Whether wrk is installed."""
    return shutil.which("wrk") is not None


def wrk(
    port: int, bodies: Sequence[bytes], *, connections: int, seconds: float, key: str = stores.KEY
) -> float:
    """Requests per second that wrk gets answered with 200, on one thread; anything else is an error."""
    with TemporaryDirectory() as folder:
        script, lines = Path(folder, "requests.lua"), Path(folder, "bodies")
        script.write_text(_WRK % (key, PATH))
        lines.write_bytes(b"\n".join(bodies) + b"\n")
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", str(script)]
        told = subprocess.run(
            [*command, f"http://127.0.0.1:{port}"],
            env={**os.environ, "BENCH_BODIES": str(lines)},
            capture_output=True,
            check=True,
            timeout=seconds + 30,
        )
    counted = re.search(rb"counted (\d+) in (\d+) us, (\d+) failed", told.stdout)
    if counted is None or int(counted[3]):
        raise RuntimeError(f"wrk: {told.stdout[-500:].decode(errors='replace')}")
    return int(counted[1]) / int(counted[2]) * 1e6
