"""Whether the server lives, and whether it answers. Told without a token too: what starts containers asks,
and it is told nothing else.
"""

from __future__ import annotations

from typing import Any, Literal

from flask import Blueprint, current_app
from pydantic import Field

from trigger_mock.control.operations import Strict, operation

routes = Blueprint("health", __name__)


class LiveView(Strict):
    """The process runs."""

    status: Literal["live"]


class ReadyView(Strict):
    """The endpoint answers."""

    status: Literal["ready"]
    memories: int = Field(ge=0, description="Rows of the bench `default`.")


@routes.get("/live")
@operation("Tell whether the process runs.", answer=LiveView, open_to_all=True)
def live() -> dict[str, Any]:
    """The process runs and reads requests."""
    return {"status": "live"}


@routes.get("/ready")
@operation("Tell whether the endpoint answers.", answer=ReadyView, open_to_all=True)
def ready() -> dict[str, Any]:
    """The endpoint answers: whoever reads this went through the same door, and the fixtures are loaded."""
    default = current_app.extensions["trigger_mock"].default
    return {"status": "ready", "memories": len(default.store.rows)}
