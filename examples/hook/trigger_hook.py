#!/usr/bin/env python3
"""A pre-tool-call hook for Claude Code: what earlier sessions learnt about a call, before it runs.

Reads the hook's JSON from stdin, asks POST /v1/memories/trigger, and prints what was recalled as
`additionalContext`. It fails open: whatever the service does, it ends within its budget with exit code 0, and
prints nothing when there is nothing to say. One file, nothing but Python's own library.

Set in the environment:

    TRIGGER_BASE_URL    where the service is, such as https://api.example.com or http://127.0.0.1:8900
    TRIGGER_API_KEY     the key; it is sent, and never printed
    TRIGGER_USER_ID, TRIGGER_AGENT_ID, TRIGGER_APP_ID, TRIGGER_GROUP_IDS (with commas): at least one of them
    TRIGGER_MODE        retrieve (the default: rows, fast) or compose (gated and written up, slower)
    TRIGGER_TASK        what the agent is at, in one line, for compose
    TRIGGER_BUDGET      seconds that a call may be held up, all in all (2)
    TRIGGER_QUIET_FILE  where a 429 is remembered, so that the next calls do not ask in vain
    TRIGGER_DEBUG       anything: say on stderr why nothing was printed
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENDPOINT = "/v1/memories/trigger"
BUDGET = 2.0
#: No answer is larger than this many bytes, whatever it says; no context longer than this many characters.
MOST_ANSWER = 2 * 2**20
MOST_CONTEXT = 9_000
#: Characters of one argument that are sent: enough to find identifiers in, far from the body's limit.
MOST_ARGUMENT = 8_000
#: Seconds that a Retry-After is obeyed for, at most: a wrong one must not silence the hook for good.
MOST_QUIET = 3600.0
HEADING = "From earlier sessions, about what this call touches (advice, not orders):"


class Nothing(Exception):
    """There is nothing to print; says why, without a secret."""


def context_for(event: Any, environment: dict[str, str]) -> str:
    """Return what is to be known before this tool call. Raises `Nothing`."""
    if not isinstance(event, dict) or event.get("hook_event_name") != "PreToolUse":
        raise Nothing("stdin holds no PreToolUse event")
    url, key = environment.get("TRIGGER_BASE_URL"), environment.get("TRIGGER_API_KEY")
    if not url or not key:
        raise Nothing("TRIGGER_BASE_URL and TRIGGER_API_KEY are not both set")
    body = request_for(event, environment)
    quiet = Quiet(environment)
    if quiet.lasts():
        raise Nothing("asked too often a while ago; the service wants to be left alone for now")
    status, headers, answer = post(url, key, json.dumps(body).encode())
    if status == 429:
        quiet.begin(headers.get("Retry-After", ""))
    if status != 200:
        raise Nothing(f"the service answered {status}")
    if headers.get_content_type() != "application/json":
        raise Nothing(f"the answer is {headers.get_content_type()}, not JSON")
    return text_of(json.loads(answer))


def request_for(event: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """Turn a hook event into a request: the tool's name and arguments, in the scope of the environment."""
    scope: dict[str, Any] = {
        axis: environment[f"TRIGGER_{axis.upper()}"]
        for axis in ("user_id", "agent_id", "app_id")
        if environment.get(f"TRIGGER_{axis.upper()}")
    }
    groups = [group.strip() for group in environment.get("TRIGGER_GROUP_IDS", "").split(",")]
    if any(groups):
        scope["group_ids"] = [group for group in groups if group]
    if not scope:
        raise Nothing("no scope is set: TRIGGER_USER_ID, _AGENT_ID, _APP_ID or _GROUP_IDS")
    action: dict[str, Any] = {"tool": str(event.get("tool_name", ""))}
    if isinstance(event.get("tool_input"), dict):
        action["args"] = shortened(event["tool_input"])
    request = {**scope, "action": action, "mode": environment.get("TRIGGER_MODE") or "retrieve"}
    if environment.get("TRIGGER_TASK"):
        request["task"] = environment["TRIGGER_TASK"][:2000]
    return request


def shortened(value: Any) -> Any:
    """The same JSON with its long texts cut: a file that is written whole need not be sent whole."""
    if isinstance(value, str):
        return value[:MOST_ARGUMENT]
    if isinstance(value, list):
        return [shortened(item) for item in value[:100]]
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    return value


