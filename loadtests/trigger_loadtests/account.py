"""A finished run, added up: the verdict, and everything that the reports show, as plain JSON values.

The one place where figures are computed from the recorder; the table, the page, the CSV and the
comparison all read the document that is made here. Its form is written down in `report.schema.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trigger_loadtests import health, shapes, verdict
from trigger_loadtests.finished import Run, Step
from trigger_loadtests.histograms import Histogram
from trigger_loadtests.objectives import BUDGETS, Objective, Pace, Result, judge, missed_budget
from trigger_loadtests.recorder import Cell, Recorder

FORMAT = "trigger-load/1"
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)


def document(run: Run, objectives: Sequence[Objective], *, started: str, version: str) -> dict[str, Any]:
    """Return the whole account of a run."""
    plan, recorder = run.plan, run.recorder
    open_model = plan.model == "open"
    total = recorder.total()
    pace = _pace(run, total)
    lost = sum(member.lost for member in run.members)
    results = () if plan.profile == "capacity" else judge(objectives, recorder, pace)
    short = list(
        health.shortfalls(
            recorder,
            total,
            cpu=[member.cpu for member in run.members],
            waited=[member.waited for member in run.members],
            max_in_flight=plan.max_in_flight,
            open_model=open_model,
            doubtful=any(result.doubtful for result in results),
        )
        if plan.profile != "capacity"
        else _short_search(run)
    )
    if lost:
        short.insert(
            0,
            f"{lost} of {len(run.members)} workers were lost; "
            "their share of the load was not sent or not counted",
        )
    code, why = verdict.verdict(run, total, results, short)
    return {
        "format": FORMAT,
        "version": version,
        "started": started,
        "run": {
            "target": plan.target,
            "profile": plan.profile,
            "model": plan.model,
            "seconds": plan.seconds,
            "elapsed": round(run.elapsed, 3),
            "seed": plan.seed,
            "mix": plan.mix,
            "compose": plan.compose,
            "timeout": plan.timeout,
            "workers": plan.workers,
            "population": plan.population.source,
            "retry_after": "obey" if plan.obey_retry_after else "ignore",
            "stages": [stage._asdict() for stage in plan.stages],
            "interrupted": run.interrupted,
        },
        "verdict": {
            "exit_code": code,
            "word": verdict.WORDS[code],
            "why": why,
            "shortfalls": short,
            "notes": verdict.notes(run, total, short),
        },
        "objectives": [_objective(result) for result in results],
        "rate": {
            "wanted": None if pace.wanted is None else round(pace.wanted / pace.seconds, 3),
            "achieved": round(pace.answered / pace.seconds, 3),
            "sent": total.sent,
            "due": recorder.counts["due"] if open_model else None,
            "unsent": recorder.counts["unsent"],
            "withheld": recorder.counts["withheld"],
            "throttled_without_retry_after": recorder.counts["throttled-without-retry-after"],
            "schema_checked": recorder.counts["schema-checked"],
        },
        "generator": {
            "lag_p95_ms": health.lateness(total),
            "cpu_percent": [round(max(member.cpu[1:], default=0.0), 1) for member in run.members],
            "cpu_waited_percent": [round(health.average(member.waited), 1) for member in run.members],
            "workers_lost": lost,
            "mishaps": run.mishaps[:5],
        },
        "overall": figures(total),
        "scenarios": _named(recorder, [key.scenario for key in recorder.cells]),
        "modes": _named(recorder, [key.mode for key in recorder.cells]),
        "timeline": _timeline(recorder),
        "capacity": _capacity(run),
    }


def _short_search(run: Run) -> Sequence[str]:
    return run.steps[-1].short if run.search and run.search.ended == "generator-short" else ()


def _pace(run: Run, total: Cell) -> Pace:
    seconds = max(min(run.elapsed, run.plan.seconds), 0.001)
    wanted = None
    if run.plan.model == "open":
        wanted = shapes.area_until(run.plan.stages, seconds) or float(run.recorder.counts["due"])
    answered = total.outcomes["good"] + total.outcomes["refused"] - run.recorder.counts["answered-late"]
    return Pace(wanted=wanted, answered=answered, seconds=seconds)


def _objective(result: Result) -> dict[str, Any]:
    return {
        "objective": result.objective.text,
        "value": None if result.value is None else round(result.value, 4),
        "limit": result.objective.limit,
        "unit": result.objective.unit,
        "met": result.met,
        "shown": result.shown,
    }


def figures(cell: Cell) -> dict[str, Any]:
    """Return the figures of a cell."""
    judged = cell.sent - cell.outcomes["throttled"]
    return {
        "sent": cell.sent,
        "good": cell.outcomes["good"],
        "refused": cell.outcomes["refused"],
        "throttled": cell.outcomes["throttled"],
        "failed": cell.outcomes["failed"],
        "errors_percent": round(100 * cell.outcomes["failed"] / judged, 4) if judged else None,
        "failures": dict(cell.failures.most_common()),
        "response_ms": _percentiles(cell.response),
        "service_ms": _percentiles(cell.service),
        "missed_budget_percent": {
            f"{budget:g}": None if (share := missed_budget(cell, budget)) is None else round(share, 4)
            for budget in BUDGETS
        },
    }


def _percentiles(hist: Histogram) -> dict[str, float | None]:
    return {
        ("max" if at == 100 else f"p{at:g}"): value for at, value in hist.percentiles(PERCENTILES).items()
    }


def _named_percentiles(hist: Histogram, *wanted: float) -> dict[str, float | None]:
    return {
        ("max_ms" if at == 100 else f"p{at:g}_ms"): value for at, value in hist.percentiles(wanted).items()
    }


def _named(recorder: Recorder, names: Sequence[str]) -> dict[str, Any]:
    return {name: figures(recorder.total(name=name)) for name in sorted(set(names))}


def _timeline(recorder: Recorder) -> list[dict[str, Any]]:
    width = recorder.bin_seconds
    return [
        {
            "at": round(number * width, 3),
            "seconds": width,
            "wanted": round(part.counts["due"] / width, 3),
            "sent": round(part.counts["sent"] / width, 3),
            "answered": round(part.counts["answered"] / width, 3),
            "throttled": part.counts["throttled"] + part.counts["withheld"],
            "failures": dict(part.failures),
            **_named_percentiles(part.response, 50, 95, 99, 100),
        }
        for number, part in sorted(recorder.bins.items())
    ]


def _capacity(run: Run) -> dict[str, Any] | None:
    if run.search is None:
        return None
    return {
        "rate": round(run.search.met, 3) or None,
        "ended": run.search.ended,
        "steps": [_step(run.recorder, number, step) for number, step in enumerate(run.steps)],
    }


def _step(recorder: Recorder, number: int, step: Step) -> dict[str, Any]:
    total = recorder.total(stages=[number])
    return {
        "rate": round(step.rate, 3),
        "achieved": round(step.achieved, 3),
        "met": step.met,
        "kept_up": step.kept_up,
        **_named_percentiles(total.response, 50, 95, 99),
        "errors": total.outcomes["failed"],
        "throttled": total.outcomes["throttled"],
        "missed": [result.objective.text for result in step.results if not result.met],
        "shortfalls": list(step.short),
    }
