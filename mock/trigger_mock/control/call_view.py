"""A call of the journal as JSON tells it: what came, what went out, and what follows from both.

What a call fired and what of it is not read are worked out here, when somebody reads it. Holds no key.
Knows nothing of Flask.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from trigger_mock.control.masking import Mask, body_of, encodable
from trigger_mock.control.operations import Strict
from trigger_mock.journal import Call, Header
from trigger_mock.matching import content_type
from trigger_mock.reading import Reading


class RequestView(Strict):
    """What a client sent."""

    body: Any = Field(description="The body where it is JSON.")
    text: str | None = Field(description="The body where it is no JSON, or cannot be shown as such.")
    bytes: int = Field(ge=0, description="How long the body is; 0 where it was too large to be read.")


class ResponseView(Strict):
    """What it was answered."""

    status: int
    headers: dict[str, str]
    body: Any = Field(description="The body where it is JSON.")
    text: str | None = Field(description="The body where it is no JSON.")
    bytes: int = Field(ge=0)


class CallView(Strict):
    """One call to the endpoint."""

    number: int = Field(ge=1, description="Counts from 1 in its bench.")
    time: str = Field(
        description="RFC 3339, on the bench's clock.", json_schema_extra={"format": "date-time"}
    )
    organisation: str | None = Field(description="None where the credentials were refused.")
    key: str | None = Field(description="Which key it was, as acme/0; never the key.")
    method: str
    path: str
    headers: dict[str, str] = Field(description="In lower case, without credentials.")
    request: RequestView
    response: ResponseView
    fired: list[str] = Field(description="The identifiers that the request fires.")
    hints: list[str] = Field(description="What of the request is not read.")
    missed: list[str] = Field(description="What the unread fields would have recalled.")
    milliseconds: float = Field(ge=0)
    fault: str | None = Field(description="The fault that was injected, by its kind.")


def shown(call: Call, mask: Mask, reading: Reading | None = None) -> dict[str, Any]:
    """Tell of a call, ready for orjson."""
    reading = reading or Reading(call.request, content_type(call))
    sent, sent_text = body_of(call.request, mask)
    answered, answered_text = body_of(call.answer, mask)

    def say(text: str) -> str:
        return mask(encodable(text))

    return {
        "number": call.number,
        "time": rfc3339(call.time),
        "organisation": say(call.caller.organisation.name) if call.caller else None,
        "key": say(call.caller.place) if call.caller else None,
        "method": say(call.method),
        "path": say(call.path.encode("latin-1", "replace").decode("utf-8", "replace")),
        "headers": _headers(call.headers, mask),
        "request": {"body": sent, "text": sent_text, "bytes": len(call.request)},
        "response": {
            "status": call.status,
            "headers": _headers(call.answer_headers, mask),
            "body": answered,
            "text": answered_text,
            "bytes": len(call.answer),
        },
        "fired": sorted(map(say, reading.fired)),
        "hints": [say(hint) for hint in reading.hints],
        "missed": [say(sentence) for sentence in call.missed],
        "milliseconds": round(call.seconds * 1000, 3),
        "fault": call.fault,
    }


def rfc3339(seconds: float) -> str:
    """A moment as RFC 3339 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _headers(headers: tuple[Header, ...], mask: Mask) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, value in headers:
        name, value = mask(encodable(name)), mask(encodable(value))
        told[name] = f"{told[name]}, {value}" if name in told else value
    return told
