"""The application: the only place that wires, and the one handler that turns what goes wrong into an
envelope.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from trigger_contracts import ENDPOINT
from trigger_fixtures import Corpus, default
from trigger_mock import control, latency
from trigger_mock.benches import Benches
from trigger_mock.endpoint import Endpoint
from trigger_mock.limits import Counters, Quota, counters
from trigger_mock.recording import QUOTA, write_down
from trigger_mock.refusals import Refusal, code_of, envelope
from trigger_mock.replies import json_answer, refused
from trigger_mock.request_id import generated, signature
from trigger_mock.settings import Settings

log = logging.getLogger("trigger_mock")

_MESSAGES = {
    404: f"Nothing is served at this path; the endpoint is POST {ENDPOINT}, without a trailing slash.",
    405: "Only POST is served on this path.",
    413: "The body is larger than this server accepts.",
}


def create_app(
    corpus: Corpus | None = None,
    *,
    settings: Settings | None = None,
    counting: Counters | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    request_ids: Callable[[], str] = generated,
) -> Flask:
    """Make the WSGI application.

    With nothing given it serves the shipped fixtures, or what the `TRIGGER_MOCK_*` variables say (`flask
    --app trigger_mock run`). `clock` (seconds, monotonic) is what rate windows run on, unless `counting`
    brings its own; `app.extensions["trigger_mock"]` are the `Benches`; `sleep` is how simulated latency
    passes; `request_ids` makes the `X-Request-Id` of requests that bring none. Raises `FixtureErrors` for bad
    fixtures.
    """
    if corpus is None and settings is None:
        # Imported here: the command imports this module to serve.
        from trigger_mock.command import from_environment

        corpus, settings = from_environment()
    corpus = default() if corpus is None else corpus
    settings = settings or Settings()
    benches = Benches(
        corpus,
        counting=counting or _shared(settings.storage, clock),
        limits=settings.limits,
        clock=clock,
        journal=settings.journal,
        allow_token_scheme=settings.allow_token_scheme,
        fault_header=settings.fault_header,
    )
    endpoint = Endpoint(benches=benches, latency=_latency(settings), sleep=sleep)
    app = Flask("trigger_mock", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit
    app.url_map.merge_slashes = False  # a live service's redirect was taken for success: an odd path is 404
    app.add_url_rule(
        ENDPOINT,
        view_func=endpoint.trigger,
        methods=["POST"],
        provide_automatic_options=False,
        endpoint="trigger",
    )
    app.register_error_handler(Refusal, refused)
    app.register_error_handler(HTTPException, _declined)
    app.register_error_handler(Exception, _failed)

    @app.after_request
    def sign(response: Response) -> Response:
        environ, add = request.environ, response.headers.add
        add("X-Request-Id", signature(environ.get("HTTP_X_REQUEST_ID", ""), request_ids))
        quota: Quota | None = environ.get(QUOTA)
        if quota is not None:
            for name, value in quota.headers:
                add(name, value)
        write_down(benches, environ, response)
        return response

    app.extensions["trigger_mock"] = benches
    if settings.control:
        app.wsgi_app = control.Mounted(app.wsgi_app, benches, settings)  # type: ignore[method-assign]
    return app


def _shared(storage: str, clock: Callable[[], float]) -> Counters | None:
    """Counters outside of this process, where the storage is one."""
    return None if storage == "memory://" else counters(storage, clock)


def _latency(settings: Settings) -> latency.Latency:
    if settings.latency == "realistic":
        return latency.realistic(settings.seed)
    seconds = float(settings.latency)
    return latency.fixed(seconds) if seconds else latency.none


def _declined(error: HTTPException) -> Response:
    """Paths, methods and sizes: werkzeug's verdict, in the endpoint's envelope."""
    status = error.code or 500
    kept = [(name, value) for name, value in error.get_headers() if name in ("Allow", "Retry-After")]
    message = _MESSAGES.get(status, "The request could not be read.")
    return json_answer(status, envelope(code_of(status), message), kept)


def _failed(error: Exception) -> Response:
    """A fault of our own: told in the log, and only that it happened to the client."""
    log.error("an answer failed", exc_info=error)
    return json_answer(500, envelope(code_of(500), "The request could not be processed."), ())
