from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from tests.load.toy import _found
from trigger_loadtests.judgement import Judge, Verdict, breakdown
from trigger_loadtests.scenarios import Expectation
from trigger_loadtests.station import schema_check

JSON = "application/json"
ERROR = orjson.dumps({"detail": {"code": "invalid_request", "message": "no"}})


def judged(
    status: int,
    content: bytes,
    *,
    kind: str = JSON,
    expects: Expectation = "answer",
    mode: str = "retrieve",
) -> tuple[str, str]:
    verdict = Judge(schema_check(), every=1).answer(expects, mode, status, kind, content)
    return verdict.outcome, verdict.reason


def changed(**fields: Any) -> bytes:
    return orjson.dumps({**orjson.loads(_found("retrieve")), **fields})


def with_row(**fields: Any) -> bytes:
    body = orjson.loads(_found("retrieve"))
    body["data"][0].update(fields)
    return orjson.dumps(body)


@pytest.mark.parametrize("mode", ["retrieve", "compose"])
def test_a_right_answer_is_good(mode: str) -> None:
    assert judged(200, _found(mode), mode=mode) == ("good", "")
    assert judged(200, _found(mode), mode=mode, kind="application/json; charset=utf-8") == ("good", "")


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (200, b"<html>hello", "html"),
        (200, b"", "not-json"),
        (200, b'{"mode": "retr', "not-json"),
        (200, b"[]", "envelope"),
        (200, changed(object="list"), "envelope"),
        (200, changed(data={}), "envelope"),
        (200, changed(data=[7]), "envelope"),
        (200, changed(mode="compose"), "mode-echo"),
        (200, changed(context="text"), "context-under-retrieve"),
        (200, with_row(type="fact"), "row-type"),
        (200, with_row(object=7), "schema"),
        (200, changed(stage_timings={"a": "b"}), "schema"),
        (204, b"", "not-json"),
        (301, b"", "redirect"),
        (307, b"{}", "redirect"),
        (401, ERROR, "unauthorized"),
        (404, b"<h1>Not Found", "html"),
        (404, ERROR, "status-404"),
        (422, ERROR, "status-422"),
        (500, ERROR, "status-500"),
        (502, b"<html>Bad Gateway", "status-502"),
    ],
)
def test_a_wrong_answer_fails_under_its_own_name(status: int, content: bytes, reason: str) -> None:
    assert judged(status, content) == ("failed", reason)


def test_json_sent_as_something_else_is_wrong() -> None:
    assert judged(200, _found("retrieve"), kind="text/plain") == ("failed", "content-type")


@pytest.mark.parametrize("content", [ERROR, b"<html>slow down", b""])
def test_429_is_throttling_whatever_its_body(content: bytes) -> None:
    assert judged(429, content) == ("throttled", "status-429")


@pytest.mark.parametrize(
    ("expects", "status", "content", "verdict"),
    [
        ("invalid", 422, ERROR, ("refused", "")),
        ("invalid", 422, b'{"detail": [{"type": "x", "loc": ["body"], "msg": "m"}]}', ("refused", "")),
        ("invalid", 422, b'{"error": "x"}', ("failed", "envelope")),
        ("invalid", 200, _found("retrieve"), ("failed", "invalid-accepted")),
        ("invalid", 500, ERROR, ("failed", "status-500")),
        ("unauthorised", 401, b'{"detail": {"code": "unauthorized", "message": "m"}}', ("refused", "")),
        ("unauthorised", 401, b'{"detail": "m"}', ("failed", "envelope")),
        ("unauthorised", 200, _found("retrieve"), ("failed", "bad-key-accepted")),
        ("unauthorised", 403, ERROR, ("failed", "status-403")),
    ],
)
def test_a_careless_call_is_right_when_it_is_refused_as_the_contract_says(
    expects: Expectation, status: int, content: bytes, verdict: tuple[str, str]
) -> None:
    assert judged(status, content, expects=expects) == verdict


def test_the_schema_is_applied_to_the_first_answer_and_to_one_in_so_many_after_it() -> None:
    seen: list[int] = []

    def schema(status: int, _body: Any) -> Sequence[str]:
        seen.append(status)
        return ()

    judge = Judge(schema, every=10)
    for _ in range(31):
        judge.answer("answer", "retrieve", 200, JSON, _found("retrieve"))

    assert len(seen) == judge.schema_checked == 4


class HTTPConnectionClosed(OSError):
    """Named as the HTTP client names it."""


class HTTPParseError(Exception):
    """Named as the HTTP client names it."""


class Timeout(BaseException):
    """Named as gevent names it."""


def wrapped(error: BaseException) -> Exception:
    outer = RuntimeError("retries exceeded")
    outer.original = error  # type: ignore[attr-defined]
    return outer


@pytest.mark.parametrize(
    ("error", "had_status", "reason", "answered"),
    [
        (ConnectionRefusedError(), False, "refused", False),
        (ConnectionResetError(), False, "reset", False),
        (ConnectionResetError(), True, "cut-body", False),
        (HTTPConnectionClosed(), False, "reset", False),
        (HTTPConnectionClosed(), True, "cut-body", False),
        (socket.gaierror(-2, "x"), False, "dns", False),
        (TimeoutError(), False, "timeout", False),
        (Timeout(), True, "timeout", False),
        (wrapped(TimeoutError()), False, "timeout", False),
        (ssl.SSLCertVerificationError(), False, "tls", False),
        (OSError(113, "no route"), False, "unreachable", False),
        (HTTPParseError(), True, "cut-body", False),
        (HTTPParseError(), False, "not-http", False),
        (KeyError("x"), False, "error-KeyError", False),
    ],
)
def test_a_call_without_a_whole_answer_has_its_own_name(
    error: BaseException, had_status: bool, reason: str, answered: bool
) -> None:
    verdict = breakdown(error, had_status=had_status)

    assert (verdict.outcome, verdict.reason, verdict.answered) == ("failed", reason, answered)


def test_a_timeout_is_timed_so_that_a_stall_cannot_hide_in_the_errors() -> None:
    assert breakdown(TimeoutError(), had_status=False) == Verdict(
        "failed", "timeout", timed=True, answered=False
    )
