"""Responses of the endpoint: those that answer, and those that decline.

Contract: `ErrorEnvelope`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import orjson
from flask import Response
from werkzeug.datastructures import Headers

from trigger_mock.refusals import RateLimited, Refusal

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

log = logging.getLogger("trigger_mock")


class Answer(Response):
    """A response whose headers stand as they were set: none of ours is to be mended."""

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:  # noqa: ARG002 - nothing depends on the request
        """The headers, in place of a corrected copy of them."""
        return self.headers


def json_answer(status: int, body: object, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    """A value as a response."""
    response = Answer(orjson.dumps(body), status, content_type="application/json")
    response.headers.extend(headers)
    return response


def refused(refusal: Refusal) -> Answer:
    """A refusal as a response, told in the log."""
    # A client that hammers past its rate is told by the answers; its log would be nothing else.
    level = logging.DEBUG if isinstance(refusal, RateLimited) else logging.INFO
    log.log(level, "%s %s: %s", refusal.status, refusal.code, refusal.reason)
    return json_answer(refusal.status, refusal.body, refusal.headers.items())
