"""What a request says, read as far as somebody asks and no further: the same steps as the endpoint's, without
its refusals. Knows nothing of HTTP.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from trigger_mock import hints
from trigger_mock.ask import Ask, decode, validate
from trigger_mock.identifiers import identifiers
from trigger_mock.json_values import is_object
from trigger_mock.refusals import Refusal


def fired_by(ask: Ask) -> frozenset[str]:
    """The identifiers that a request fires: `entities` as they are, bypassing extraction; else those of
    its `action`.
    """
    if ask.entities:
        return frozenset(ask.entities)
    return identifiers(ask.action) if ask.action is not None else frozenset()


class Reading:
    """One request: its body's bytes and its `Content-Type`."""

    def __init__(self, raw: bytes, content_type: str | None) -> None:
        self._raw = raw
        self._content_type = content_type

    @cached_property
    def _decoded(self) -> tuple[bool, Any]:
        try:
            return True, decode(self._raw, self._content_type)
        except Refusal:
            return False, None

    @property
    def is_json(self) -> bool:
        """Whether the endpoint can decode it."""
        return self._decoded[0]

    @property
    def body(self) -> Any:
        """The decoded body; None where there is none."""
        return self._decoded[1]

    @cached_property
    def ask(self) -> Ask | None:
        """The request, where its fields are valid; a signal and a scope may still be missing."""
        try:
            return validate(self.body) if self.is_json else None
        except Refusal:
            return None

    @cached_property
    def fired(self) -> frozenset[str]:
        """What it fires; nothing where its fields are not valid."""
        return frozenset() if self.ask is None else fired_by(self.ask)

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """What of it is not read, a sentence a field."""
        return tuple(hints.unread(self.body)) if self.is_json else ()

    def said(self, field: str) -> Any:
        """A field of the request as the endpoint takes it; as it was sent where the request is not valid."""
        if self.ask is not None:
            return getattr(self.ask, field)
        return self.body.get(field) if is_object(self.body) else None

    @property
    def tool(self) -> Any:
        """`action.tool`, with the same caveat."""
        action = self.said("action")
        return action.get("tool") if is_object(action) else getattr(action, "tool", None)
