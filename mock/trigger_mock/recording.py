"""What a bench's journal is told of a call: the record that the view fills in as it goes, and the call that
is made of it once there is an answer.

Knows WSGI, and nothing of Flask's routing: a call that no view saw (a wrong method, a path that is not
served) is written down too, in the bench of its key where that is known.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trigger_mock.benches import Benches
from trigger_mock.connection import Broken, connection_of
from trigger_mock.journal import Call, Header
from trigger_mock.refusals import Unauthorized

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment
    from werkzeug.wrappers import Response

    from trigger_mock.credentials import Caller

#: Where the request's environment holds its record.
RECORD = "trigger_mock.record"
#: Where it holds what the rate headers of its answer say, once its key was counted.
QUOTA = "trigger_mock.quota"
#: Headers that carry credentials, ours or those of a proxy: never written down.
SECRET = frozenset(
    {"HTTP_X_API_KEY", "HTTP_AUTHORIZATION", "HTTP_PROXY_AUTHORIZATION", "HTTP_COOKIE", "HTTP_COOKIE2"}
)


@dataclass(slots=True)
class Record:
    """What is known of a call so far. `began`: seconds, by `time.perf_counter`."""

    began: float
    body: bytes = b""
    caller: Caller | None = None
    missed: tuple[str, ...] = ()
    fault: str | None = None


def write_down(benches: Benches, environ: WSGIEnvironment, response: Response) -> None:
    """Write a call and its answer into the journal of its bench: the default one when the key is unknown."""
    record: Record = environ.get(RECORD) or Record(began=time.perf_counter())
    status = response.status_code
    if record.caller is None and status != 401:  # refused before anybody looked at the key
        with contextlib.suppress(Unauthorized):
            record.caller = benches.caller(environ.get("HTTP_X_API_KEY"), environ.get("HTTP_AUTHORIZATION"))
    bench = record.caller.bench if record.caller else benches.default
    if not bench.journal.size:
        return
    headers, body = response.headers.to_wsgi_list(), response.get_data()
    connection = connection_of(environ)
    if connection is not None and isinstance(connection.manner, Broken):
        status, headers, body = _sent(connection.manner, status, headers, body)
    bench.journal.record(
        Call(
            time=bench.clock.now,
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"],
            headers=_headers(environ),
            caller=record.caller,
            request=record.body,
            status=status,
            answer_headers=tuple(headers),
            answer=body,
            seconds=time.perf_counter() - record.began,
            missed=record.missed,
            fault=record.fault,
        )
    )


def _sent(manner: Broken, status: int, headers: list[Header], body: bytes) -> tuple[int, list[Header], bytes]:
    """What of an answer leaves before its connection ends; of nothing the status is 0."""
    return (0, [], b"") if manner.after is None else (status, headers, body[: manner.after])


def _headers(environ: WSGIEnvironment) -> tuple[Header, ...]:
    """The request's headers, as `user-agent: …`; WSGI has lost the case they were sent in."""
    named = [
        (name[5:].replace("_", "-").lower(), value)
        for name, value in environ.items()
        if name[:5] == "HTTP_" and name not in SECRET
    ]
    content_type = environ.get("CONTENT_TYPE")
    return (("content-type", content_type), *named) if content_type else tuple(named)
