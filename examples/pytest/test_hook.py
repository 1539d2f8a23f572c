"""The hook of `examples/hook`, tested with the fixture `trigger_mock`; run with `pytest examples/pytest`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trigger_mock import TriggerMock

HOOK = Path(__file__).parents[1] / "hook" / "trigger_hook.py"
EVENT = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Edit",
    "tool_input": {"file_path": "src/agent_runtime/tool_loop.py"},
}


@pytest.fixture(autouse=True)
def lesson(trigger_mock: TriggerMock) -> None:
    """What there is to be recalled."""
    trigger_mock.rows.add(
        text="Call finalize() in a finally block.",
        trigger_entities=["tool_loop.py"],
        user_id="user-123",
    )


def run_hook(bench: TriggerMock, folder: Path) -> str:
    """Run the hook as Claude Code does; what it prints."""
    variables = {
        "TRIGGER_BASE_URL": bench.url,
        "TRIGGER_API_KEY": bench.api_key,
        "TRIGGER_USER_ID": "user-123",
        "TRIGGER_BUDGET": "1",
        "TRIGGER_QUIET_FILE": str(folder / "quiet-until"),
    }
    done = subprocess.run(
        [sys.executable, str(HOOK)],
        input=json.dumps(EVENT),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_agent_is_told_what_was_learnt(trigger_mock: TriggerMock, tmp_path: Path) -> None:
    """And the service was asked about the file that is to be edited."""
    context = json.loads(run_hook(trigger_mock, tmp_path))["hookSpecificOutput"]["additionalContext"]
    assert "Call finalize() in a finally block." in context
    (call,) = trigger_mock.wait_for_calls(1, tool="Edit")
    assert call.body["action"]["args"] == EVENT["tool_input"]


@pytest.mark.parametrize("preset", ["slow-gate", "flaky", "rate-limited", "down", "half-open"])
def test_no_trouble_of_the_service_holds_a_call_up(
    trigger_mock: TriggerMock, tmp_path: Path, preset: str
) -> None:
    """It ends with exit code 0, and in time."""
    trigger_mock.faults.add(preset=preset)
    began = time.monotonic()
    run_hook(trigger_mock, tmp_path)
    assert time.monotonic() - began < 5
