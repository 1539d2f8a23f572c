"""The open model: calls that are due when the shape says so, whether or not earlier ones were answered.

One greenlet for each intended arrival; each call is timed from the moment at which it was due, so that a
stall of the target (or of this generator) shows in the response times. Callers, each with its own
connection, are reused last in, first out. What could not be sent within the timeout is counted as unsent,
and is the generator's failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import gevent
from gevent.event import Event
from gevent.pool import Pool

from trigger_loadtests import shapes
from trigger_loadtests.mixture import deal
from trigger_loadtests.scenarios import Ask
from trigger_loadtests.shapes import Stage
from trigger_loadtests.station import Station

#: How often a sleeping schedule looks whether the run was closed.
_GLANCE = 0.25
#: When late, let the callers run after so many arrivals.
_BURST = 8


class Caller(Protocol):
    """Whoever can send an ask."""

    def send(self, ask: Ask, *, due: float, stage: int = 0) -> None:
        """Send it and tell the station what came back."""


class OpenLoop:
    """Sends this process's share of the arrivals."""

    def __init__(self, station: Station, new_caller: Callable[[], Caller]) -> None:
        self._station = station
        self._new_caller = new_caller
        self._calls = Pool()
        self._free = Event()
        plan = station.plan
        self._idle: list[Caller] = []
        self._deck = deal(plan.mix, plan.population, plan.seed, plan.compose)
        self._most = max(1, -(-plan.max_in_flight // station.shares))
        # The first calls must not wait for callers to be made.
        fastest = max((stage.start for stage in plan.stages), default=plan.first_rate) / station.shares
        self._idle.extend(new_caller() for _ in range(min(self._most, 4 + int(fastest * 0.1))))
        self._dealt = 0
        self._streak = 0  # arrivals since the schedule last slept

    def run(self, row: tuple[Stage, ...], first_number: int = 0) -> None:
        """Send the arrivals of these stages, from now on; return when the last call has ended."""
        station, began = self._station, self._station.now()
        halves = _Halves(row)
        for number, moment in self._mine(row):
            due = began + moment
            if not self._sleep_until(due):
                break
            halves.note(station, number, first_number + number, moment)
            station.recorder.due(due)
            if station.now() < station.quiet_until:
                station.recorder.withheld(due, first_number + number)
                continue
            if not self._wait_for_a_caller(due):
                station.recorder.unsent(due)
                continue
            if not station.may_send():
                break
            self._calls.spawn(self._call, self._ask(), due, first_number + number)
        else:
            self._sleep_until(began + sum(stage.seconds for stage in row))
        halves.end(station, first_number + len(row) - 1)
        self._calls.join(timeout=station.plan.timeout + 1)
        self._calls.kill()

    def rest(self) -> None:
        """Wait until the target's last `Retry-After` has passed."""
        self._sleep_until(self._station.quiet_until)

    def _mine(self, row: tuple[Stage, ...]) -> Iterator[tuple[int, float]]:
        station, plan = self._station, self._station.plan
        steps = shapes.poisson(plan.seed) if plan.poisson else shapes.even()
        for count, arrival in enumerate(shapes.arrivals(row, steps)):
            if count % station.shares == station.share:
                self._dealt = count
                yield arrival

    def _ask(self) -> Ask:
        return self._deck[self._dealt % len(self._deck)]

    def _sleep_until(self, due: float) -> bool:
        """Sleep until a moment; return False when the run was closed meanwhile."""
        station = self._station
        while not station.closing:
            wait = due - station.now()
            if wait <= 0:
                self._streak += 1
                if self._streak % _BURST == 0:
                    gevent.sleep(0)
                return not station.closing
            self._streak = 0
            gevent.sleep(min(wait, _GLANCE))
        return False

    def _wait_for_a_caller(self, due: float) -> bool:
        station = self._station
        if len(self._calls) < self._most:
            return True
        station.recorder.counts["capped"] += 1
        while len(self._calls) >= self._most and not station.closing:
            left = due + station.plan.timeout - station.now()
            if left <= 0:
                return False
            self._free.clear()
            self._free.wait(min(left, _GLANCE))
        return not station.closing

    def _call(self, ask: Ask, due: float, stage: int) -> None:
        try:
            caller = self._idle.pop() if self._idle else self._new_caller()
            caller.send(ask, due=due, stage=stage)
            self._idle.append(caller)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be counted, not lost in a greenlet
            self._station.mishap(f"{type(error).__name__}: {error}")
        finally:
            self._free.set()


class _Halves:
    """Notes the calls in flight in the middle of the last stage and at its end: does a backlog grow?"""

    def __init__(self, row: tuple[Stage, ...]) -> None:
        self._middle = row[-1].seconds / 2 + sum(stage.seconds for stage in row[:-1]) if row else 0.0
        self._noted = False

    def note(self, station: Station, _number: int, stage: int, moment: float) -> None:
        if not self._noted and moment >= self._middle:
            self._noted = True
            station.recorder.counts[f"middle-{stage}"] += station.in_flight

    def end(self, station: Station, stage: int) -> None:
        station.recorder.counts[f"end-{stage}"] += station.in_flight
