"""Whether the server lives, and whether it answers."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, current_app

routes = Blueprint("health", __name__)


@routes.get("/live")
def live() -> dict[str, Any]:
    """The process runs and reads requests."""
    return {"status": "live"}


@routes.get("/ready")
def ready() -> dict[str, Any]:
    """The endpoint answers: whoever reads this went through the same door, and the fixtures are loaded."""
    default = current_app.extensions["trigger_mock"].default
    return {"status": "ready", "memories": len(default.store.rows)}
