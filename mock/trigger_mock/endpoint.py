"""`POST /v1/memories/trigger`: the steps of one call, in the order in which a request may be refused.

Route and method (Flask's), size → credentials → rate → JSON and fields → signal and scope → recall → answer.
A bad key therefore never learns whether its body was valid, and a request that fails validation still counts
against the rate. A fault that is meant for the call comes behind the credentials, and is about all the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flask import Response, request
from werkzeug.exceptions import NotFound

from trigger_mock import answer, hints
from trigger_mock.ask import decode, parse
from trigger_mock.benches import Bench, Benches
from trigger_mock.credentials import Caller, uses_token_scheme
from trigger_mock.latency import Latency
from trigger_mock.reading import fired_by
from trigger_mock.recording import QUOTA, RECORD, Record
from trigger_mock.refusals import Unauthorized
from trigger_mock.replies import Answer
from trigger_mock.unread import missed_by

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

log = logging.getLogger("trigger_mock")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The view and what it works with. `sleep` takes seconds."""

    benches: Benches
    latency: Latency
    sleep: Callable[[float], None]

    def trigger(self) -> Response:
        """Answer one call. Raises a `Refusal` at the first step that declines."""
        environ = request.environ
        record = environ[RECORD] = Record(began=time.perf_counter())
        if environ["PATH_INFO"].startswith("//"):  # Flask folds slashes at a path's start
            raise NotFound
        # Read to its end (413), so that no byte of it is taken for the next request.
        raw = record.body = request.get_data(cache=False)
        authorization = environ.get("HTTP_AUTHORIZATION")
        if uses_token_scheme(authorization):
            log.info(
                "Authorization: Token is not part of the contract; send Authorization: Bearer, or x-api-key"
            )
        try:
            caller = record.caller = self.benches.caller(environ.get("HTTP_X_API_KEY"), authorization)
        except Unauthorized as refusal:  # 401
            if self.benches.default.faulty:
                return self._struck(self.benches.default, environ, partial(_decline, refusal))
            raise
        if caller.bench.faulty:
            return self._struck(caller.bench, environ, partial(self._answer, environ, caller, raw))
        return self._answer(environ, caller, raw)

    def _struck(self, bench: Bench, environ: WSGIEnvironment, answer: Callable[[], Response]) -> Response:
        from trigger_mock.striking import struck  # nobody waits for what nobody asked for

        return struck(bench, environ, answer, self.sleep)

    def _answer(self, environ: WSGIEnvironment, caller: Caller, raw: bytes) -> Response:
        environ[QUOTA], refused = caller.bench.limiter.spend(caller)
        if refused:
            raise refused  # 429
        body = decode(raw, environ.get("CONTENT_TYPE"))  # 422
        ignored = hints.unread(body)
        for hint in ignored:
            log.info(hint)
        ask = parse(body)  # 422
        fired = fired_by(ask)
        if not fired:
            log.info("nothing fires: action.tool, action.args and action.output hold no identifier")
        memories = caller.bench.store.of(caller.organisation.name)
        hits = memories.recall(fired, ask.scope, ask.types)
        if ignored and not hits:
            environ[RECORD].missed = missed = tuple(missed_by(body, memories, ask))
            for sentence in missed:
                log.info(sentence)
        seconds = self.latency(ask.mode, raw)
        if ask.mode == "retrieve":
            content = answer.retrieved(hits, seconds)
        else:
            content = answer.composed(hits, ask.task, seconds)
        if seconds:
            self.sleep(seconds)
        return Answer(content, content_type="application/json")


def _decline(refusal: Unauthorized) -> Response:
    raise refusal
