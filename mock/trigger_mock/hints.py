"""What a client most likely meant: hints for the log about what the endpoint ignores.

The contract forbids no unknown field, so none is refused; they are still a common mistake, and an answer
without rows says nothing of it. A hint names fields, never values: a value may be a secret. Knows nothing of
Flask.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
    hints: list[str] = []
    for unknown in _unknown_fields(body):
        hints += map(_hint, unknown[:MOST_HINTS])
        if len(unknown) > MOST_HINTS:
            hints.append(f"{len(unknown) - MOST_HINTS} more unknown fields")
    if isinstance(body.get("action"), str):
        hints.append("action is a string; the contract wants an object with tool, args and output")
    return hints


def meant(body: object) -> Iterator[tuple[str, str, Any]]:
    """The fields that nothing reads and that have a likely meaning: each as it is spoken of, the field that
    was probably meant, and the value sent. Of each object the first few only.
    """
    if is_object(body):
        for unknown in _unknown_fields(body):
            for field in unknown[:MOST_HINTS]:
                suggestion = field.meant
                if suggestion is not None:
                    yield field.spoken, suggestion, field.value


class _Field(NamedTuple):
    """A field that the contract does not name."""

    prefix: str
    name: str
    value: Any

    @property
    def spoken(self) -> str:
        # Quoted when it is no plain word: a name comes from outside and must not forge a line of the log.
        plain = self.name.isidentifier() and len(self.name) < 60
        return self.prefix + (self.name if plain else repr(shown(self.name)))

    @property
    def own_words(self) -> str | None:
        return None if self.prefix else _OWN_WORDS.get(self.name)

    @property
    def meant(self) -> str | None:
        if self.own_words is not None:
            return None
        known, told = (ACTION_FIELDS, _MEANT_IN_ACTION) if self.prefix else (FIELDS, _MEANT)
        if self.name in told:
            return told[self.name]
        close = difflib.get_close_matches(self.name[:60].lower(), known, n=1)
        return self.prefix + close[0] if close else None


def _unknown_fields(body: Mapping[str, Any]) -> Iterator[list[_Field]]:
    """Those at the top, then those of `action`."""
    if not body.keys() <= _KNOWN:
        yield [_Field("", name, value) for name, value in body.items() if name not in _KNOWN]
    action: object = body.get("action")
    if is_object(action) and not action.keys() <= _KNOWN_IN_ACTION:
        yield [
            _Field("action.", name, value) for name, value in action.items() if name not in _KNOWN_IN_ACTION
        ]


def _hint(field: _Field) -> str:
    if field.own_words is not None:
        return field.own_words
    suggestion = field.meant
    return f"{field.spoken} is not part of the contract" + (
        f"; did you mean {suggestion}?" if suggestion else ""
    )
