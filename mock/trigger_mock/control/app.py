"""The control plane's application: the only place that wires it, and the one handler of what goes wrong.

Answers are JSON. Errors are `{"error": {"code", "message"}}`, so that none can be taken for the endpoint's.
"""

from __future__ import annotations

import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from trigger_mock.benches import BenchConflict, Benches, UnknownBench
from trigger_mock.control import (
    PREFIX,
    calls,
    clocks,
    document,
    explaining,
    faults,
    fixtures,
    guard,
    health,
    page,
    rows,
)
from trigger_mock.control import benches as bench_rooms
from trigger_mock.control.room import Declined, Room, json_response
from trigger_mock.credentials import KeyTaken
from trigger_mock.settings import Settings

log = logging.getLogger("trigger_mock")


def create_control(benches: Benches, settings: Settings) -> Flask:
    """Make the WSGI application that serves everything under the prefix."""
    app = Flask("trigger_mock.control", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit
    app.extensions["trigger_mock"] = benches
    rooms = _rooms()
    operations = [operation for room in rooms for operation in room.operations]
    described = document.routes_of(operations, token=bool(settings.control_token))
    for routes in (*(room.routes for room in rooms), described, page.routes):
        app.register_blueprint(routes, url_prefix=PREFIX)

    @app.before_request
    def admit() -> None:  # pyright: ignore[reportUnusedFunction] - Flask uses it
        if request.blueprint != health.room.name:
            guard.admit(request, settings.control_token)

    app.register_error_handler(
        Declined, lambda error: error_of(error.status, error.code, str(error), **error.details)
    )
    app.register_error_handler(HTTPException, _declined)
    app.register_error_handler(UnknownBench, lambda error: error_of(404, "not_found", error.args[0]))
    app.register_error_handler(BenchConflict, lambda error: error_of(409, "conflict", str(error)))
    app.register_error_handler(KeyTaken, lambda error: error_of(409, "conflict", str(error)))
    app.register_error_handler(Exception, _failed)
    return app


def _rooms() -> tuple[Room, ...]:
    return (
        health.room,
        bench_rooms.room,
        calls.room,
        explaining.room,
        clocks.room,
        rows.room,
        fixtures.room,
        faults.room,
    )


def error_of(status: int, code: str, message: str, **details: object) -> Response:
    """The control plane's error envelope."""
    return json_response({"error": {"code": code, "message": message, **details}}, status)


def _declined(error: HTTPException) -> Response:
    status = error.code or 500
    response = error_of(status, error.name.lower().replace(" ", "_"), error.description or error.name)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After", "WWW-Authenticate", "Location"):
            response.headers[name] = value
    return response


def _failed(error: Exception) -> Response:
    log.error("the control plane failed", exc_info=error)
    return error_of(500, "failed", "The control plane failed; its log says why.")
