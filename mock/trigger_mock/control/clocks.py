"""The clock of a bench over HTTP: look at it, freeze it, let it run, move it forward."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from trigger_mock.benches import Bench
from trigger_mock.control.room import Declined, Room, rfc3339

room = Room("clock")

#: Seconds that a clock may be moved at once: ten years.
FARTHEST = 10 * 365 * 86_400.0
#: Seconds since 1970 beyond which no clock is moved: the journal's dates have four digits for the year.
LATEST = 253_370_764_800.0


class ClockShown(TypedDict):
    """What a clock shows: `now` in RFC 3339, and whether it stands still."""

    now: str
    frozen: bool


class Setting(BaseModel):
    """What a clock is to do. `now` must not lie before what it shows; absent, it stays as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frozen: Annotated[bool, Field(description="Whether it stands still.")] | None = None
    now: (
        Annotated[
            str,
            Field(
                description="A moment in RFC 3339 with its offset, not in its past.",
                json_schema_extra={"format": "date-time"},
            ),
        ]
        | None
    ) = None


class Step(BaseModel):
    """How far a clock is moved."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: Annotated[float, Field(ge=0, le=FARTHEST, description="Seconds forward.")]


@room.serve("GET", "/benches/{bench}/clock", answer=ClockShown)
def show_clock(bench: Bench) -> ClockShown:
    """Look at the clock."""
    return {"now": rfc3339(bench.clock.now), "frozen": bench.clock.frozen}


@room.serve("PUT", "/benches/{bench}/clock", body=Setting, answer=ClockShown)
def set_clock(bench: Bench, body: Setting) -> ClockShown:
    """Freeze the clock, let it run, or set it to a later moment."""
    step = 0.0 if body.now is None else _moment(body.now) - bench.clock.now
    # What was read from it a moment ago is not its past: it shows milliseconds, and runs.
    if not -1.0 < step <= FARTHEST:
        raise Declined(
            409,
            "conflict",
            f"now is {step:+.0f} s away; a clock moves forward, and at most ten years at once",
        )
    _require_years_left(bench, step)
    if body.frozen:
        bench.clock.freeze()
    elif body.frozen is False:
        bench.clock.resume()
    bench.clock.advance(max(0.0, step))
    return show_clock(bench)


@room.serve("POST", "/benches/{bench}/clock/advance", body=Step, answer=ClockShown)
def advance_clock(bench: Bench, body: Step) -> ClockShown:
    """Move the clock forward, frozen or not."""
    _require_years_left(bench, body.seconds)
    bench.clock.advance(body.seconds)
    return show_clock(bench)


def _require_years_left(bench: Bench, seconds: float) -> None:
    if bench.clock.now + seconds > LATEST:
        raise Declined(409, "conflict", "a clock is not moved beyond the year 9998; reset the bench")


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Declined(
            422, "invalid_request", f"now is {text!r}; expected a moment such as 2026-01-31T09:30:00Z"
        )
    return moment.timestamp()
