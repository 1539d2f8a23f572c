"""`pytest --pyargs trigger_contracts --trigger-base-url URL`, with what people do to pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.hostile import hostile, nothing_listens
from tests.servers.serving import Served, serving
from tests.verify.commanding import environment


def _pytest(
    url: str | None, *arguments: str, served: Served | None = None, folder: Path
) -> subprocess.CompletedProcess[str]:
    target = [f"--trigger-base-url={url}"] if url else []
    return subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "--pyargs",
                "trigger_contracts",
                "-p",
                "trigger_contracts.plugin",
            ),
            *("-p", "no:cacheprovider", *target, "--trigger-api-key-env=KEY_ONE", "--trigger-profile=quick"),
            *arguments,
        ],
        env=environment(served, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_k_selects_promises(tmp_path: Path) -> None:
    with serving() as served:
        ended = _pytest(served.url, "-k", "SCOPE-1 or AUTH", "-v", served=served, folder=tmp_path)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "test_promise[AUTH-1] PASSED" in ended.stdout
    assert "5 passed, 1 skipped" in ended.stdout
    assert "promises of the contract" in ended.stdout


def test_x_stops_at_the_first_broken_promise_and_judges_it(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    with serving("any-key") as served:
        ended = _pytest(served.url, "-x", f"--trigger-report=json={report}", served=served, folder=tmp_path)

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 failed, 1 passed" in ended.stdout
    document = json.loads(report.read_text())
    assert document["counts"]["broken"] == 1
    assert document["exit_code"] == 1
    assert next(one for one in document["promises"] if one["id"] == "VAL-1")["state"] == "not_exercised"


def test_workers_agree_on_the_seed_that_the_report_names(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    some = ("-k", "AUTH or VAL-1 or VAL-2 or MODE-1", f"--trigger-report=json={report}")
    with serving("any-key") as served:
        _pytest(served.url, "-p", "xdist", "-n", "2", *some, served=served, folder=tmp_path)
        shared = json.loads(report.read_text())
        seed = f"--trigger-seed={shared['seed']}"
        _pytest(served.url, seed, *some, served=served, folder=tmp_path)
        alone = json.loads(report.read_text())

    assert shared["counts"] == alone["counts"]
    assert shared["counts"]["broken"] == 3
    assert [_sent(one) for one in shared["promises"]] == [_sent(one) for one in alone["promises"]]


def _sent(promise: dict[str, Any]) -> object:
    return promise["evidence"] and promise["evidence"]["curl"]


def test_a_broken_promise_fails_under_workers_too(tmp_path: Path) -> None:
    with serving("any-key") as served:
        ended = _pytest(served.url, "-p", "xdist", "-n", "2", "-k", "AUTH", served=served, folder=tmp_path)

    assert ended.returncode == 1
    assert "BROKEN AUTH-2" in ended.stdout


def test_without_a_target_everything_is_skipped(tmp_path: Path) -> None:
    ended = _pytest(None, "-q", folder=tmp_path)

    assert ended.returncode == 0
    assert "54 skipped" in ended.stdout


def test_nothing_to_talk_to_ends_with_2_and_says_so(tmp_path: Path) -> None:
    with nothing_listens() as url:
        alone = _pytest(url, folder=tmp_path)
        shared = _pytest(url, "-p", "xdist", "-n", "2", folder=tmp_path)

    for ended in (alone, shared):
        assert ended.returncode == 2
        assert "connection refused" in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stdout + ended.stderr


def test_a_redirect_ends_with_2_before_any_item_runs(tmp_path: Path) -> None:
    with hostile("redirect") as url:
        ended = _pytest(url, folder=tmp_path)

    assert ended.returncode == 2
    assert "redirects are never followed" in ended.stdout + ended.stderr
    assert "passed" not in ended.stdout
