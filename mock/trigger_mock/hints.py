"""What a client most likely meant: hints for the log about what the endpoint ignores.

The contract forbids no unknown field, so none is refused; they are still a common mistake, and an answer
without rows says nothing of it. A hint names fields, never values: a value may be a secret. Knows nothing of
Flask.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from trigger_mock.json_values import is_object
from trigger_mock.seen import shown

FIELDS = ("action", "entities", "include", "task", "mode", "user_id", "group_ids", "agent_id", "app_id")
ACTION_FIELDS = ("tool", "args", "output")
#: A body of a thousand unknown fields is one mistake, not a thousand.
MOST_HINTS = 10

_MEANT = {
    "tool": "action.tool", "tool_name": "action.tool", "toolName": "action.tool",
    "args": "action.args", "arguments": "action.args", "input": "action.args", "tool_input": "action.args",
    "output": "action.output", "result": "action.output", "tool_response": "action.output",
    "tool_output": "action.output", "query": "task", "goal": "task", "prompt": "task",
    "types": "include", "symbols": "entities", "identifiers": "entities", "trigger_entities": "entities",
    "group_id": "group_ids", "groups": "group_ids", "user": "user_id", "agent": "agent_id", "app": "app_id",
    "namespace": "app_id",
}  # fmt: skip
_MEANT_IN_ACTION = {
    "input": "action.args", "arguments": "action.args", "params": "action.args", "parameters": "action.args",
    "tool_input": "action.args", "name": "action.tool", "tool_name": "action.tool", "toolName": "action.tool",
    "result": "action.output", "response": "action.output", "tool_response": "action.output",
    "stdout": "action.output",
}  # fmt: skip
_OWN_WORDS = {
    "org_id": "org_id is not read: the key alone decides the organisation",
    "organisation": "organisation is not read: the key alone decides it",
    "limit": "limit is not part of the contract: all matched rows come back",
}
_KNOWN = frozenset(FIELDS)
_KNOWN_IN_ACTION = frozenset(ACTION_FIELDS)


def unread(body: object) -> list[str]:
    """Hints about the fields of a request that nothing reads, valid or not, in the order of the request."""
    if not is_object(body):
        return []
    action: object = body.get("action")
    hints: list[str] = []
    if not body.keys() <= _KNOWN:
        hints += _speak(body.keys() - _KNOWN, body, "", FIELDS, _MEANT)
    if is_object(action) and not action.keys() <= _KNOWN_IN_ACTION:
        hints += _speak(action.keys() - _KNOWN_IN_ACTION, action, "action.", ACTION_FIELDS, _MEANT_IN_ACTION)
    if isinstance(action, str):
        hints.append("action is a string; the contract wants an object with tool, args and output")
    return hints


def _speak(
    unknown: set[str], where: Mapping[str, Any], prefix: str, known: tuple[str, ...], meant: Mapping[str, str]
) -> Iterator[str]:
    spoken = [name for name in where if name in unknown]
    for name in spoken[:MOST_HINTS]:
        # Quoted when it is no plain word: a name comes from outside and must not forge a line of the log.
        seen = prefix + (name if name.isidentifier() and len(name) < 60 else repr(shown(name)))
        if not prefix and name in _OWN_WORDS:
            yield _OWN_WORDS[name]
            continue
        close = difflib.get_close_matches(name[:60].lower(), known, n=1)
        suggestion = meant.get(name) or (prefix + close[0] if close else None)
        yield f"{seen} is not part of the contract" + (f"; did you mean {suggestion}?" if suggestion else "")
    if len(spoken) > MOST_HINTS:
        yield f"{len(spoken) - MOST_HINTS} more unknown fields"
