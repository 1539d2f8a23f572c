"""How connections of the default server end: the last reply arrives, whatever the client still says."""

from __future__ import annotations

import json
import logging
import re
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.mock.processes import FIXTURES, write
from tests.mock.raw import PATH, Connection, chunked, connected, exchange, request
from trigger_fixtures import load
from trigger_mock import create_app, wire
from trigger_mock.server import serving
from trigger_mock.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

BODY = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}).encode()
GOOD = request(BODY)
Address = tuple[str, int]


def address_of(url: str) -> Address:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 0)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    corpus = load(write(tmp_path_factory.mktemp("wire"), FIXTURES))
    settings = Settings()
    with serving(create_app(corpus, settings=settings), body_limit=settings.body_limit) as url:
        yield address_of(url)


@pytest.mark.parametrize(
    "sent",
    [GOOD, chunked(BODY[:4], BODY[4:]), request(BODY, line=f"POST {PATH} HTTP/1.0")],
    ids=["length", "chunks", "HTTP/1.0"],
)
def test_a_client_that_closed_its_half_gets_its_reply(address: Address, sent: bytes) -> None:
    with connected(address) as connection:
        connection.send(sent)
        connection.say_no_more()
        assert connection.reply().status == 200
        assert connection.ended()


def test_all_requests_sent_before_the_half_was_closed_are_answered(address: Address) -> None:
    with connected(address) as connection:
        connection.send(GOOD * 3)
        connection.say_no_more()
        assert [connection.reply().status for _ in range(3)] == [200, 200, 200]
        assert connection.ended()


@pytest.mark.parametrize("cut", [20, 60, len(GOOD) - len(BODY), len(GOOD) - 5])
def test_a_request_that_breaks_off_is_refused(address: Address, cut: int) -> None:
    with connected(address) as connection:
        connection.send(GOOD[:cut])
        connection.say_no_more()
        reply = connection.reply()
        assert connection.ended()
    assert (reply.status, reply.json["detail"]["code"]) == (400, "invalid_request")


def test_a_client_that_says_nothing_and_leaves_is_let_go(address: Address) -> None:
    with connected(address) as connection:
        connection.say_no_more()
        assert connection.ended()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.1\r\nnonsense\r\n\r\n" + b"x" * 5_000_000, 400),
        (request(b"", b"X-Long: " + b"a" * 500_000, length=False) + b"x" * 5_000_000, 431),
        (request(b"", "Content-Length: 300000000", length=False) + b"x" * 5_000_000, 413),
        (request(b"", "Transfer-Encoding: chunked", length=False) + b"1;" + b"a" * 100_000, 400),
    ],
    ids=["no HTTP", "long headers", "300 MB", "a long chunk extension"],
)
def test_a_refusal_arrives_although_the_client_goes_on_sending(
    address: Address, sent: bytes, status: int
) -> None:
    with connected(address) as connection:
        connection.send(sent)
        reply = connection.reply()
        assert connection.ended()
    assert reply.status == status
    assert reply.header("Content-Type") == "application/json"
    assert reply.header("Connection") == "close"
    assert reply.json["detail"].keys() == {"code", "message"}


def test_a_refusal_of_no_http_is_signed_with_the_id_that_was_sent_or_a_new_one(address: Address) -> None:
    known = exchange(address, request(b"", "X-Request-Id: mine", "Content-Length: -1", length=False))
    unknown = exchange(address, b"hello\r\n\r\n")
    assert known.header("X-Request-Id") == "mine"
    assert re.fullmatch(r"[0-9a-f-]{36}", unknown.header("X-Request-Id") or "")


def test_a_refusal_of_no_http_repeats_nothing_of_what_was_sent(address: Address) -> None:
    reply = exchange(address, request(BODY, b"x-api-key: xtk_\rsecret"))
    assert reply.status == 400
    assert b"secret" not in reply.body


def test_clients_that_reset_leave_no_trace(address: Address, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for sent in (GOOD[:-3], GOOD, GOOD[:40], request(BODY, "Content-Length: x")) * 5:
            connection = Connection(address)
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.send(sent)
            connection.close()
        assert exchange(address, GOOD).status == 200
    assert caplog.records == []


def test_a_lingering_connection_is_gone_in_the_end(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LINGER", 0.0)
    with connected(address) as connection:
        connection.send(b"hello\r\n\r\n")
        assert connection.reply().status == 400
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            _send_for_ever(connection)


def _send_for_ever(connection: Connection) -> None:
    for _ in range(100_000):
        connection.send(b"x" * 1000)


def test_a_fault_beyond_the_application_is_an_envelope_without_its_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(_broken_application) as url:
        reply = exchange(address_of(url), GOOD)
    assert (reply.status, reply.json["detail"]["code"]) == (500, "trigger_failed")
    assert b"at fault" not in reply.body
    assert "at fault" in caplog.text


def _broken_application(_environ: WSGIEnvironment, _start: StartResponse) -> Iterable[bytes]:
    raise RuntimeError("the application is at fault")


def test_bodies_past_the_limit_are_counted_and_not_kept() -> None:
    seen: list[tuple[str, int]] = []

    def application(environ: WSGIEnvironment, start: Callable[..., object]) -> Iterable[bytes]:
        seen.append((environ["CONTENT_LENGTH"], len(environ["wsgi.input"].read())))
        start("200 OK", [("Content-Type", "application/json"), ("Content-Length", "2")])
        return [b"{}"]

    with serving(application, body_limit=100_000) as url:
        for sent in (request(b"x" * 5_000_000), chunked(*[b"x" * 50_000] * 100)):
            assert exchange(address_of(url), sent).status == 200
    assert [length for length, _ in seen] == ["5000000", "5000000"]
    assert all(kept < 200_000 for _, kept in seen)
