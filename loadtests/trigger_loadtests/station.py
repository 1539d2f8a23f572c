"""One process's part in a run: its bodies, judge, recorder and bounds, shared by all of its agents.

Agents ask the station whether they may send, and tell it what came back. It is the only owner of the
process's state, and knows nothing of how calls are scheduled.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from trigger_loadtests.effort import Effort
from trigger_loadtests.judgement import Judge, Verdict
from trigger_loadtests.mixture import sessions
from trigger_loadtests.plan import Plan
from trigger_loadtests.recorder import Call, Recorder
from trigger_loadtests.scenarios import Ask, Session

PATH = "/v1/memories/trigger"

#: A `Retry-After` is obeyed for no longer than this, so that a strange answer cannot end a run.
LONGEST_WAIT = 60.0
#: Answers that come so long after the last arrival do not count towards the achieved rate.
ANSWER_GRACE = 1.0
#: A key that no target knows, for the careless client.
UNKNOWN_KEY = "xtk_load_unknown_key"


class Station:
    """Where the agents of this process meet; it does part `share` of `shares` of the work."""

    def __init__(
        self,
        plan: Plan,
        key: str,
        *,
        share: int = 0,
        shares: int = 1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = plan
        self.share, self.shares = share, shares
        self.clock = clock
        self.opened = clock()
        self.recorder = Recorder(plan.bin_seconds)
        self.judge = Judge(schema_check(), plan.schema_every)
        self.in_flight = 0
        self.closing = False
        self.finished = False
        self.scheduled = False
        self.stages_done = 0
        self.why_closed = ""
        self.quiet_until = 0.0
        self.mishaps: list[str] = []
        self._secret = key
        self._budget = -(-plan.max_requests // shares)
        self._sessions: dict[str, tuple[Session, ...]] = {}
        self._joined: dict[str, int] = {}
        self._headers = {
            "answer": _headers(key),
            "invalid": _headers(key),
            "unauthorised": _headers(UNKNOWN_KEY),
        }
        self._effort = Effort()

    def now(self) -> float:
        """Return the seconds since the run began here."""
        return self.clock() - self.opened

    def open(self) -> None:
        """Begin: the run's time starts now."""
        gc.collect()
        gc.freeze()  # what is loaded by now stays: to search it again and again would only stop the clock
        self.opened = self.clock()
        self._effort.since_last()

    def close(self, why: str = "") -> None:
        """Send nothing more; calls in flight are finished."""
        self.closing = True
        self.why_closed = self.why_closed or why

    def headers(self, ask: Ask) -> dict[str, str]:
        """Return the headers of an ask."""
        return self._headers[ask.expects]

    def may_send(self) -> bool:
        """Take one request from the run's budget; close when it is spent."""
        if self._budget <= 0:
            self.close("the bound on requests was reached (--max-requests)")
            return False
        self._budget -= 1
        return True

    def finish(self, ask: Ask, stage: int, due: float, sent: float, done: float, verdict: Verdict) -> None:
        """Take in a finished call."""
        if verdict.outcome in ("good", "refused") and done > self.plan.seconds + ANSWER_GRACE:
            self.recorder.counts["answered-late"] += 1
        self.recorder.record(Call(stage, ask.scenario, ask.mode, due, sent, done, verdict))

    def hold_back(self, retry_after: str | None) -> float:
        """Take in a 429's `Retry-After`; return how long to wait, 0 when it is to be ignored or missing."""
        try:
            seconds = min(max(float(retry_after or 0), 0.0), LONGEST_WAIT)
        except ValueError:
            seconds = 0.0
        if not seconds:
            self.recorder.counts["throttled-without-retry-after"] += 1
        if not self.plan.obey_retry_after:
            return 0.0
        self.quiet_until = max(self.quiet_until, self.now() + seconds)
        return seconds

    def sessions_of(self, scenario: str) -> tuple[tuple[Session, ...], int]:
        """Return a scenario's sessions, and with which of them the next agent of this process starts."""
        if scenario not in self._sessions:
            plan = self.plan
            self._sessions[scenario] = sessions(scenario, plan.population, plan.seed, plan.compose)
        joined = self._joined.get(scenario, 0)
        self._joined[scenario] = joined + 1
        return self._sessions[scenario], joined * self.shares + self.share

    def mishap(self, what: str) -> None:
        """Note a failure of the generator itself."""
        self.recorder.counts["mishaps"] += 1
        if len(self.mishaps) < 5:
            self.mishaps.append(what.replace(self._secret, "[key]")[:300] if self._secret else what[:300])

    def report(self) -> dict[str, Any]:
        """Return what happened since the last report, ready to travel."""
        return {**self.standing(), "figures": self.recorder.drain()}

    def standing(self) -> dict[str, Any]:
        """Return how this process stands, without its figures."""
        self.recorder.counts["schema-checked"] += self.judge.schema_checked
        self.judge.schema_checked = 0
        said, self.mishaps = self.mishaps, []
        cpu, waited = self._effort.since_last()
        if self.closing and not self.scheduled and not self.in_flight:
            self.finished = True  # agents of the closed model have nobody else to say so
        return {
            "in_flight": self.in_flight,
            "finished": self.finished,
            "stages_done": self.stages_done,
            "why_closed": self.why_closed,
            "mishaps": said,
            "process": self._effort.process,
            "cpu": cpu,
            "waited": waited,
        }


def _headers(key: str) -> dict[str, str]:
    return {
        "x-api-key": key,
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": "trigger-load",
    }


@cache
def schema_check() -> Callable[[int, Any], Sequence[str]]:
    """Return the check of an answer against the effective contract."""
    from trigger_contracts.validation import response_violations

    for status in (200, 401, 422):  # compiles the schemas: now, not while the first answers wait
        response_violations(status, {})

    def check(status: int, body: Any) -> Sequence[str]:
        return [f"{found.pointer}: {found.message}" for found in response_violations(status, body)]

    return check
