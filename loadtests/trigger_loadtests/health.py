"""Whether the generator did its part, and whether the target kept up.

Figures of a generator that was itself late say nothing about the target: such a run has no verdict (exit
code 3). A schedule held up because every allowed call was waiting for the *target* is another matter, and
is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from trigger_loadtests.recorder import Cell, Recorder
from trigger_loadtests.shapes import Stage

#: A generator whose 95th percentile of lateness is above this is behind its schedule. Lateness is part of
#: the response times, so objectives met in spite of it are met; missed ones could be its own doing, and
#: are no verdict.
LATE_MS = 50.0
#: Above this the rate asked for was not the rate that the target saw, whatever was met.
FAR_TOO_LATE_MS = 500.0
#: More than this share of the arrivals unsent is too many.
UNSENT_SHARE = 0.005
#: A process that uses more than this share of a core most of the time is at its limit.
BUSY_PERCENT = 90.0
#: A backlog that grows by more than this share of the arrivals (and by more than a few calls) is growing.
BACKLOG_SHARE, BACKLOG_CALLS = 0.03, 4


def keeps_up(recorder: Recorder, number: int, stage: Stage) -> bool:
    """Return whether the target answered as fast as it was asked over the second half of a stage."""
    growth = recorder.counts[f"end-{number}"] - recorder.counts[f"middle-{number}"]
    return growth <= max(BACKLOG_CALLS, BACKLOG_SHARE * stage.area / 2)


def busy(samples: Sequence[float]) -> bool:
    """Return whether a process was at its limit most of the time, its start left out."""
    known = sorted(samples[1:])
    return len(known) >= 3 and known[len(known) // 2] > BUSY_PERCENT


def average(samples: Sequence[float]) -> float:
    """Return the average of a process's reports, its start left out; 0 when there are none."""
    known = samples[1:]
    return sum(known) / len(known) if known else 0.0


def lateness(total: Cell) -> float:
    """Return the 95th percentile of the generator's lateness in milliseconds."""
    return total.lag.percentile(95) or 0.0


def shortfalls_of_stage(total: Cell) -> tuple[str, ...]:
    """Say how the generator fell short in one stage of a search."""
    late = lateness(total)
    return (f"calls were sent up to {late:.0f} ms late (95th percentile)",) if late > LATE_MS else ()


def shortfalls(
    recorder: Recorder,
    total: Cell,
    *,
    cpu: Sequence[Sequence[float]],
    waited: Sequence[Sequence[float]] = (),
    max_in_flight: int,
    open_model: bool,
    doubtful: bool,
) -> tuple[str, ...]:
    """Say how the generator fell short in a run, in words that name what to change.

    `doubtful`: an objective was missed that the generator's own lateness could have caused.
    """
    said: list[str] = []
    counts, late = recorder.counts, lateness(total)
    bound = LATE_MS if doubtful else FAR_TOO_LATE_MS
    at_limit = any(busy(samples) for samples in cpu)
    if open_model:
        unsent = counts["unsent"]
        if counts["capped"] and (unsent > UNSENT_SHARE * counts["due"] or late > bound):
            said.append(
                f"all {max_in_flight} calls allowed in flight were waiting {counts['capped']} times, "
                f"so arrivals were sent late (95th percentile {late:.0f} ms) or not at all ({unsent}): "
                "allow more with --users"
            )
        elif late > bound or unsent > UNSENT_SHARE * counts["due"]:
            share = max((average(samples) for samples in waited), default=0.0)
            starved = f" (it waited for a CPU {share:.0f} % of the time)" if share >= 1 else ""
            cause = "its CPU was at the limit" if at_limit else f"its machine was too busy{starved}"
            said.append(
                f"the generator sent calls up to {late:.0f} ms late (95th percentile): {cause}; "
                "lower --rate, or add --processes or machines"
            )
    elif at_limit and doubtful:
        said.append(
            "the generator's CPU was at the limit, so its own queueing is in the figures; "
            "add --processes or machines"
        )
    if counts["mishaps"]:
        said.append(f"{counts['mishaps']} calls failed inside the generator itself")
    return tuple(said)
