"""Running the hook as Claude Code does: a process of its own, the event on stdin, context on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOOK = Path(__file__).parents[2] / "examples" / "hook" / "trigger_hook.py"
KEY = "xtk_demo_acme"
BUDGET = 1.0
#: What starting Python may take on a busy machine, on top of the budget.
STARTING = 4.0
EVENT: dict[str, Any] = {
    "session_id": "5f0c7a52",
    "transcript_path": "/home/dev/.claude/projects/agent-runtime/5f0c7a52.jsonl",
    "cwd": "/home/dev/agent-runtime",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Edit",
    "tool_input": {
        "file_path": "/home/dev/agent-runtime/src/agent_runtime/tool_loop.py",
        "old_string": "return await tool(self.context)",
        "new_string": "return await tool(self.context, timeout=30)",
    },
    "tool_use_id": "toolu_01ABC123",
}


@dataclass(frozen=True, slots=True)
class Ran:
    """How one call of the hook went."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def context(self) -> str:
        """What the agent is told, the rest of the output being as Claude Code wants it."""
        output = json.loads(self.stdout)
        assert set(output) == {"hookSpecificOutput"}
        assert output["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
        assert set(output["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        return str(output["hookSpecificOutput"]["additionalContext"])

    def failed_open(self) -> None:
        """The call goes ahead, in time, and nobody hears of it."""
        assert (self.code, self.stdout, self.stderr) == (0, "", "")
        assert self.seconds < BUDGET + STARTING


def variables(url: str, folder: Path, **others: str) -> dict[str, str]:
    """The environment that the hook runs in; `folder` is where it may remember something."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIGGER_")}
    return kept | {
        "TRIGGER_BASE_URL": url,
        "TRIGGER_API_KEY": KEY,
        "TRIGGER_USER_ID": "user-123",
        "TRIGGER_BUDGET": str(BUDGET),
        "TRIGGER_QUIET_FILE": str(folder / "quiet-until"),
        **others,
    }


def hook(environment: dict[str, str], event: Any = EVENT) -> Ran:
    """Call the hook; `event` is JSON, or text as it is."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(HOOK)],
        input=event if isinstance(event, str) else json.dumps(event),
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - began)
