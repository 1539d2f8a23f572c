"""What a conductor hands over when a run is over: plain values, no Locust."""

from __future__ import annotations

from dataclasses import dataclass, field

from trigger_loadtests.capacity import Search
from trigger_loadtests.objectives import Result
from trigger_loadtests.plan import Plan
from trigger_loadtests.recorder import Recorder


@dataclass(slots=True)
class Member:
    """What the conductor knows about a process of the run."""

    name: str
    in_flight: int = 0
    finished: bool = False
    stages_done: int = 0
    lost: bool = False
    why_closed: str = ""
    #: Shares of a CPU that it used, and of time that it waited for one, in percent, report by report.
    cpu: list[float] = field(default_factory=list[float])
    waited: list[float] = field(default_factory=list[float])
    process: int = 0


@dataclass(slots=True, kw_only=True)
class Step:
    """One rate of a capacity search, and how it went."""

    rate: float
    seconds: float
    met: bool
    achieved: float
    results: tuple[Result, ...]
    kept_up: bool
    short: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Run:
    """A finished run."""

    plan: Plan
    recorder: Recorder
    members: list[Member]
    elapsed: float
    interrupted: bool
    mishaps: list[str]
    steps: list[Step]
    search: Search | None
    why_closed: str
