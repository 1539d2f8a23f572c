"""Which calls are meant: the filters of the journal and the conditions of a fault, in one set of names.

All that is given must hold, and what is absent always holds. Texts are compared as the endpoint compares
them: whole, and case-sensitively. Knows nothing of HTTP.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from trigger_mock.journal import Call
from trigger_mock.json_values import is_array, is_object
from trigger_mock.reading import Reading


class _Asked(BaseModel):
    """Conditions on a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Annotated[str, Field(description="The request's method.")] | None = None
    organisation: Annotated[str, Field(description="The organisation of the key.")] | None = None
    mode: Annotated[Literal["compose", "retrieve"], Field(description="The mode asked for.")] | None = None
    tool: Annotated[str, Field(description="`action.tool`.")] | None = None
    entity: Annotated[str, Field(description="An identifier that the request fires.")] | None = None
    user_id: Annotated[str, Field(description="The `user_id` sent.")] | None = None
    agent_id: Annotated[str, Field(description="The `agent_id` sent.")] | None = None
    app_id: Annotated[str, Field(description="The `app_id` sent.")] | None = None
    group_id: Annotated[str, Field(description="One of the `group_ids` sent.")] | None = None

    def admits_request(
        self, reading: Reading, *, method: str = "POST", organisation: str | None = None
    ) -> bool:
        """Whether a request that is not answered yet is meant."""
        return (
            _is(self.method, method)
            and _is(self.organisation, organisation)
            and (self.mode is None or reading.said("mode") == self.mode)
            and (self.tool is None or reading.tool == self.tool)
            and (self.entity is None or self.entity in reading.fired)
            and all(
                wanted is None or reading.said(axis) == wanted
                for axis, wanted in (
                    ("user_id", self.user_id), ("agent_id", self.agent_id), ("app_id", self.app_id)
                )
            )
            and (self.group_id is None or self.group_id in _list(reading.said("group_ids")))
        )  # fmt: skip


class Match(_Asked):
    """Conditions on a call that was answered."""

    request_id: Annotated[str, Field(description="The `X-Request-Id` of the answer.")] | None = None
    status: Annotated[int, Field(ge=100, le=599, description="The status of the answer.")] | None = None
    recalled: Annotated[bool, Field(description="Whether the answer holds rows.")] | None = None
    fault: Annotated[str, Field(description="The fault that was injected, by its kind.")] | None = None

    def admits(self, call: Call, reading: Reading | None = None) -> bool:
        """Whether a call that was answered is meant. `reading` is that of its request, where there is one."""
        return (
            _is(self.status, call.status)
            and _is(self.fault, call.fault)
            and (self.recalled is None or self.recalled == recalled(call))
            and (self.request_id is None or self.request_id == request_id(call))
            and self.admits_request(
                reading or Reading(call.request, content_type(call)),
                method=call.method,
                organisation=call.caller.organisation.name if call.caller else None,
            )
        )


class RequestMatch(_Asked):
    """Conditions on a request that is not answered yet, with its body among them."""

    body: (
        Annotated[
            dict[str, Any],
            Field(description="Fields that the request's body holds, at any depth; it may hold others."),
        ]
        | None
    ) = None

    def admits_request(
        self, reading: Reading, *, method: str = "POST", organisation: str | None = None
    ) -> bool:
        """Whether a request that is not answered yet is meant."""
        return super().admits_request(reading, method=method, organisation=organisation) and (
            self.body is None or holds(reading.body, self.body)
        )


def holds(value: Any, wanted: Any) -> bool:
    """Whether a JSON value holds another: objects field by field, arrays item by item, the rest as it is."""
    if is_object(wanted):
        return is_object(value) and all(key in value and holds(value[key], wanted[key]) for key in wanted)
    if is_array(wanted):
        return is_array(value) and len(value) == len(wanted) and all(map(holds, value, wanted))
    # In JSON true is no 1, and 1 is 1.0.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def content_type(call: Call) -> str | None:
    """What the request said that its body is."""
    return next((value for name, value in call.headers if name == "content-type"), None)


def request_id(call: Call) -> str | None:
    """What the answer was signed with."""
    return next((value for name, value in call.answer_headers if name.lower() == "x-request-id"), None)


def recalled(call: Call) -> bool:
    """Whether the answer holds rows."""
    if call.status != 200:
        return False
    try:
        answer = orjson.loads(call.answer)
    except orjson.JSONDecodeError:
        return False
    return is_object(answer) and bool(_list(answer.get("data")))


def _is(wanted: object, value: object) -> bool:
    return wanted is None or wanted == value


def _list(value: object) -> list[Any]:
    return value if is_array(value) else []
