"""The journal over HTTP: find calls, count them, wait for them, look at one, forget all."""

from __future__ import annotations

from typing import Annotated, Any

from flask import request
from pydantic import Field
from typing_extensions import TypedDict

from trigger_mock.benches import Bench
from trigger_mock.connection import LONGEST, borrowed, connection_of
from trigger_mock.control.masking import Mask, content, mask_of
from trigger_mock.control.room import Declined, Room, rfc3339
from trigger_mock.journal import Call
from trigger_mock.matching import Match, content_type
from trigger_mock.reading import Reading

room = Room("calls")


class RequestBody(TypedDict):
    """A body: `body` where it is JSON, `text` where it is not."""

    bytes: int
    body: Any
    text: str | None


class AnswerShown(TypedDict):
    """An answer: `body` where it is JSON, `text` where it is not."""

    status: int
    headers: dict[str, str]
    bytes: int
    body: Any
    text: str | None


class CallShown(TypedDict):
    """One call of the journal. `key` tells which key of the organisation it was, `acme/0` being the first
    one.
    """

    number: int
    time: str
    organisation: str | None
    key: str | None
    method: str
    path: str
    headers: dict[str, str]
    request: RequestBody
    response: AnswerShown
    fired: list[str]
    hints: list[str]
    missed: list[str]
    milliseconds: float
    fault: str | None


class Calls(TypedDict):
    """Calls, oldest first. `matching`: how many of those kept match; `recorded`: how many were ever kept."""

    calls: list[CallShown]
    matching: int
    kept: int
    recorded: int


class Count(TypedDict):
    """How many calls match."""

    count: int


class Waited(TypedDict):
    """The calls that match; `satisfied` tells whether they are as many as was waited for."""

    satisfied: bool
    calls: list[CallShown]
    matching: int


class Page(Match):
    """Which calls, and how many of them."""

    after: Annotated[int, Field(ge=0, description="Only calls of a higher number.")] = 0
    limit: Annotated[int, Field(ge=0, le=1000, description="At most so many, the oldest first.")] = 100


class Wait(Match):
    """Which calls, and for how many of them to wait how long."""

    count: Annotated[int, Field(ge=1, le=1_000_000, description="Calls to wait for.")] = 1
    timeout: Annotated[float, Field(ge=0, le=LONGEST, description="Seconds to wait at most.")] = 5.0


@room.serve("GET", "/benches/{bench}/calls", query=Page, answer=Calls)
def list_calls(bench: Bench, query: Page) -> Calls:
    """Find calls."""
    kept = list(bench.journal)
    found = [call for call in kept if call.number > query.after and query.admits(call)]
    return {
        "calls": _shown(bench, found[: query.limit]),
        "matching": len(found),
        "kept": len(kept),
        "recorded": bench.journal.recorded,
    }


@room.serve("GET", "/benches/{bench}/calls/count", query=Match, answer=Count)
def count_calls(bench: Bench, query: Match) -> Count:
    """Count calls."""
    return {"count": sum(map(query.admits, bench.journal))}


@room.serve("GET", "/benches/{bench}/calls/wait", query=Wait, answer=Waited)
def wait_for_calls(bench: Bench, query: Wait) -> Waited:
    """Wait until so many calls match."""
    if not bench.journal.size:
        raise Declined(409, "conflict", f"the journal of {bench.name!r} is off; nothing can be waited for")
    # On our own server a thread that waits is replaced by another one for as long as it does.
    connection = connection_of(request.environ)
    with borrowed(request.environ):
        found = bench.journal.wait(
            query.admits,
            query.count,
            query.timeout,
            ended=lambda: connection is not None and connection.dismissed,
        )
    return {
        "satisfied": len(found) >= query.count,
        "calls": _shown(bench, found),
        "matching": len(found),
    }


@room.serve("GET", "/benches/{bench}/calls/{number}", answer=CallShown)
def show_call(bench: Bench, number: int) -> CallShown:
    """Look at one call."""
    return call_shown(found(bench, number), mask_of(bench))


@room.serve("DELETE", "/benches/{bench}/calls")
def forget_calls(bench: Bench) -> None:
    """Forget all calls; numbers go on."""
    bench.journal.clear()


def found(bench: Bench, number: int) -> Call:
    """The call of this number. Raises `Declined`."""
    call = bench.journal.find(number)
    if call is None:
        raise Declined(404, "not_found", f"the journal of {bench.name!r} holds no call {number}")
    return call


def call_shown(call: Call, mask: Mask) -> CallShown:
    """A call as JSON can say it, keys masked."""
    reading = Reading(call.request, content_type(call))
    body, text = content(call.request, mask)
    answer, answer_text = content(call.answer, mask)
    return {
        "number": call.number,
        "time": rfc3339(call.time),
        "organisation": mask(call.caller.organisation.name) if call.caller else None,
        "key": mask(call.caller.place) if call.caller else None,
        "method": mask(call.method),
        "path": mask(call.path.encode("latin-1", "replace").decode("utf-8", "backslashreplace")),
        "headers": {mask(name): mask(value) for name, value in call.headers},
        "request": {"bytes": len(call.request), "body": body, "text": text},
        "response": {
            "status": call.status,
            "headers": {mask(name): mask(value) for name, value in call.answer_headers},
            "bytes": len(call.answer),
            "body": answer,
            "text": answer_text,
        },
        "fired": sorted(map(mask, reading.fired)),
        "hints": list(map(mask, reading.hints)),
        "missed": list(map(mask, call.missed)),
        "milliseconds": round(call.seconds * 1000, 3),
        "fault": call.fault,
    }


def _shown(bench: Bench, calls: list[Call]) -> list[CallShown]:
    mask = mask_of(bench)
    return [call_shown(call, mask) for call in calls]
