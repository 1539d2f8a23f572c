"""The journal of a bench over HTTP: find, count, wait for and forget calls."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import Annotated, Any

from flask import Blueprint, current_app, request
from pydantic import Field

from trigger_mock.benches import Bench, Benches
from trigger_mock.control.call_view import CallView, shown
from trigger_mock.control.masking import mask_of
from trigger_mock.control.operations import Declined, Strict, operation
from trigger_mock.journal import Call
from trigger_mock.matching import Match, content_type
from trigger_mock.reading import Reading

routes = Blueprint("calls", __name__)

#: Calls that one answer holds at most.
MOST = 1000
#: Seconds that one request may wait.
LONGEST = 60.0
#: Where our own server says how a thread that only waits is made up for.
BORROW = "trigger_mock.borrow"

After = Annotated[int, Field(ge=0, le=2**53, description="Only calls with a greater number.")]
Limit = Annotated[int, Field(ge=1, le=MOST, description="Calls in the answer at most.")]


class _Filters(Match):
    after: After = 0


class CallsQuery(_Filters):
    """Which calls, and how many of them."""

    limit: Limit = 100


class CountQuery(_Filters):
    """Which calls."""


class WaitQuery(CallsQuery):
    """Which calls to wait for, how many, and for how long."""

    limit: Limit = MOST
    count: Annotated[int, Field(ge=1, le=1_000_000, description="Calls to wait for.")] = 1
    timeout: Annotated[float, Field(ge=0, le=LONGEST, description="Seconds to wait at most.")] = 5.0


class CallsView(Strict):
    """Calls, oldest first."""

    calls: list[CallView]
    matching: int = Field(ge=0, description="Calls that the filters admit.")
    kept: int = Field(ge=0, description="Calls that the journal holds.")
    recorded: int = Field(ge=0, description="Calls that were ever written down.")


class CountView(Strict):
    """How many calls the filters admit."""

    count: int = Field(ge=0)


class WaitedView(Strict):
    """Whether the calls came, and those that did."""

    satisfied: bool
    calls: list[CallView]
    matching: int = Field(ge=0)


@routes.get("/benches/<bench>/calls")
@operation("Find calls.", query=CallsQuery, answer=CallsView, errors=(404,))
def find(bench: str, query: CallsQuery) -> dict[str, Any]:
    """Those that all filters admit, oldest first; go on with `after` the number of the last one."""
    benches, own = _bench(bench)
    admitted = [
        (call, reading)
        for call in own.journal
        if call.number > query.after and query.admits(call, reading := _reading(call))
    ]
    mask = mask_of(benches, own)
    return {
        "calls": [shown(call, mask, reading) for call, reading in islice(admitted, query.limit)],
        "matching": len(admitted),
        "kept": len(own.journal),
        "recorded": own.journal.recorded,
    }


@routes.get("/benches/<bench>/calls/count")
@operation("Count calls.", query=CountQuery, answer=CountView, errors=(404,))
def count(bench: str, query: CountQuery) -> dict[str, Any]:
    """How many calls all filters admit."""
    _, own = _bench(bench)
    return {"count": sum(call.number > query.after and query.admits(call) for call in own.journal)}


@routes.get("/benches/<bench>/calls/wait")
@operation("Wait for calls.", query=WaitQuery, answer=WaitedView, errors=(404,))
def wait(bench: str, query: WaitQuery) -> dict[str, Any]:
    """Answer as soon as `count` calls are admitted, or when the time is over; those from before count too."""
    benches, own = _bench(bench)
    with request.environ.get(BORROW, contextlib.nullcontext)():
        found = own.journal.wait(
            lambda call: call.number > query.after and query.admits(call), query.count, query.timeout
        )
    benches.named(bench)  # closed meanwhile; and if not, it was used until now
    mask = mask_of(benches, own)
    return {
        "satisfied": len(found) >= query.count,
        "calls": [shown(call, mask) for call in found[: query.limit]],
        "matching": len(found),
    }


@routes.get("/benches/<bench>/calls/<number>")
@operation("Read one call.", answer=CallView, errors=(404,))
def read(bench: str, number: str) -> dict[str, Any]:
    """One call, by its number."""
    benches, own = _bench(bench)
    return shown(call_of(own, number), mask_of(benches, own))


@routes.delete("/benches/<bench>/calls")
@operation("Forget all calls.", errors=(404,))
def clear(bench: str) -> None:
    """Forget the calls so far; numbers go on."""
    _bench(bench)[1].journal.clear()


def call_of(bench: Bench, number: str) -> Call:
    """The call of this number. Raises `Declined`."""
    known = number.isascii() and number.isdecimal() and len(number) < 19
    call = bench.journal.find(int(number)) if known else None
    if call is None:
        raise Declined(
            404, "not_found", "there is no call of this number: it never came, was let go, or was cleared"
        )
    return call


def _bench(name: str) -> tuple[Benches, Bench]:
    benches: Benches = current_app.extensions["trigger_mock"]
    return benches, benches.named(name)


def _reading(call: Call) -> Reading:
    return Reading(call.request, content_type(call))
