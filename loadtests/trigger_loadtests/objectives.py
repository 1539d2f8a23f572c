"""Thresholds on a run, written as people say them: `p95<800ms`, `errors<1%`, `coding:p99<1.5s`.

`[scope:]metric op value`; the scope is a scenario or a mode. Metrics: p50 p90 p95 p99 p99.9 max (response
time; with `service-` before them, service time), errors, throttled, missed-budget
(`missed-budget@0.8s<5%`; without @, the strictest budget), achieved-rate (a share of what was asked,
`>95%`, or `>=290/s`). An objective about which nothing was measured is missed, never met. Plain values;
knows nothing of Locust.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from trigger_loadtests.recorder import Cell, Recorder
from trigger_loadtests.scenarios import WRITERS
from trigger_loadtests.shapes import Profile

#: A client's patience, in seconds; past it the agent goes on without memory.
BUDGETS = (0.8, 1.5, 2.5)

Unit = Literal["ms", "%", "/s"]

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FORM = re.compile(
    r"""\s*(?:(?P<scope>[a-z-]+)\s*:)?\s*
    (?P<metric>(?:service-)?(?:p\d{1,2}(?:\.\d+)?|max)|errors|throttled|missed-budget|achieved-rate)
    (?:@(?P<budget>\d+(?:\.\d+)?)(?P<budget_unit>ms|s))?\s*
    (?P<op><=|>=|<|>)\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|%|/s)\s*""",
    re.VERBOSE,
)
_SCOPES = frozenset({*WRITERS, "retrieve", "compose"})


class ObjectiveError(ValueError):
    """An objective that cannot be read; says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One threshold. `limit` is in milliseconds, percent or requests per second."""

    text: str
    scope: str | None
    metric: str
    budget: float | None
    op: str
    limit: float
    unit: Unit

    @property
    def subject(self) -> tuple[str | None, str, float | None, Unit | None]:
        """What it is about: a later objective about the same replaces an earlier one."""
        return (self.scope, self.metric, self.budget, self.unit if self.metric == "achieved-rate" else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an objective went; `value` is None when nothing was measured.

    `doubtful`: it was missed, and the generator's own lateness could be why.
    """

    objective: Objective
    value: float | None
    met: bool
    doubtful: bool = False

    @property
    def shown(self) -> str:
        """Return the value with its unit."""
        return "nothing measured" if self.value is None else show(self.value, self.objective.unit)


def show(value: float, unit: Unit) -> str:
    """Return a value as a person reads it."""
    return {"ms": f"{value:,.1f} ms", "%": f"{value:.2f} %", "/s": f"{value:,.1f}/s"}[unit]


def parse(text: str) -> Objective:
    """Read an objective."""
    found = _FORM.fullmatch(text)
    if not found:
        raise ObjectiveError(
            f"objective {text!r} cannot be read; write for example p95<800ms, errors<1%, throttled<5%, "
            "missed-budget@0.8s<5%, achieved-rate>95%, coding:p99<1.5s"
        )
    scope, metric, unit = found["scope"], found["metric"], found["unit"]
    if scope is not None and scope not in _SCOPES:
        raise ObjectiveError(
            f"objective {text!r}: {scope!r} is no scenario or mode; there are {', '.join(sorted(_SCOPES))}"
        )
    if found["budget"] and metric != "missed-budget":
        raise ObjectiveError(f"objective {text!r}: only missed-budget takes a budget (@)")
    allowed = {"errors": "%", "throttled": "%", "missed-budget": "%", "achieved-rate": "% /s"}.get(
        metric, "ms s"
    )
    if unit not in allowed.split():
        raise ObjectiveError(
            f"objective {text!r}: {metric} is measured in {' or '.join(allowed.split())}, not {unit}"
        )
    if metric == "achieved-rate" and scope:
        raise ObjectiveError(f"objective {text!r}: achieved-rate is about the whole run; leave out {scope!r}")
    budget = None
    if metric == "missed-budget":
        written = float(found["budget"]) if found["budget"] else BUDGETS[0]
        budget = written / 1000 if found["budget_unit"] == "ms" else written
    limit = float(found["value"]) * (1000 if unit == "s" else 1)
    return Objective(
        text=" ".join(text.split()),
        scope=scope,
        metric=metric,
        budget=budget,
        op=found["op"],
        limit=limit,
        unit="ms" if unit == "s" else unit,  # type: ignore[arg-type]
    )


