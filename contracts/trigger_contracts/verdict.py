"""What became of every promise, and of the run: the one value that all reports are written from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["held", "broken", "warned", "not exercised"]

HELD, BROKEN, NOTHING_THERE, NOT_JUDGED = 0, 1, 2, 3

#: Causes that are not the operator's choice: a run that met one has not judged what it was asked to judge.
_TROUBLE = ("target", "rate", "budget", "interrupted")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A failure that a reader can repeat. Every text is already free of keys."""

    message: str
    sent: str
    got: str
    curl: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one promise."""

    id: str
    chapter: str
    level: str
    sentence: str
    pointer: str
    state: State
    seen: int = 0
    reason: str = ""
    cause: str = ""
    evidence: Evidence | None = None
    seconds: float = 0.0

    @property
    def troubled(self) -> bool:
        """Whether it stayed open for a reason that nobody chose."""
        return self.state == "not exercised" and self.cause in _TROUBLE


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong with the contract document itself."""

    defect: str
    pointer: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A whole run."""

    url: str
    profile: str
    seed: int
    outcomes: tuple[Outcome, ...]
    defects: tuple[Defect, ...] = ()
    remarks: tuple[str, ...] = ()
    requests: int = 0
    compose_calls: int = 0
    rate_limited: int = 0
    waited: float = 0.0
    seconds: float = 0.0
    started: str = ""
    strict: bool = False
    require: tuple[str, ...] = ()
    interrupted: bool = False
    not_begun: str = ""  # why there was nothing to talk to

    def of(self, state: State) -> list[Outcome]:
        """The outcomes in one state."""
        return [one for one in self.outcomes if one.state == state]

    @property
    def missing(self) -> list[Outcome]:
        """Promises that had to be exercised and were not."""
        wanted = set(self.require)
        return [one for one in self.of("not exercised") if "all" in wanted or {one.id, one.chapter} & wanted]

    @property
    def exit_code(self) -> int:
        """0 held, 1 broken, 2 nothing to talk to, 3 could not be judged."""
        if self.not_begun:
            return NOTHING_THERE
        if self.of("broken") or (self.strict and self.of("warned")):
            return BROKEN
        if self.interrupted or self.missing or any(one.troubled for one in self.outcomes):
            return NOT_JUDGED
        return HELD

    @property
    def summary(self) -> str:
        """The run in one sentence."""
        counts = {state: len(self.of(state)) for state in ("held", "broken", "warned", "not exercised")}
        told = ", ".join(f"{number} {state}" for state, number in counts.items() if number or state == "held")
        match self.exit_code:
            case 0:
                head = (
                    "Every promise that was exercised holds"
                    if counts["not exercised"]
                    else "Every promise holds"
                )
            case 1:
                head = "Promises are broken" if counts["broken"] else "Warnings count as failures (--strict)"
            case 2:
                return f"Nothing was judged: {self.not_begun}."
            case _:
                head = "The run could not judge what it was asked to judge"
        return f"{head}: {told}."

    def counts(self) -> dict[str, int]:
        """How many promises ended in each state."""
        return {state: len(self.of(state)) for state in ("held", "broken", "warned", "not exercised")}

    def chapters(self) -> Mapping[str, list[Outcome]]:
        """The outcomes by chapter, in the order of the table."""
        found: dict[str, list[Outcome]] = {}
        for one in self.outcomes:
            found.setdefault(one.chapter, []).append(one)
        return found


def outcome_from(fields: Mapping[str, Any]) -> Outcome:
    """An outcome as another process wrote it down."""
    evidence = fields.get("evidence")
    plain: dict[str, Any] = dict(fields)
    plain["evidence"] = Evidence(**evidence) if evidence else None
    return Outcome(**plain)


def outcome_to(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain values."""
    return asdict(outcome)


def worst_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Of several accounts of one promise (from several processes), the gravest."""
    order = {"broken": 0, "warned": 1, "not exercised": 3, "held": 2}
    return min(outcomes, key=lambda one: order[one.state])
