"""Load any deployment of `POST /v1/memories/trigger` the way agents do, and say honestly whether it copes.

The command is `trigger-load`. `AGENTS` and `Agent` are its Locust users, for a locustfile of one's own
(importing them imports Locust); `Objective` and `parse` read thresholds as the command does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trigger_loadtests.locustfile import AGENTS, Agent
    from trigger_loadtests.objectives import Objective, parse

__all__ = ["AGENTS", "Agent", "Objective", "parse"]


def __getattr__(name: str) -> Any:
    if name in ("AGENTS", "Agent"):
        return getattr(import_module("trigger_loadtests.locustfile"), name)
    if name in ("Objective", "parse"):
        return getattr(import_module("trigger_loadtests.objectives"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