#: What each profile promises when nothing is said.
USUAL: dict[Profile, tuple[str, ...]] = {
    "smoke": ("errors<1%", "throttled<5%", "p95<2s"),
    "steady": ("p95<800ms", "p99<1.5s", "errors<1%", "throttled<1%", "achieved-rate>95%"),
    "ramp": ("p95<800ms", "p99<2.5s", "errors<1%", "throttled<1%", "achieved-rate>95%"),
    "spike": ("p95<1.5s", "p99<2.5s", "errors<2%", "throttled<5%", "achieved-rate>90%"),
    "soak": ("p95<800ms", "p99<1.5s", "errors<0.5%", "throttled<1%", "achieved-rate>95%"),
    "capacity": ("p95<800ms", "errors<1%", "throttled<1%"),
}


def gather(profile: Profile, written: Sequence[str], *, defaults: bool = True) -> tuple[Objective, ...]:
    """Return the profile's own objectives, replaced where the user wrote one about the same."""
    chosen: dict[object, Objective] = {}
    for text in (*(USUAL[profile] if defaults else ()), *written):
        objective = parse(text)
        chosen[objective.subject] = objective
    return tuple(chosen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much was asked for and achieved: needed by achieved-rate, and absent under the closed model."""

    wanted: float | None
    answered: float
    seconds: float


def judge(
    objectives: Sequence[Objective], recorder: Recorder, pace: Pace, *, stages: Sequence[int] | None = None
) -> tuple[Result, ...]:
    """Hold a run (or some stages of it) against its objectives."""
    totals: dict[str | None, Cell] = {}
    results: list[Result] = []
    for objective in objectives:
        if objective.scope not in totals:
            totals[objective.scope] = recorder.total(name=objective.scope, stages=stages)
        cell = totals[objective.scope]
        if objective.metric == "achieved-rate" and objective.unit == "%" and pace.wanted is None:
            continue  # under the closed model no rate was asked for
        withheld = 0
        if objective.scope is None:
            names = ["withheld"] if stages is None else [f"withheld-{stage}" for stage in stages]
            withheld = sum(recorder.counts[name] for name in names)
        value = measure(objective, cell, pace, withheld)
        met = value is not None and _COMPARE[objective.op](value, objective.limit)
        doubtful = not met and value is not None and not _missed_by_the_target(objective, cell)
        results.append(Result(objective=objective, value=value, met=met, doubtful=doubtful))
    return tuple(results)


def _missed_by_the_target(objective: Objective, cell: Cell) -> bool:
    """Return whether it would have been missed by a generator that was never late as well.

    Service time starts when a call was sent; that its answer was noticed late is allowed for by taking off
    as much as calls were sent late.
    """
    metric = objective.metric
    if metric in ("errors", "throttled"):
        return True
    if metric == "achieved-rate":
        return False
    if metric == "missed-budget":
        assert objective.budget is not None  # noqa: S101 - `parse` always sets it
        late = (cell.lag.percentile(99) or 0.0) / 1000
        value = missed_budget(cell, objective.budget, excused=late)
    else:
        at = _percentile_of(metric)
        value = (cell.service.percentile(at) or 0.0) - (cell.lag.percentile(at) or 0.0)
    return value is not None and not _COMPARE[objective.op](value, objective.limit)


def measure(objective: Objective, cell: Cell, pace: Pace, withheld: int = 0) -> float | None:
    """Return the value of an objective's metric, or None when nothing was measured."""
    metric = objective.metric
    if metric == "achieved-rate":
        if objective.unit == "%":
            return 100 * pace.answered / pace.wanted if pace.wanted else None
        return pace.answered / pace.seconds if pace.seconds else None
    if metric == "errors":
        judged = cell.sent - cell.outcomes["throttled"]
        return 100 * cell.outcomes["failed"] / judged if judged else None
    if metric == "throttled":
        asked = cell.sent + withheld
        return 100 * (cell.outcomes["throttled"] + withheld) / asked if asked else None
    if metric == "missed-budget":
        assert objective.budget is not None  # noqa: S101 - `parse` always sets it
        return missed_budget(cell, objective.budget)
    hist = cell.service if metric.startswith("service-") else cell.response
    return hist.percentile(_percentile_of(metric))


def _percentile_of(metric: str) -> float:
    name = metric.removeprefix("service-")
    return 100.0 if name == "max" else float(name.removeprefix("p"))


def missed_budget(cell: Cell, budget: float, excused: float | None = None) -> float | None:
    """Return the share (in percent) of calls that a client with this patience would have gone on without.

    Late answers and no answers; throttled and wrong answers are counted elsewhere. With `excused`, count
    from when a call was sent, and allow so many seconds more.
    """
    timed = cell.response.count
    everyone = timed + cell.unanswered
    # Calls that timed out are the slowest of the timed ones, even where the timeout is shorter than the
    # budget.
    slow = cell.response.over(budget) if excused is None else cell.service.over(budget + excused)
    late = max(slow, cell.failures["timeout"])
    return 100 * (late + cell.unanswered) / everyone if everyone else None
