"""The benchmark of the verification measures what it says, on the smallest runs that show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.mock.processes import free_port, running
from benchmarks.verify import KEY, Bench, bare, driven, heard


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    port = free_port()
    command = [sys.executable, "-m", "trigger_mock", "--port", str(port), "--rate-limit", "none"]
    ask = json.dumps({"user_id": "user-123", "entities": ["x"], "mode": "retrieve"}).encode()
    with running(command, port, ask, {"Content-Type": "application/json", "x-api-key": KEY}):
        yield Bench(f"http://127.0.0.1:{port}", tmp_path)


def test_both_rates_count_requests_that_the_mock_answered(bench: Bench) -> None:
    assert bare(bench.url, seconds=0.2) > 0
    assert driven(bench, "--only", "VAL-4") > 0


def test_a_run_that_ends_otherwise_than_it_should_is_no_measurement(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        bench.seconds([sys.executable, "-c", "raise SystemExit(3)"], 0, 1)


def test_the_start_ends_with_the_first_byte_that_is_heard(tmp_path: Path) -> None:
    speaks = "import socket, sys, time; from urllib.parse import urlsplit as s; u = s(sys.argv[1])"
    speaks += "; c = socket.create_connection((u.hostname, u.port)); c.send(b'P'); time.sleep(60)"

    seconds = heard(lambda url: [sys.executable, "-c", speaks, url], tmp_path)

    assert 0 < seconds < 60


def test_a_command_that_never_speaks_has_no_start(tmp_path: Path) -> None:
    silent = "import socket, sys; from urllib.parse import urlsplit as s; u = s(sys.argv[1])"
    silent += "; socket.create_connection((u.hostname, u.port)).close()"

    with pytest.raises(RuntimeError, match="sent nothing"):
        heard(lambda url: [sys.executable, "-c", silent, url], tmp_path)
