"""The one process that starts a run, watches it and adds it up: the master, or the only process there is.

Bounds every wait: a run ends when all of its processes say that they are finished, when all are lost,
when it is interrupted, or at the latest when its seconds and the timeout of the last call have passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
from locust.env import Environment
from locust.runners import STATE_MISSING, MasterRunner

from trigger_loadtests import engine, surroundings
from trigger_loadtests.capacity import Search
from trigger_loadtests.finished import Member, Run, Step
from trigger_loadtests.health import keeps_up, shortfalls_of_stage
from trigger_loadtests.objectives import Objective, Pace, judge
from trigger_loadtests.plan import Plan
from trigger_loadtests.recorder import Recorder
from trigger_loadtests.shapes import Stage

#: How long a worker may be silent at the end of a run.
PATIENCE = 5.0
#: How often in a row a search tries a rate at which the generator itself was late, before it ends.
TRIES = 3


class Conductor:
    """Conducts one run. `watch` is called several times a second, with the conductor, to show how it goes."""

    def __init__(
        self,
        plan: Plan,
        environment: Environment,
        objectives: Sequence[Objective],
        *,
        watch: Callable[[Conductor], None],
        lost_children: Callable[[], frozenset[int]] = frozenset,
    ) -> None:
        self.plan = plan
        self.recorder = Recorder(plan.bin_seconds)
        self.members: dict[str, Member] = {}
        self.mishaps: list[str] = []
        self.steps: list[Step] = []
        self.search: Search | None = None
        self.interrupted = False
        self.began = time.monotonic()
        self._environment = environment
        self._objectives = objectives
        self._watch = watch
        self._lost_children = lost_children
        self._closed_at: float | None = None
        assert environment.runner is not None  # noqa: S101 - made by the caller just before
        self._runner: Any = environment.runner
        self._is_master = isinstance(self._runner, MasterRunner)
        environment.events.worker_report.add_listener(self._on_report)  # type: ignore[no-untyped-call]

    @property
    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self.began

    @property
    def in_flight(self) -> int:
        """Return how many calls wait for an answer now."""
        return sum(member.in_flight for member in self.members.values())

    def interrupt(self) -> None:
        """End the run early; everything is still reported."""
        self.interrupted = True

    def run(self) -> Run:
        """Conduct the run to its end."""
        self._start()
        if self.plan.profile == "capacity":
            self._find_capacity()
        elif self.plan.model == "open":
            self._wait(
                lambda: self._all(lambda member: member.finished),
                self.plan.seconds + self.plan.timeout + PATIENCE,
            )
        else:
            self._wait(lambda: self._all(lambda member: member.finished), self.plan.seconds)
        elapsed = self.elapsed
        self._close()
        if self.search and not self.search.ended:
            self.search.ended = "interrupted"
        return Run(
            plan=self.plan,
            recorder=self.recorder,
            members=list(self.members.values()),
            elapsed=elapsed,
            interrupted=self.interrupted,
            mishaps=self.mishaps,
            steps=self.steps,
            search=self.search,
            why_closed=next((member.why_closed for member in self.members.values() if member.why_closed), ""),
        )

    def _start(self) -> None:
        if self._is_master:
            for name in self._runner.clients:
                self.members[name] = Member(name)
        else:
            self.members["local"] = Member("local")
        if self.plan.model == "open":
            self._runner.start(self.plan.workers, spawn_rate=100)
        else:
            self._environment.shape_class = engine.Level(self.plan)
            self._runner.start_shape()
        self.began = time.monotonic()

    def _on_report(self, client_id: str, data: dict[str, Any]) -> None:
        report = engine.reports_of(data)
        if report is not None:
            self._take(self.members.setdefault(client_id, Member(client_id)), report)

    def _take(self, member: Member, report: Any) -> None:
        if "figures" in report:
            self.recorder.absorb(report["figures"])
        member.in_flight, member.stages_done = report["in_flight"], report["stages_done"]
        member.finished = member.finished or report["finished"]
        member.why_closed = member.why_closed or report["why_closed"]
        member.cpu.append(report["cpu"])
        member.waited.append(report["waited"])
        member.process = report["process"]
        self.mishaps.extend(report["mishaps"])

    def _listen(self) -> None:
        """Hear the only process there is, or notice workers that went away."""
        if not self._is_master:
            if hasattr(self._environment, "trigger_station"):
                station = surroundings.station(self._environment)
                self.recorder = (
                    station.recorder
                )  # shared: to encode figures only to read them back costs lateness
                self._take(self.members["local"], station.standing())
            return
        gone = self._lost_children()
        for name, member in self.members.items():
            node = self._runner.clients.get(name)
            if not member.finished and (node is None or node.state == STATE_MISSING):
                member.lost = True
            if not member.finished and member.process in gone:
                member.lost = True

    def _all(self, holds: Callable[[Member], bool]) -> bool:
        return all(member.lost or holds(member) for member in self.members.values())

    def _wait(self, over: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; return False when the time was up or the run was interrupted."""
        until = time.monotonic() + seconds
        listened = 0.0
        while time.monotonic() < until and not self.interrupted:
            gevent.sleep(0.05)
            if time.monotonic() - listened >= 0.5:
                self._listen()
                listened = time.monotonic()
                self._watch(self)
            if over():
                return True
        return False

    def _close(self) -> None:
        """Tell everybody to end, and hear their last figures."""
        self._runner.send_message(engine.CLOSE_MESSAGE, {"why": "interrupted" if self.interrupted else ""})
        was, self.interrupted = self.interrupted, False
        self._wait(lambda: self._all(lambda member: member.finished), self.plan.timeout + PATIENCE)
        self.interrupted = was or self.interrupted
        self._listen()
        for member in self.members.values():
            member.lost = member.lost or not member.finished
        self._environment.shape_class = None
        self._runner.quit()

    def _find_capacity(self) -> None:
        plan = self.plan
        search = self.search = Search(first=plan.first_rate, top=plan.top_rate)
        late = 0
        while (rate := search.next_rate()) is not None and not self.interrupted:
            if self.elapsed + plan.stage_seconds > plan.seconds:
                search.ended = "out-of-time"
                return
            step = self._try(len(self.steps), rate)
            if step is None or any(member.lost for member in self.members.values()):
                return
            if any(member.why_closed for member in self.members.values()) and not self.interrupted:
                search.ended = "out-of-requests"  # its last stage was cut short: no figure of the target's
                return
            self.steps.append(step)
            if step.short and not step.met:
                late += 1
                if late == TRIES:
                    search.ended = "generator-short"
                continue
            late = 0
            search.tell(rate, "met" if step.met else "broken")

    def _try(self, number: int, rate: float) -> Step | None:
        plan = self.plan
        stage = Stage(f"{rate:.1f}/s", plan.stage_seconds, rate, rate)
        self._runner.send_message(engine.STAGE_MESSAGE, {"number": number, "stage": list(stage)})
        within = stage.seconds + plan.timeout + PATIENCE
        if not self._wait(lambda: self._all(lambda member: member.stages_done > number), within):
            return None
        self._listen()
        total = self.recorder.total(stages=[number])
        answered = total.outcomes["good"] + total.outcomes["refused"]
        pace = Pace(wanted=stage.area, answered=answered, seconds=stage.seconds)
        results = judge(self._objectives, self.recorder, pace, stages=[number])
        kept_up = keeps_up(self.recorder, number, stage)
        doubtful = not kept_up or any(result.doubtful for result in results)
        short = shortfalls_of_stage(total) if doubtful else ()
        met = kept_up and all(result.met for result in results)
        return Step(
            rate=rate,
            seconds=stage.seconds,
            met=met,
            achieved=answered / stage.seconds,
            results=results,
            kept_up=kept_up,
            short=short,
        )
