"""The hook of `examples/hook`: what it tells the agent, and that nothing a service does holds a call up."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.hook_runs import BUDGET, EVENT, HOOK, KEY, STARTING, hook, variables
from tests.servers.hostile import hostile, nothing_listens
from trigger_fixtures import default
from trigger_mock import create_app
from trigger_mock.server import serving

LESSON = "The tool loop must call finalize() in a finally block"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(default())) as base_url:
        yield base_url


def test_the_agent_is_told_what_was_learnt_about_the_file_that_it_is_about_to_edit(
    url: str, tmp_path: Path
) -> None:
    ran = hook(variables(url, tmp_path))
    assert (ran.code, ran.stderr) == (0, "")
    assert LESSON in ran.context
    assert "1. Reproduce it with TOOL_LOOP_TRACE=1" in ran.context


def test_a_composed_context_is_passed_on_as_it_is(url: str, tmp_path: Path) -> None:
    task = "make finalize run when the tool loop is aborted"
    ran = hook(variables(url, tmp_path, TRIGGER_MODE="compose", TRIGGER_TASK=task))
    assert LESSON in ran.context
    assert "## " in ran.context


def test_a_call_about_which_nothing_is_known_prints_nothing(url: str, tmp_path: Path) -> None:
    event = EVENT | {"tool_name": "Read", "tool_input": {"file_path": "/nowhere/unheard_of.txt"}}
    hook(variables(url, tmp_path), event).failed_open()


def test_each_axis_of_the_scope_is_read_from_the_environment(url: str, tmp_path: Path) -> None:
    groups = variables(
        url, tmp_path, TRIGGER_USER_ID="", TRIGGER_GROUP_IDS="grp_other, grp_a1b2c3d4e5f6071829304a5b6c7d8e9f"
    )
    assert LESSON in hook(groups).context
    stranger = variables(url, tmp_path, TRIGGER_AGENT_ID="bot-of-somebody-else")
    hook(stranger).failed_open()


def test_a_file_that_is_written_whole_is_not_sent_whole(url: str, tmp_path: Path) -> None:
    event = EVENT | {"tool_name": "Write", "tool_input": EVENT["tool_input"] | {"content": "x" * 2**21}}
    assert LESSON in hook(variables(url, tmp_path), event).context


@pytest.mark.parametrize(
    "event",
    [
        "",
        "not json",
        "[]",
        "null",
        json.dumps(EVENT | {"hook_event_name": "Stop"}),
        json.dumps(EVENT | {"tool_input": None, "tool_name": None}),
    ],
    ids=["empty", "broken", "array", "null", "another-event", "nulls"],
)
def test_an_event_of_another_kind_prints_nothing(url: str, tmp_path: Path, event: str) -> None:
    hook(variables(url, tmp_path), event).failed_open()


@pytest.mark.parametrize("name", ["TRIGGER_BASE_URL", "TRIGGER_API_KEY", "TRIGGER_USER_ID"])
def test_a_hook_that_nobody_set_up_prints_nothing(url: str, tmp_path: Path, name: str) -> None:
    hook(variables(url, tmp_path, **{name: ""})).failed_open()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRIGGER_BASE_URL", "no address"),
        ("TRIGGER_BASE_URL", "http://"),
        ("TRIGGER_BASE_URL", "ftp://127.0.0.1"),
        ("TRIGGER_BASE_URL", "http://127.0.0.1:port"),
        ("TRIGGER_BASE_URL", "http://[::1"),
        ("TRIGGER_API_KEY", f"{KEY}\nx: y"),
        ("TRIGGER_BUDGET", "soon"),
        ("TRIGGER_BUDGET", "nan"),
        ("TRIGGER_MODE", "guess"),
    ],
)
def test_a_wrong_setting_never_stops_a_call_and_never_shows_the_key(
    url: str, tmp_path: Path, name: str, value: str
) -> None:
    ran = hook(variables(url, tmp_path, TRIGGER_DEBUG="1", **{name: value}))
    assert ran.code == 0
    assert KEY not in ran.stdout + ran.stderr
    assert ran.seconds < 2.0 + STARTING


@pytest.mark.parametrize(
    "kind",
    [
        "hang",
        "reset",
        "close",
        "cut",
        "stalled-body",
        "garbage",
        "dies-midway",
        "no-json",
        "html-200",
        "binary-500",
        "edge-403",
        "redirect",
        "not-found",
        "401-to-everything",
        "200-to-everything",
        "500-to-everything",
    ],
)
def test_whatever_answers_in_place_of_the_service_the_call_goes_ahead(tmp_path: Path, kind: str) -> None:
    with hostile(kind) as target:
        hook(variables(target, tmp_path)).failed_open()


def test_a_service_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    with nothing_listens() as target:
        hook(variables(target, tmp_path)).failed_open()


def test_a_429_is_obeyed_by_the_calls_that_follow(url: str, tmp_path: Path) -> None:
    with hostile("429-to-everything") as target:
        hook(variables(target, tmp_path)).failed_open()
    quiet = hook(variables(url, tmp_path, TRIGGER_DEBUG="1"))
    assert quiet.stdout == ""
    assert "left alone" in quiet.stderr
    (tmp_path / "quiet-until").unlink()
    assert LESSON in hook(variables(url, tmp_path)).context


@pytest.mark.parametrize("written", ["", "soon", "9e99", "nan", "0"])
def test_a_damaged_memory_of_a_429_does_not_silence_the_hook(url: str, tmp_path: Path, written: str) -> None:
    (tmp_path / "quiet-until").write_text(written)
    assert LESSON in hook(variables(url, tmp_path)).context


def test_a_stdin_that_stays_open_is_not_waited_for(url: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(HOOK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=variables(url, tmp_path),
    ) as process:
        assert process.wait(BUDGET + STARTING) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_a_debugger_learns_why_nothing_was_printed(tmp_path: Path) -> None:
    with hostile("500-to-everything") as target:
        ran = hook(variables(target, tmp_path, TRIGGER_DEBUG="1"))
    assert (ran.stdout, ran.stderr) == ("", "trigger-hook: the service answered 500\n")


def test_the_settings_beside_it_run_it_before_every_tool() -> None:
    settings: dict[str, Any] = json.loads((HOOK.parent / "settings.json").read_text("utf-8"))
    ((entry,),) = settings["hooks"].values()
    (command,) = entry["hooks"]
    assert list(settings["hooks"]) == ["PreToolUse"]
    assert entry["matcher"] == "*"
    assert shlex.split(command["command"])[1].endswith(HOOK.name)
    assert command["timeout"] > 2.0
