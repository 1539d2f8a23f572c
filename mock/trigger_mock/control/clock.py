"""The clock of a bench over HTTP: stop it, let it run, move it forward."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from flask import Blueprint, current_app
from pydantic import AfterValidator, Field, WithJsonSchema

from trigger_mock.benches import Benches
from trigger_mock.clock import Clock
from trigger_mock.control.call_view import rfc3339
from trigger_mock.control.operations import Declined, Strict, operation

routes = Blueprint("clock", __name__)

#: Seconds since 1970 beyond which a clock is not moved: the journal's dates have four digits of year.
LATEST = 253_370_764_800.0


def _moment(text: str) -> str:
    try:
        if datetime.fromisoformat(text).tzinfo is not None and "T" in text.upper():
            return text
    except ValueError:
        pass
    raise ValueError("expected RFC 3339 with an offset, such as 2026-02-11T09:30:00Z")


Moment = Annotated[str, AfterValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


class ClockView(Strict):
    """What a clock shows."""

    frozen: bool = Field(description="Whether it stands still.")
    now: Moment = Field(description="RFC 3339, UTC.")


class ClockChange(Strict):
    """What the clock is to show."""

    frozen: bool | None = Field(None, description="Whether it is to stand still; as it is unless given.")
    now: Moment | None = Field(None, description="What it is to show; not before what it does.")


class Step(Strict):
    """How far to move."""

    seconds: Annotated[float, Field(ge=0, le=LATEST, allow_inf_nan=False, description="Seconds forward.")]


@routes.get("/benches/<bench>/clock")
@operation("Read the clock.", answer=ClockView, errors=(404,))
def read(bench: str) -> dict[str, Any]:
    """What it shows."""
    return _shown(_clock(bench))


@routes.put("/benches/<bench>/clock")
@operation("Stop, start or set the clock.", body=ClockChange, answer=ClockView, errors=(404, 409))
def change(bench: str, body: ClockChange) -> dict[str, Any]:
    """Set it, and let it stand still or run. It never goes back."""
    clock = _clock(bench)
    if body.now is not None:
        _advance(clock, datetime.fromisoformat(body.now).timestamp() - clock.now)
    if body.frozen is not None:
        (clock.freeze if body.frozen else clock.resume)()
    return _shown(clock)


@routes.post("/benches/<bench>/clock/advance")
@operation("Move the clock forward.", body=Step, answer=ClockView, errors=(404, 409))
def advance(bench: str, body: Step) -> dict[str, Any]:
    """Move it forward, frozen or not."""
    clock = _clock(bench)
    _advance(clock, body.seconds)
    return _shown(clock)


def _advance(clock: Clock, seconds: float) -> None:
    if clock.now + seconds > LATEST:
        raise Declined(409, "conflict", "a clock is not moved beyond the year 9998")
    # What it shows is told to the millisecond, so setting it to what it showed is no step back.
    if seconds < -0.001:
        raise Declined(409, "conflict", f"a clock moves forward; it shows {rfc3339(clock.now)}")
    clock.advance(max(0.0, seconds))


def _clock(bench: str) -> Clock:
    benches: Benches = current_app.extensions["trigger_mock"]
    return benches.named(bench).clock


def _shown(clock: Clock) -> dict[str, Any]:
    return {"frozen": clock.frozen, "now": rfc3339(clock.now)}
