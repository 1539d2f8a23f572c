"""What a run comes to: its exit code, why in words, and what a reader must know beside it.

A run whose generator fell short, whose workers were lost or that was interrupted has no verdict on the
target, whatever its objectives say.
"""

from __future__ import annotations

from collections.abc import Sequence

from trigger_loadtests import health
from trigger_loadtests.finished import Run
from trigger_loadtests.objectives import Result
from trigger_loadtests.recorder import Cell

MET, MISSED, NOTHING, SHORT = 0, 1, 2, 3

#: What the closed model cannot show, in words.
CLOSED_NOTE = (
    "Closed model: an agent that waits for an answer does not ask meanwhile, so a stall of the target "
    "delays only the calls in flight and these percentiles cannot show it fully. "
    "Use --rate (open model) to see it."
)
WORDS = {MET: "met", MISSED: "missed", NOTHING: "nothing measured", SHORT: "no verdict"}


def verdict(run: Run, total: Cell, results: Sequence[Result], short: Sequence[str]) -> tuple[int, str]:
    """Return the exit code of a run, and why."""
    missed = [result for result in results if not result.met]
    if short:
        return (
            SHORT,
            "the generator fell short, so this says nothing about the target's ceiling: " + "; ".join(short),
        )
    if not total.sent:
        return NOTHING, "no call was made, so nothing was measured"
    if run.interrupted:
        return SHORT, "the run was interrupted; the figures cover only its first part"
    if run.search:
        return _capacity_verdict(run)
    if missed:
        reasons = ", ".join(f"{result.objective.text} (was {result.shown})" for result in missed)
        worst = total.failures.most_common(1)
        hint = f"; most frequent failure: {worst[0][0]} ({worst[0][1]} calls)" if worst else ""
        return MISSED, f"missed: {reasons}{hint}"
    return MET, "all objectives were met"


def _capacity_verdict(run: Run) -> tuple[int, str]:
    search = run.search
    assert search is not None  # noqa: S101 - asked by the caller
    best = f"{search.met:.1f}/s"
    if search.met and (search.ended == "not-held" or (run.steps and not run.steps[-1].achieved)):
        before = f"{search.best or search.met:.1f}/s"
        return (
            MISSED,
            f"the target held {before} before and does not any more: it may have died under the load",
        )
    match search.ended:
        case "found":
            return MET, f"the highest rate that met the objectives is {best}"
        case "top-reached":
            return MET, f"the objectives were met up to {best}, the highest rate allowed (--max-rate)"
        case "out-of-time" | "out-of-requests" if search.met:
            what = (
                "time ran out (--duration)" if search.ended == "out-of-time" else "--max-requests was reached"
            )
            return MET, f"{what}; the highest rate that met the objectives so far is {best}"
        case "generator-short":
            return SHORT, f"the generator could not go beyond {best}; the target's ceiling lies above"
        case _:
            return MISSED, "no rate met the objectives"


def _starved(run: Run) -> str:
    share = max((health.average(member.waited) for member in run.members), default=0.0)
    return f" It waited for a CPU of its machine {share:.0f} % of the time." if share >= 1 else ""


def notes(run: Run, total: Cell, short: Sequence[str]) -> list[str]:
    """Return what a reader must know beside the verdict."""
    said = [CLOSED_NOTE] if run.plan.model == "closed" else []
    late = health.lateness(total)
    if late > health.LATE_MS and not short:
        said.append(
            f"The generator sent calls up to {late:.0f} ms late (95th percentile); response times include it."
            + _starved(run)
        )
    if any(health.busy(member.cpu) for member in run.members):
        said.append("The generator's CPU was at its limit most of the time; add --processes or machines.")
    if run.why_closed and run.why_closed != "interrupted":
        said.append(f"Ended early: {run.why_closed}.")
    return said
