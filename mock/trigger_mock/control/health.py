"""Whether the server lives, and whether it answers. Told to anybody who reaches it: whoever watches over a
container has no token.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from trigger_mock.control.room import Room, benches

room = Room("health")


class Live(TypedDict):
    """The process runs and reads requests."""

    status: Literal["live"]


class Ready(TypedDict):
    """The endpoint answers, from so many memories."""

    status: Literal["ready"]
    memories: int


@room.serve("GET", "/live", answer=Live)
def live() -> Live:
    """Tell whether the process runs."""
    return {"status": "live"}


@room.serve("GET", "/ready", answer=Ready)
def ready() -> Ready:
    """Tell whether the endpoint answers: its fixtures are loaded, and it goes through the same door."""
    return {"status": "ready", "memories": len(benches().default.store.rows)}
