"""Faults by name: what a hook must survive. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from trigger_mock.fault_kinds import Cut, Delay, Failure, Fault, Hang, Mix, Reset
from trigger_mock.matching import RequestMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A fault, and which requests it is for."""

    name: str
    summary: str
    fault: Fault
    match: RequestMatch | None = None
    probability: float | None = None


PRESETS = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(
                name="slow-gate",
                summary="The gate thinks for five seconds: compose is slow, retrieve is not.",
                fault=Delay(kind="delay", seconds=5.0, stage="gate"),
                match=RequestMatch(mode="compose"),
            ),
            Preset(
                name="flaky",
                summary="Every other call fails, by a 500, a reset connection or a body cut short.",
                fault=Mix(
                    kind="mix",
                    of=(
                        Failure(kind="error", status=500),
                        Reset(kind="reset", at="before"),
                        Cut(kind="cut", bytes=40),
                    ),
                ),
                probability=0.5,
            ),
            Preset(
                name="rate-limited",
                summary="The rate is spent: 429, to be tried again in 30 seconds.",
                fault=Failure(kind="error", status=429, retry_after=30),
            ),
            Preset(
                name="down",
                summary="The service is gone: the connection is reset before the answer's first byte.",
                fault=Reset(kind="reset", at="before"),
            ),
            Preset(
                name="half-open",
                summary="The request is accepted and never answered.",
                fault=Hang(kind="hang"),
            ),
        )
    }
)
