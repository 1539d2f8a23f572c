"""Whether a call meets a fault, and by what: the rules of its bench, or its own header where that is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from flask import Response

from trigger_mock import fault_kinds as kinds
from trigger_mock.benches import Bench
from trigger_mock.fault_header import IN_ENVIRONMENT, asked_by
from trigger_mock.faults import Strike
from trigger_mock.inflicting import inflict
from trigger_mock.limits import DEFAULT_RATE, Quota
from trigger_mock.reading import Reading
from trigger_mock.recording import QUOTA, RECORD, Record

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

    from trigger_mock.credentials import Caller


def struck(
    bench: Bench, environ: WSGIEnvironment, answer: Callable[[], Response], sleep: Callable[[float], None]
) -> Response:
    """Return the answer to a call of this bench under the fault that it meets, or the true one. Raises what
    `answer` does, and `InvalidFault`.
    """
    record: Record = environ[RECORD]
    strike = _strike(bench, environ, record)
    if strike is None:
        return answer()
    record.fault = strike.fault.kind
    response = inflict(strike, answer, environ, partial(_previous, bench, record.caller), sleep)
    if isinstance(strike.fault, kinds.Failure) and record.caller is not None:
        environ[QUOTA] = _quota(bench, record.caller, response)
    return response


def _strike(bench: Bench, environ: WSGIEnvironment, record: Record) -> Strike | None:
    reading = Reading(record.body, environ.get("CONTENT_TYPE"))
    header = environ.get(IN_ENVIRONMENT) if bench.fault_header else None
    strike = bench.faults.asked_for(header, asked_by(header), reading) if header else None
    return strike or (bench.faults.meant_for(reading, record.caller) if bench.faults.rules else None)


def _quota(bench: Bench, caller: Caller, response: Response) -> Quota | None:
    """What the rate headers of an error say: it counts as any call does, and a 429 says that none is left."""
    quota, _ = bench.limiter.spend(caller)
    if response.status_code != 429:
        return quota
    limit = quota.limit if quota else DEFAULT_RATE.amount
    return Quota(limit, 0, int(response.headers["Retry-After"]))


def _previous(bench: Bench, caller: Caller | None) -> bytes | None:
    """The body of the last true 200 that the caller's organisation was given: what a fault made of one is
    none.
    """
    for call in reversed(list(bench.journal)):
        if (
            call.status == 200
            and call.fault is None
            and caller
            and call.caller
            and call.caller.organisation.name == caller.organisation.name
        ):
            return call.answer
    return None
