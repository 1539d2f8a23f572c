"""What a fault does to an answer: some come in its place, some change it, some break the connection under it.

Those that change it or break under it need the true answer first, and so does the rate: only an error, a
redirect and a hang leave the request unread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson
from flask import Response

from trigger_mock import fault_kinds as kinds
from trigger_mock.connection import LONGEST, Broken, Connection, Dripped, borrowed, connection_of
from trigger_mock.faults import Strike
from trigger_mock.json_values import is_array, is_object
from trigger_mock.pointers import NOTHING, found, put, removed
from trigger_mock.refusals import InvalidFields, Refusal, code_of, envelope
from trigger_mock.replies import Answer, json_answer, refused

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

log = logging.getLogger("trigger_mock")


def inflict(
    strike: Strike,
    answer: Callable[[], Response],
    environ: WSGIEnvironment,
    previous: Callable[[], bytes | None],
    sleep: Callable[[float], None],
) -> Response:
    """Return what a call gets under a fault. `answer` makes the true one; `previous` is the body of the last
    200; `sleep` is how time passes where the server offers no connection.
    """
    fault, connection = strike.fault, connection_of(environ)
    if connection is None and isinstance(fault, kinds.Reset | kinds.Cut | kinds.Drip | kinds.Hang):
        log.warning(
            "the fault %s needs the connection, which this server does not lend; serve with waitress, as "
            "trigger-mock does without --workers and --server granian",
            fault.kind,
        )
        message = f"The fault {fault.kind} can be had on the mock's own server only: waitress, one process."
        return json_answer(500, envelope("fault_needs_server", message))
    if strike.seconds:
        with borrowed(environ):
            if connection is None:
                sleep(strike.seconds)
            else:
                connection.wait(strike.seconds, strike.over)
    if isinstance(fault, kinds.Failure):
        return _error(fault)
    if isinstance(fault, kinds.Redirect):
        redirect = Answer(status=fault.status, headers={"Location": fault.location, "Content-Length": "0"})
        del redirect.headers["Content-Type"]  # there is no body to have one
        return redirect
    if isinstance(fault, kinds.Hang):
        assert connection is not None  # noqa: S101 - said above, for the type checker
        with borrowed(environ):
            connection.wait(LONGEST, strike.over, for_client=True)
        connection.manner = Broken(None, reset=False)
        return Answer()
    response = _true(answer)
    if connection is not None:
        _break(fault, connection, strike)
    _change(fault, strike, response, previous)
    return response


def _true(answer: Callable[[], Response]) -> Response:
    try:
        return answer()
    except Refusal as refusal:
        return refused(refusal)


def _error(fault: kinds.Failure) -> Response:
    code = fault.code or code_of(fault.status)
    message = "This error was asked for." if fault.message is None else fault.message
    retry_after = 1 if fault.retry_after is None and fault.status == 429 else fault.retry_after
    headers = [] if retry_after is None else [("Retry-After", str(retry_after))]
    return json_answer(fault.status, {fault.envelope: {"code": code, "message": message}}, headers)


def _break(fault: kinds.Simple, connection: Connection, strike: Strike) -> None:
    if isinstance(fault, kinds.Reset):
        connection.manner = Broken(None if fault.at == "before" else fault.bytes, reset=True)
    elif isinstance(fault, kinds.Cut):
        connection.manner = Broken(fault.bytes, reset=False)
    elif isinstance(fault, kinds.Drip):
        connection.manner = Dripped(fault.bytes, fault.interval, strike.over)


def _change(
    fault: kinds.Simple, strike: Strike, response: Response, previous: Callable[[], bytes | None]
) -> None:
    raw = response.get_data()
    if isinstance(fault, kinds.Malformed):
        response.set_data(raw[: len(raw) // 2])
    elif isinstance(fault, kinds.ContentType):
        response.headers["Content-Type"] = fault.value
    elif isinstance(fault, kinds.Envelope):
        if response.status_code >= 400:
            response.set_data(orjson.dumps(_in_other_envelope(orjson.loads(raw))))
    elif response.status_code == 200:
        body = _changed(fault, strike, raw, previous)
        if body is not None:
            response.set_data(body)


def _in_other_envelope(body: Any) -> Any:
    detail = body.get("detail") if is_object(body) else None
    if is_array(detail):
        return {"error": {"code": InvalidFields.code, "message": str(InvalidFields(detail))}}
    return {"error": detail} if is_object(detail) else body


def _changed(
    fault: kinds.Simple, strike: Strike, raw: bytes, previous: Callable[[], bytes | None]
) -> bytes | None:
    """The body of a 200 under this fault; None: as it is."""
    if isinstance(fault, kinds.Stale):
        return _stale(fault, raw, previous())
    body = orjson.loads(raw)
    if isinstance(fault, kinds.Empty):
        body |= {"data": [], "context": None, "context_selection_applied": False}
    elif isinstance(fault, kinds.Alter):
        for pointer in fault.remove:
            removed(body, pointer)
        for pointer, value in fault.set.items():
            put(body, pointer, value)
    elif isinstance(fault, kinds.Delay) and fault.stage == "gate":
        timings = body["stage_timings"]
        for stage in ("gate", "total"):
            timings[stage] = round(timings.get(stage, 0.0) + strike.seconds, 4)
    else:
        return None
    return orjson.dumps(body)


def _stale(fault: kinds.Stale, raw: bytes, previous: bytes | None) -> bytes | None:
    if previous is None or fault.fields is None:
        return previous
    try:
        before = orjson.loads(previous)
    except orjson.JSONDecodeError:  # cut or malformed by another fault
        return None
    body = orjson.loads(raw)
    for pointer in fault.fields:
        value = found(before, pointer)
        if value is NOTHING:
            removed(body, pointer)
        else:
            put(body, pointer, value)
    return orjson.dumps(body)
