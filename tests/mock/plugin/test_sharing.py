"""Parallel tests on one server: they never see each other, and the server never outlives them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.mock.plugin.running import PATIENCE, command, environment, run_pytest, run_tests

TWENTY = Path(__file__).with_name("twenty.py")
#: How often CI runs them; 50 were run by hand.
REPEATS = 2


def is_gone(url: str) -> bool:
    """Whether nothing answers any more, now or very soon."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/_mock/ready", timeout=5).close()
        except OSError:
            return True
    return False


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_twenty_tests_in_four_processes_share_one_server(tmp_path: Path, repeat: int) -> None:
    shutil.copy(TWENTY, tmp_path / "test_twenty.py")
    done = run_pytest(tmp_path, "-n", "4", "test_twenty.py")
    assert "20 passed" in done.stdout, done.stdout + done.stderr


def test_all_workers_use_the_same_server(tmp_path: Path) -> None:
    done = run_tests(
        tmp_path,
        """
@pytest.mark.parametrize("at", range(8))
def test_where(trigger_mock, at, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp().parent
    (folder / f"{at}.url").write_text(trigger_mock.url)
""",
        "-n",
        "4",
    )
    assert "8 passed" in done.stdout, done.stdout + done.stderr
    urls = {path.read_text() for path in (tmp_path / "base").glob("*.url")}
    assert len(urls) == 1
    assert is_gone(urls.pop())


def test_a_worker_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    done = run_tests(
        tmp_path,
        """
import os, signal

def test_dies(trigger_mock, tmp_path_factory):
    (tmp_path_factory.getbasetemp().parent / "url").write_text(trigger_mock.url)
    os.kill(os.getpid(), signal.SIGKILL)
""",
        "-n",
        "1",
        "--max-worker-restart=0",
    )
    assert done.returncode == 1
    assert is_gone((tmp_path / "base" / "url").read_text())


def test_a_run_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(
        "import sys, time\n"
        "def test_hangs(trigger_mock, capfd):\n"
        "    with capfd.disabled():\n"
        "        print('URL', trigger_mock.url, flush=True)\n"
        "    time.sleep(60)\n",
        "utf-8",
    )
    with subprocess.Popen(
        command(tmp_path, "test_hangs.py"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        url = next(line.split()[-1] for line in run.stdout if "URL" in line)
        os.killpg(run.pid, signal.SIGKILL)
        assert run.wait(PATIENCE) == -signal.SIGKILL
    assert is_gone(url)


def test_a_run_that_needs_no_mock_starts_none(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "def test_nothing():\n    pass\n", "-n", "2")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert not list((tmp_path / "base").glob("trigger-mock*"))
