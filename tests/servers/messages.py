"""What goes over the wire: the request model, one call, one reply, and the refusals.

The request is an ordinary pydantic model, so wrong fields are answered in FastAPI's own
`HTTPValidationError` shape; every other refusal is the contract's `ErrorEnvelope`. Knows nothing of rows,
scopes or limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError

DirectiveType = Literal["lesson", "procedure"]


def _each_once(values: list[DirectiveType]) -> list[DirectiveType]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("unique_items", "Items should be unique")
    return values


class Action(BaseModel):
    """The tool call in flight."""

    tool: str | None = None
    args: dict[str, Any] | None = None
    output: str | None = None


class TriggerRequest(BaseModel):
    """The body of `POST /v1/memories/trigger`; undeclared fields are ignored."""

    action: Action | None = None
    entities: list[str] | None = None
    include: Annotated[list[DirectiveType], AfterValidator(_each_once)] = Field(default_factory=list)
    task: Annotated[str, Field(max_length=2000)] | None = None
    mode: Literal["retrieve", "compose"] = "compose"
    user_id: str | None = None
    group_ids: list[str] = Field(default_factory=list)
    agent_id: str | None = None
    app_id: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came in; header names in lower case."""

    method: str
    headers: Mapping[str, str]
    body: bytes
    query: Mapping[str, str]
    connection: str


@dataclass(slots=True)
class Reply:
    """One answer before it is bytes. `content` is JSON, unless it is bytes already."""

    status: int
    content: Any
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    streamed: bool = False
    repeated: list[tuple[str, str]] = field(default_factory=list)


class Refusal(Exception):
    """The server declines: an `ErrorEnvelope`, or field errors where `fields` is given."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = dict(headers or {})
        self.fields = fields


class Cut(Exception):
    """The connection is to be dropped without an answer (only wrong variants raise it)."""
