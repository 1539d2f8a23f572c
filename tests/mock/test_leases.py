"""The server that a whole test run shares: one at a time, and none when nobody is left, however they go."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from trigger_mock import leases
from trigger_mock.leases import Lease, NoServer, lease

PATIENCE = 10.0
HOLDER = """
import pathlib, sys
from trigger_mock.leases import lease
held = lease(pathlib.Path(sys.argv[1]))
print(held.url, flush=True)
sys.stdin.read()
"""


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_mock/ready", timeout=5) as reply:
            return bool(json.load(reply)["status"] == "ready")
    except OSError:
        return False


def is_gone(url: str) -> bool:
    """Whether nothing answers any more, now or very soon."""
    deadline = time.monotonic() + PATIENCE
    while answers(url):
        if time.monotonic() > deadline:
            return False
    return True


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Lease]:
    held = lease(tmp_path)
    yield held
    held.release()


def test_whoever_comes_later_gets_the_server_that_is_there(first: Lease, tmp_path: Path) -> None:
    second = lease(tmp_path)
    try:
        assert second.url == first.url
        assert answers(first.url)
    finally:
        second.release()


def test_it_lives_as_long_as_anybody_uses_it(first: Lease, tmp_path: Path) -> None:
    second = lease(tmp_path)
    first.release()
    assert answers(second.url)
    second.release()
    assert is_gone(second.url)


def test_after_it_has_gone_the_next_one_is_started(first: Lease, tmp_path: Path) -> None:
    first.release()
    assert is_gone(first.url)
    again = lease(tmp_path)
    assert answers(again.url)
    again.release()


def test_those_who_come_at_once_start_one_between_them(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        held = list(pool.map(lambda _: lease(tmp_path), range(8)))
    assert len({each.url for each in held}) == 1
    for each in held:
        each.release()
    assert is_gone(held[0].url)


def test_a_process_that_is_killed_takes_its_server_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert answers(url)
        process.kill()
    assert is_gone(url)


def test_one_of_two_that_is_killed_leaves_the_server_to_the_other(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        other = lease(tmp_path)
        process.kill()
    assert (other.url, answers(url)) == (url, True)
    other.release()
    assert is_gone(url)


def test_a_server_that_was_killed_is_replaced(first: Lease, tmp_path: Path) -> None:
    process = first._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    again = lease(tmp_path)
    assert again.url != first.url
    assert answers(again.url)
    again.release()


def test_a_connection_without_the_secret_holds_nothing(first: Lease, tmp_path: Path) -> None:
    known = json.loads((tmp_path / "trigger-mock.json").read_text("utf-8"))
    with ExitStack() as connections:
        for said in (b"wrong\n", b"\n", b"x" * 10_000):
            stranger = connections.enter_context(
                closing(socket.create_connection(("127.0.0.1", known["lease"]), timeout=PATIENCE))
            )
            stranger.sendall(said)
        first.release()
        assert is_gone(first.url)


def test_a_server_that_nobody_ever_used_ends(tmp_path: Path) -> None:
    """As when whoever started it was killed before it could."""
    code = "from trigger_mock import leased; leased.Holders.wait.__defaults__ = (0.1,); leased.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], input="secret\n", capture_output=True, text=True, timeout=60, check=True
    )
    assert set(json.loads(done.stdout)) == {"url", "lease"}


def test_a_server_that_does_not_come_up_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(tmp_path)}

    (tmp_path / "trigger_fixtures.py").write_text("raise SystemExit('the disk is full')")
    monkeypatch.setattr(leases, "_environment", broken)
    with pytest.raises(NoServer, match=r"the disk is full|No module named"):
        lease(tmp_path)


def test_the_surroundings_of_a_run_do_not_change_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIGGER_MOCK_CONTROL", "0")
    monkeypatch.setenv("TRIGGER_MOCK_FIXTURES", "/nowhere")
    monkeypatch.chdir("/")
    held = lease(tmp_path)
    assert answers(held.url)
    held.release()