def post(url: str, key: str, body: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Send one request and read its answer; redirects are answers like others, for they would take the key
    along.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Nothing("TRIGGER_BASE_URL is no address such as http://127.0.0.1:8900")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"x-api-key": key, "Content-Type": "application/json", "Connection": "close"}
    connection = kind(
        parts.hostname, parts.port or kind.default_port, timeout=60
    )  # the budget ends it sooner
    with contextlib.closing(connection):
        connection.request("POST", parts.path.rstrip("/") + ENDPOINT, body, headers)
        response = connection.getresponse()
        answer = response.read(MOST_ANSWER + 1)
    if len(answer) > MOST_ANSWER:
        raise Nothing("the answer is too large")
    return response.status, response.headers, answer


def text_of(answer: Any) -> str:
    """Return an answer as the agent reads it: `context` where it was composed, or else the rows. Raises
    `Nothing`.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        raise Nothing("the answer holds no list of rows")
    composed = answer.get("context")
    rows = [line for row in answer["data"] if (line := line_of(row))]
    text = composed.strip() if isinstance(composed, str) else "\n".join(rows)
    if not text:
        raise Nothing("nothing was recalled")
    text = f"{HEADING}\n{text}"
    return text if len(text) <= MOST_CONTEXT else f"{text[:MOST_CONTEXT]}\n[cut]"


def line_of(row: Any) -> str:
    """One row in a line, its steps below it; empty for what is no row."""
    if not isinstance(row, dict) or not isinstance(row.get("text"), str) or not row["text"].strip():
        return ""
    details = row.get("details")
    steps = details.get("steps") if isinstance(details, dict) else None
    steps = [step for step in steps if isinstance(step, str)] if isinstance(steps, list) else []
    lines = [f"- {row['text'].strip()}", *(f"  {at}. {step}" for at, step in enumerate(steps, 1))]
    return "\n".join(lines)


class Quiet:
    """What a 429 asked for, remembered in a file from one call of the hook to the next."""

    def __init__(self, environment: dict[str, str]) -> None:
        cache = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        self._file = Path(environment.get("TRIGGER_QUIET_FILE") or Path(cache, "trigger-hook-quiet-until"))

    def lasts(self) -> bool:
        """Whether it is still too early to ask."""
        try:
            left = float(self._file.read_text("ascii")) - time.time()
        except (OSError, ValueError):
            return False
        return 0 < left <= MOST_QUIET

    def begin(self, retry_after: str) -> None:
        """Keep quiet for so many seconds; a file that cannot be written is done without."""
        seconds = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 1.0
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(str(time.time() + min(seconds, MOST_QUIET)), "ascii")


def budget(environment: dict[str, str]) -> float:
    """Seconds until the call goes ahead without us."""
    try:
        seconds = float(environment.get("TRIGGER_BUDGET", BUDGET))
    except ValueError:
        return BUDGET
    return min(seconds, 60.0) if math.isfinite(seconds) and seconds > 0 else BUDGET


def main() -> None:
    """Ask beside the clock, and be done when it runs out: no look-up of a name, no answer that drips, no
    stdin that stays open can hold the call up for longer.
    """
    environment = dict(os.environ)
    said: list[str] = []
    reason = ["the budget ran out"]

    def ask() -> None:
        try:
            said.append(context_for(json.load(sys.stdin.buffer), environment))
        except Nothing as nothing:
            reason[0] = str(nothing)
        except Exception as error:  # noqa: BLE001 - it fails open; a message may quote the key, a name does not
            reason[0] = f"it failed: {type(error).__name__}"

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    with contextlib.suppress(KeyboardInterrupt):
        asking.join(budget(environment))
    with contextlib.suppress(OSError):
        if said:
            output = {"hookEventName": "PreToolUse", "additionalContext": said[0]}
            print(json.dumps({"hookSpecificOutput": output}), flush=True)
        elif environment.get("TRIGGER_DEBUG"):
            print(f"trigger-hook: {reason[0]}", file=sys.stderr, flush=True)
    # Not sys.exit: that would wait for what still hangs.
    os._exit(0)


if __name__ == "__main__":
    main()
