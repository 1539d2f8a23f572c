"""What a client asks: the body decoded once, validated once, into one frozen value.

Contract: `TriggerRequest`. Field failures read as FastAPI and pydantic write them, all of them at once; an
option outside its enum (`include`, `mode`) becomes an `ErrorEnvelope`, as the 422 description says. A missing
signal or scope is the last thing looked at. Unknown fields are ignored here; `trigger_mock.hints` speaks of
them. Knows nothing of Flask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from trigger_mock.json_values import is_array, is_object
from trigger_mock.numbers import Number, integer
from trigger_mock.recall import Scope
from trigger_mock.refusals import InvalidFields, InvalidRequest, Refusal, UnsupportedInclude
from trigger_mock.seen import shown

Mode = Literal["compose", "retrieve"]
Corpus = Literal["lesson", "procedure"]

LONGEST_TASK = 2000
#: A list with more bad items than this is reported by its first one: half a million entries help nobody.
MOST_ENTRIES = 1000
_BOTH: frozenset[str] = frozenset({"lesson", "procedure"})
_JSON = re.compile(r"\s*application/(?:[^;,\s/]+\+)?json\s*(?:;|$)", re.IGNORECASE)
#: Integers from here on are kept by their text.
_MINUS_ZERO = re.compile(rb"[:\[,\s]-0")
_LONG = 10**18


class ActionContext(BaseModel):
    """The tool call in flight."""

    model_config = ConfigDict(frozen=True)

    tool: str | None = None
    args: dict[str, Any] | None = None
    output: str | None = None


def _once_each(values: list[Corpus]) -> list[Corpus]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("unique_items", "Input should have no repeated items")
    return values


class Ask(BaseModel):
    """A valid request. Sets and scope are derived, so that the rest of the house never sees an absent or
    empty list.
    """

    model_config = ConfigDict(frozen=True)

    action: ActionContext | None = None
    entities: list[str] | None = None
    include: Annotated[list[Corpus], AfterValidator(_once_each)] = []
    task: Annotated[str, Field(max_length=LONGEST_TASK)] | None = None
    mode: Mode = "compose"
    user_id: str | None = None
    group_ids: list[str] = []
    agent_id: str | None = None
    app_id: str | None = None

    @property
    def types(self) -> frozenset[str]:
        """The corpora to recall: `[]` and absent both mean the default."""
        return frozenset(self.include) or _BOTH

    @property
    def scope(self) -> Scope:
        """The axes supplied; an empty string is supplied, an empty list is not."""
        return Scope(self.user_id, self.agent_id, self.app_id, frozenset(self.group_ids))


class _FirstBadItem(Ask):
    """The same request, each list judged up to its first bad item. Built when it is first needed."""

    model_config = ConfigDict(defer_build=True)

    entities: Annotated[list[str], Field(fail_fast=True)] | None = None
    include: Annotated[list[Corpus], Field(fail_fast=True), AfterValidator(_once_each)] = []
    group_ids: Annotated[list[str], Field(fail_fast=True)] = []


def parse(body: Any) -> Ask:
    """Decoded JSON → request. Raises `InvalidFields`, `UnsupportedInclude` or `InvalidRequest`, in this order
    of looking.
    """
    ask = validate(body)
    require_signal_and_scope(ask)
    return ask


def decode(raw: bytes, content_type: str | None) -> Any:
    """Bytes → JSON value. Raises `InvalidFields`."""
    if not raw:
        raise InvalidFields([{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}])
    if content_type is None or not _JSON.match(content_type):
        raise InvalidFields([_not_an_object(raw.decode(errors="replace"))])
    try:
        value = orjson.loads(raw)
        if not _is_rounded(value) and (b"-0" not in raw or not _MINUS_ZERO.search(raw)):
            return value
    except orjson.JSONDecodeError:
        # The standard parser reads NaN, a BOM, UTF-16 and lone surrogates too, and words refusals as
        # FastAPI does.
        pass
    try:
        return json.loads(raw, parse_float=Number, parse_int=integer, parse_constant=Number)
    except json.JSONDecodeError as error:
        raise _malformed(error.pos, error.msg) from None
    except UnicodeDecodeError as error:
        raise _malformed(error.start, f"Invalid {error.encoding}: {error.reason}") from None
    except RecursionError:
        pass
    try:
        # Counts its depth by itself, up to 1,024, however deep the caller's own stack is.
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise _malformed(0, "Nested too deeply") from None


def _is_rounded(value: Any) -> bool:
    """Whether a number of the body may have lost its text: one with a fraction or exponent, or beyond 64
    bits.
    """
    values = [value]
    for each in values:  # grows as it is read, in place of recursion
        if is_object(each):
            values.extend(each.values())
        elif is_array(each):
            values.extend(each)
        elif type(each) is float or (type(each) is int and not -_LONG < each < _LONG):
            return True
    return False


def validate(body: Any) -> Ask:
    """JSON value → request. Raises `InvalidFields` with every failing field, or the envelope for an option
    outside its enum.
    """
    try:
        return Ask.model_validate(body)
    except ValidationError as error:
        failure = error
    if failure.error_count() > MOST_ENTRIES:
        try:
            return _FirstBadItem.model_validate(body)
        except ValidationError as error:
            failure = error
    details = failure.errors(include_url=False)
    options = [detail for detail in details if _is_bad_option(detail)]
    if len(options) == len(details):
        raise _unsupported(options)
    raise InvalidFields([_entry(detail) for detail in details])


def require_signal_and_scope(ask: Ask) -> None:
    """Raise `InvalidRequest` when nothing fires or nothing scopes; an empty string or a list of them
    scopes nothing.
    """
    missing: list[str] = []
    if not ask.entities and ask.action is None:
        missing.append("a firing signal is required: pass action, or entities with at least one item")
    if not (ask.user_id or ask.agent_id or ask.app_id or any(ask.group_ids)):
        missing.append(
            "a scope is required: pass at least one non-empty user_id, agent_id, app_id or group_ids"
        )
    if missing:
        raise InvalidRequest("; ".join(missing))


def _is_bad_option(detail: ErrorDetails) -> bool:
    if detail["type"] == "unique_items":
        return True
    return detail["type"] == "literal_error" and isinstance(detail["input"], str)


def _unsupported(options: Sequence[ErrorDetails]) -> Refusal:
    spoken: list[str] = []
    for option in options:
        field = str(option["loc"][0])
        if option["type"] == "unique_items":
            spoken.append(f"{field} repeats a value; name each corpus once")
        else:
            place = "".join(f"[{part}]" for part in option["loc"][1:])
            spoken.append(
                f"{field}{place} is {shown(option['input'])!r}; expected {option.get('ctx', {})['expected']}"
            )
    refusal = UnsupportedInclude if options[0]["loc"][0] == "include" else InvalidRequest
    return refusal("; ".join(spoken))


def _entry(detail: ErrorDetails) -> dict[str, Any]:
    if detail["type"] == "model_type":
        return _not_an_object(detail["input"], *detail["loc"])
    entry: dict[str, Any] = {
        "type": detail["type"],
        "loc": ["body", *detail["loc"]],
        "msg": detail["msg"],
        "input": shown(detail["input"]),
    }
    if "ctx" in detail:
        entry["ctx"] = detail["ctx"]
    return entry


def _not_an_object(seen: Any, *loc: str | int) -> dict[str, Any]:
    # FastAPI reads bodies `from_attributes`; its word for 'no object' is taken without that mode, in which a
    # value of any class of ours would pass for an object with nothing set.
    return {
        "type": "model_attributes_type",
        "loc": ["body", *loc],
        "msg": "Input should be a valid dictionary or object to extract fields from",
        "input": shown(seen),
    }


def _malformed(position: int, reason: str) -> InvalidFields:
    return InvalidFields(
        [
            {
                "type": "json_invalid",
                "loc": ["body", position],
                "msg": "JSON decode error",
                "input": {},
                "ctx": {"error": reason},
            }
        ]
    )
