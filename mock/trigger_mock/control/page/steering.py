"""What is steered on the page: the clock, and a new beginning."""

from __future__ import annotations

import math

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from trigger_mock.control.clocks import FARTHEST, show_clock
from trigger_mock.control.page.frame import bench_of, done, page
from trigger_mock.control.room import Declined, benches


def register(routes: Blueprint) -> None:
    """Put the pages in their places."""
    routes.get("/page/<bench>/clock")(clock)
    routes.post("/page/<bench>/clock/freeze")(freeze)
    routes.post("/page/<bench>/clock/resume")(resume)
    routes.post("/page/<bench>/clock/advance")(advance)
    routes.post("/page/<bench>/reset")(reset)


def clock(bench: str) -> str:
    """The clock and what begins anew."""
    owner = bench_of(bench)
    return page("clock.html", owner, "clock", clock=show_clock(owner))


def freeze(bench: str) -> AnyResponse:
    """Let it stand still."""
    owner = bench_of(bench)
    owner.clock.freeze()
    return done("clock", owner, "frozen")


def resume(bench: str) -> AnyResponse:
    """Let it run."""
    owner = bench_of(bench)
    owner.clock.resume()
    return done("clock", owner, "running")


def advance(bench: str) -> AnyResponse:
    """Move it forward, by a button's seconds or the field's."""
    owner = bench_of(bench)
    seconds = request.form.get("step", type=float) or request.form.get("seconds", type=float)
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds <= FARTHEST:
        raise Declined(422, "invalid_request", "Seconds forward are a number from 0 to those of ten years.")
    owner.clock.advance(seconds)
    return done("clock", owner, "advanced")


def reset(bench: str) -> AnyResponse:
    """Begin anew."""
    owner = bench_of(bench)
    benches().reset(owner)
    return done("clock", owner, "reset")
