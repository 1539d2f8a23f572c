"""A run, written down: everything that every process of it must agree on, and nothing secret.

The plan travels to workers on Locust's own protocol as JSON; the key never does (each process reads it
from its environment, from the variable that the plan names).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from trigger_loadtests.population import Population
from trigger_loadtests.shapes import Profile, Stage

Model = Literal["open", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done. Bounds (`seconds`, `max_requests`) are for the whole run, over all processes."""

    target: str
    profile: Profile
    model: Model
    stages: tuple[Stage, ...]
    seconds: float
    max_requests: int
    max_in_flight: int
    timeout: float
    seed: int
    mix: dict[str, int]
    compose: float
    population: Population
    obey_retry_after: bool = True
    poisson: bool = False
    insecure: bool = False
    workers: int = 1
    bin_seconds: float = 1.0
    owned: tuple[str, ...] = ()
    schema_every: int = 20
    #: A capacity search only: where it starts, where it stops, how long it stays at each rate.
    first_rate: float = 10.0
    top_rate: float = 2000.0
    stage_seconds: float = 5.0

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return _ADAPTER.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read a plan back."""
        return _ADAPTER.validate_json(text)


_ADAPTER = TypeAdapter(Plan)
