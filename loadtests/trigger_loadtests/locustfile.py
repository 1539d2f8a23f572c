"""The agents, for Locust: who asks, how often, and how an answer is judged.

Run by `trigger-load`, or by plain Locust with its own web page: `locust -f
loadtests/trigger_loadtests/locustfile.py --host http://127.0.0.1:8080`. Plain Locust reads what it needs
from the environment (`TRIGGER_LOAD_API_KEY`, `TRIGGER_LOAD_SEED`, `TRIGGER_LOAD_MAX_REQUESTS`, ...: see
`surroundings`) and is held to the same bounds: this machine, or a host named in
`TRIGGER_LOAD_I_OWN_THIS_TARGET`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import gevent
from locust import FastHttpUser, events, task
from locust.env import Environment
from locust.exception import StopUser

from trigger_loadtests import surroundings
from trigger_loadtests.judgement import Verdict, breakdown
from trigger_loadtests.mixture import USUAL_MIX
from trigger_loadtests.scenarios import Ask
from trigger_loadtests.station import PATH, Station

_EVERY_STATUS = range(100, 600)


class Agent(FastHttpUser):
    """A client of the endpoint. Its `scenario` names the sessions that it works through."""

    abstract = True
    scenario: ClassVar[str] = ""
    max_redirects = 0  # a redirect is an answer to judge, never to follow

    def __init_subclass__(cls) -> None:
        """Give a scenario's agent the weight that it usually has."""
        super().__init_subclass__()
        cls.weight = USUAL_MIX.get(cls.scenario, 1)

    def __init__(self, environment: Environment) -> None:
        self.station: Station = surroundings.station(environment)
        super().__init__(environment)
        # Every status is an answer here: what it means is for the judge to say.
        setattr(self.client.client, "valid_response_codes", _EVERY_STATUS)  # noqa: B010 - declared for classes
        self._url = f"{self.host}{PATH}"
        self._rows, self._next_session = self.station.sessions_of(self.scenario) if self.scenario else ((), 0)
        self._session: Iterator[Ask] = iter(())

    @task
    def next_call(self) -> None:
        """Think, then ask what the session says next."""
        station = self.station
        ask = next(self._session, None)
        while ask is None:
            ask = self._start_session()
        if ask.pause:
            gevent.sleep(ask.pause)
        while not station.closing and (wait := station.quiet_until - station.now()) > 0:
            gevent.sleep(min(wait, 1.0))
        if station.closing or not station.may_send():
            raise StopUser
        self.send(ask, due=station.now())

    def _start_session(self) -> Ask | None:
        session = self._rows[self._next_session % len(self._rows)]
        self._next_session += 1
        self._session = iter(session)
        return next(self._session, None)

    def send(self, ask: Ask, *, due: float, stage: int = 0) -> None:
        """Send one ask, judge the answer, tell the station."""
        station = self.station
        station.in_flight += 1
        sent = station.now()
        try:
            verdict = self._exchange(ask)
            done = station.now()
        finally:
            station.in_flight -= 1
        station.finish(ask, stage, due, sent, done, verdict)

    def _exchange(self, ask: Ask) -> Verdict:
        name, client = f"{ask.scenario} {ask.mode}", cast("Any", self.client)
        headers = self.station.headers(ask)
        try:
            with gevent.Timeout(self.station.plan.timeout):
                answer = client.post(
                    self._url, data=ask.body, headers=headers, name=name, catch_response=True
                )
        except (gevent.Timeout, Exception) as error:  # noqa: BLE001 - a broken answer has a hundred types
            return breakdown(error, had_status=False)
        with answer as reply:
            verdict = self._judge(ask, reply)
            if verdict.outcome == "failed":
                reply.failure(verdict.reason)
            else:
                reply.success()
        return verdict

    def _judge(self, ask: Ask, reply: Any) -> Verdict:
        error = reply.request_meta["exception"]
        if error is not None:
            return breakdown(error, had_status=reply.status_code > 0)
        headers = reply.headers
        verdict = self.station.judge.answer(
            ask.expects, ask.mode, reply.status_code, headers.get("content-type", ""), reply.content or b""
        )
        if verdict.outcome == "throttled":
            self.station.hold_back(headers.get("retry-after"))
        return verdict


class CodingAgent(Agent):
    """Asks before each tool call, and again after one that failed."""

    scenario = "coding"


class FirstTouchAgent(Agent):
    """The coding agent behind a hook that asks only on first touch."""

    scenario = "first-touch"


class SupportAgent(Agent):
    """Dotted tool names, ids of customers and tickets."""

    scenario = "support"


class GroupReader(Agent):
    """Reads what several groups share."""

    scenario = "groups"


class EntitiesClient(Agent):
    """Extracts identifiers itself."""

    scenario = "entities"


class Misser(Agent):
    """Works where nobody recorded anything."""

    scenario = "miss"


class CarelessClient(Agent):
    """Gets it wrong, and expects to be refused."""

    scenario = "careless"


AGENTS: tuple[type[Agent], ...] = (
    CodingAgent,
    FirstTouchAgent,
    SupportAgent,
    GroupReader,
    EntitiesClient,
    Misser,
    CarelessClient,
)

surroundings.attend(events, AGENTS)
