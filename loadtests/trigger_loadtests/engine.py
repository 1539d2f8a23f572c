"""A process of a run on Locust's own runners: what a worker does, and what master and workers say.

The plan travels in the options of Locust's spawn message, stages of a capacity search and the order to
close as custom messages, figures in Locust's periodic worker reports. A run in one process takes the same
path without the network. Importing this module imports Locust, which patches the standard library for
gevent.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import gevent
import locust.runners
from gevent.queue import Empty, Queue
from locust import LoadTestShape, User, task
from locust.env import Environment
from locust.exception import StopUser

from trigger_loadtests import safety, shapes, surroundings
from trigger_loadtests.arrivals import OpenLoop
from trigger_loadtests.locustfile import AGENTS, Agent
from trigger_loadtests.plan import Plan
from trigger_loadtests.shapes import Stage
from trigger_loadtests.station import Station

_log = logging.getLogger(__name__)

#: Seconds between a worker's reports; Locust's own three are too slow for a live view and for a search.
REPORT_SECONDS = 1.0
#: How long master and workers wait for each other.
MEETING_SECONDS = 60
STAGE_MESSAGE, CLOSE_MESSAGE = "trigger_stage", "trigger_close"
#: The most users started in a second (Locust warns above 100 a worker).
SPAWN_RATE = 50.0


class Caller(Agent):
    """Sends whatever is due; the open model's agent."""


class Arrivals(User):
    """The open model's one user of a process: the schedule of its share of the arrivals."""

    @task
    def keep_the_schedule(self) -> None:
        """Send what is due until nothing more is."""
        station = surroundings.station(self.environment)
        if station.scheduled:  # this process took over the place of a lost one: its share stays lost
            raise StopUser
        station.scheduled = True
        loop = OpenLoop(station, lambda: Caller(cast("Environment", self.environment)))
        station.open()
        if station.plan.stages:
            loop.run(station.plan.stages)
        else:
            self._keep_asked_stages(station, loop)
        station.finished = True
        raise StopUser

    def _keep_asked_stages(self, station: Station, loop: OpenLoop) -> None:
        asked = stage_queue(self.environment)
        while not station.closing:
            try:
                number, stage = asked.get(timeout=0.2)
            except Empty:
                continue
            loop.rest()
            loop.run((stage,), number)
            station.stages_done = number + 1


def stage_queue(environment: Any) -> Queue[tuple[int, Stage]]:
    """Return the queue of stages that a capacity search asked this process for."""
    if not hasattr(environment, "trigger_stages"):
        environment.trigger_stages = Queue()
    return cast("Queue[tuple[int, Stage]]", environment.trigger_stages)  # pyright: ignore[reportUnknownMemberType]


class Level(LoadTestShape):
    """The closed model's shape: how many users there are at each moment, from the plan's stages."""

    plan: Plan

    def __init__(self, plan: Plan) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.plan = plan

    def tick(self) -> tuple[int, float] | None:
        """Return the number of users now; after the last stage, the last number until the run is closed."""
        moment = self.get_run_time()  # type: ignore[no-untyped-call]
        level = shapes.level_at(self.plan.stages, moment)
        users = self.plan.stages[-1].end if level is None else level
        return max(1, round(users)), SPAWN_RATE


def environment_for(plan: Plan | None) -> Environment:
    """Make the Locust environment of a process; a worker does not know the plan yet."""
    locust.runners.WORKER_REPORT_INTERVAL = REPORT_SECONDS
    locust.runners.CONNECT_RETRY_COUNT = MEETING_SECONDS // locust.runners.CONNECT_TIMEOUT - 1
    classes: list[type[User]] = [Arrivals, *AGENTS]
    environment = Environment(user_classes=classes, host=plan.target if plan else None)
    environment.parsed_options = argparse.Namespace(
        headless=True,
        enable_rebalancing=False,
        web_base_path="",
        tags=None,
        exclude_tags=None,
        expect_workers=plan.workers if plan else 1,
        trigger_plan=plan.to_json() if plan else "",
    )
    if plan:
        choose_agents(environment, plan)
    return environment


def choose_agents(environment: Environment, plan: Plan) -> None:
    """Keep the user classes that this plan needs, by their weights."""
    if plan.model == "open":
        environment.user_classes = [Arrivals]
    else:
        environment.user_classes = [agent for agent in AGENTS if plan.mix.get(agent.scenario, 0) > 0]
        for agent in AGENTS:
            agent.weight = plan.mix.get(agent.scenario, 0) or 1
    environment.stop_timeout = plan.timeout + 1
    agents: tuple[type[Agent], ...] = (*AGENTS, Caller)
    for agent in agents:
        surroundings.prepare(agent, plan)


def attend(environment: Environment, key_of: Callable[[Plan], str]) -> None:
    """Make this process able to send: on a worker, or in a run of one process."""
    runner: Any = environment.runner
    assert runner is not None  # noqa: S101 - made by the caller just before

    def on_test_start(**_: Any) -> None:
        options = environment.parsed_options
        plan = Plan.from_json(options.trigger_plan if options else "")
        safety.allow(plan.target, plan.owned)
        share = max(getattr(runner, "worker_index", 0), 0) % plan.workers
        choose_agents(environment, plan)
        surroundings.settle(environment, Station(plan, key_of(plan), share=share, shares=plan.workers))

    def on_user_error(exception: BaseException, **_: Any) -> None:
        surroundings.station(environment).mishap(f"{type(exception).__name__}: {exception}")

    def on_stage(msg: Any, **_: Any) -> None:
        stage_queue(environment).put((msg.data["number"], Stage(*msg.data["stage"])))

    def on_close(msg: Any, **_: Any) -> None:
        gevent.spawn(_wind_up, surroundings.station(environment), msg.data["why"])

    environment.events.test_start.add_listener(on_test_start)  # type: ignore[no-untyped-call]
    environment.events.user_error.add_listener(on_user_error)  # type: ignore[no-untyped-call]
    runner.register_message(STAGE_MESSAGE, on_stage)
    runner.register_message(CLOSE_MESSAGE, on_close)


def _wind_up(station: Station, why: str) -> None:
    """Let the calls in flight end, then say that this process is finished."""
    station.close(why)
    until = station.now() + station.plan.timeout + 1
    while station.in_flight and station.now() < until:
        gevent.sleep(0.02)
    station.finished = True


def work(master_host: str, master_port: int, key_of: Callable[[Plan], str]) -> int:
    """Be a worker until the master says that the run is over; return the exit code."""
    environment = environment_for(None)
    try:
        runner = environment.create_worker_runner(master_host, master_port)
    except ConnectionError:
        return 2
    attend(environment, key_of)

    def on_report(data: dict[str, Any], **_: Any) -> None:
        if hasattr(environment, "trigger_station"):
            data["trigger"] = surroundings.station(environment).report()

    environment.events.report_to_master.add_listener(on_report)  # type: ignore[no-untyped-call]
    runner.greenlet.join()
    return 0


def reports_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return our part of a worker's report, if it has one."""
    return data.get("trigger")
