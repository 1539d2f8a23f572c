"""What arrives on a socket is answered, in the contract's shapes, and so is what comes next on it."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator

import pytest

from tests.mock.processes import FIXTURES, Running, running, write
from tests.mock.raw import PATH, Reply, chunked, connected, exchange, request

BODY = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}).encode()
GOOD = request(BODY)
LARGE = b"[" + b"1," * 10_000_000 + b"1]"
MEBIBYTE = 2**20


@pytest.fixture(scope="module", params=["waitress", "granian"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    fixtures = write(tmp_path_factory.mktemp("wire"), FIXTURES)
    options = ("--port", "0", "--fixtures", fixtures, "--rate-limit", "none")
    with running(*options, "--server", request.param) as up:
        yield up
        assert "Traceback" not in up.log
        assert "ERROR" not in up.log
        assert "xtk_test" not in up.log


def judged(reply: Reply) -> Reply:
    """The reply, once it is known to be one of ours: JSON in a documented shape, signed."""
    assert reply.header("Content-Type") == "application/json"
    assert reply.header("X-Request-Id")
    body = reply.json
    if reply.status == 200:
        assert body["object"] == "search"
    elif isinstance(body["detail"], list):
        assert reply.status == 422
        assert all({"type", "loc", "msg"} <= entry.keys() for entry in body["detail"])
    else:
        assert body["detail"].keys() == {"code", "message"}
    return reply


def deep(levels: int) -> bytes:
    nest = b"[" * levels + b"]" * levels
    return b'{"user_id": "user-123", "action": {"args": {"a": ' + nest + b"}}}"


REQUESTS = {
    "a good one": (GOOD, 200),
    "wrong key and a body of 70 KB": (request(b"x" * 70_000, key="wrong"), 401),
    "no key and a body of 70 KB": (request(b"x" * 70_000, key=None), 401),
    "wrong path and a body of 70 KB": (request(b"x" * 70_000, line="POST /other HTTP/1.1"), 404),
    "trailing slash": (request(BODY, line=f"POST {PATH}/ HTTP/1.1"), 404),
    "wrong method and 20 MB": (request(LARGE, line=f"PUT {PATH} HTTP/1.1"), 405),
    "wrong key and 20 MB": (request(LARGE, key="wrong"), 413),
    "one byte over the limit": (request(b" " * (MEBIBYTE + 1)), 413),
    "exactly the limit": (request(BODY + b" " * (MEBIBYTE - len(BODY))), 200),
    "20 MB": (request(LARGE), 413),
    "20 MB in chunks": (chunked(*[LARGE[i : i + 65_536] for i in range(0, len(LARGE), 65_536)]), 413),
    "one chunked byte over the limit": (chunked(BODY, b" " * (MEBIBYTE + 1 - len(BODY))), 413),
    "three chunks": (chunked(BODY[:5], BODY[5:9], BODY[9:]), 200),
    "extensions and a trailer": (
        chunked(BODY[:7], BODY[7:], extension=b";a=b", trailer=b"X-Late: 1\r\n"),
        200,
    ),
    "a chunk a byte": (chunked(*[bytes([byte]) for byte in BODY]), 200),
    "no body": (request(length=False), 422),
    "an empty body": (request(), 422),
    "UTF-16": (request(BODY.decode().encode("utf-16")), 200),
    "UTF-32": (request(BODY.decode().encode("utf-32")), 200),
    "a byte order mark": (request(b"\xef\xbb\xbf" + BODY), 200),
    "latin-1": (request('{"user_id": "é", "entities": ["x"]}'.encode("latin-1")), 422),
    "gzip": (request(gzip.compress(BODY), "Content-Encoding: gzip"), 422),
    "100,000 brackets": (request(b"[" * 100_000 + b"]" * 100_000), 422),
    "args 900 deep": (request(deep(900)), 200),
    "args 5,000 deep": (request(deep(5_000)), 422),
    "a number of 10,000 digits": (request(deep(1).replace(b"[]", b"9" * 10_000)), 200),
    "10,000 digits for a string": (request(b'{"user_id": ' + b"9" * 10_000 + b', "entities": ["x"]}'), 422),
    "NaN for a string": (request(b'{"user_id": NaN, "entities": ["x"]}'), 422),
    "NaN and infinities in args": (
        request(deep(1).replace(b"[]", b"[NaN, Infinity, -Infinity, 1e999]")),
        200,
    ),
    "NUL": (request(b'{"user_id": "\\u0000", "entities": ["a\\u0000b"], "task": "\\u0000"}'), 200),
    "a raw NUL": (request(b'{"user_id": "\x00", "entities": ["x"]}'), 422),
    "keys given twice": (
        request(b'{"user_id": 1, "user_id": "user-123", "entities": ["x"], "entities": ["y"]}'),
        200,
    ),
    "surrogate in user_id": (request(b'{"user_id": "\\ud800", "entities": ["x"]}'), (200, 422)),
    "surrogate in mode": (request(b'{"user_id": "u", "entities": ["x"], "mode": "\\ud800"}'), 422),
    "surrogate in include": (request(b'{"user_id": "u", "entities": ["x"], "include": ["\\udfff"]}'), 422),
    "surrogate in task": (request(b'{"user_id": "u", "entities": ["x"], "task": "\\ud800 x"}'), (200, 422)),
    "surrogate in an entity": (request(b'{"user_id": "u", "entities": ["\\ud800"]}'), (200, 422)),
    "surrogate in a group": (request(b'{"group_ids": ["\\ud800"], "entities": ["x"]}'), (200, 422)),
    "surrogate in args": (
        request(b'{"user_id": "u", "action": {"args": {"\\ud800": "\\udc00"}}}'),
        (200, 422),
    ),
    "surrogate in output": (
        request(b'{"user_id": "u", "action": {"tool": "\\ud800", "output": "\\ud800"}}'),
        (200, 422),
    ),
    "surrogate in an unknown field": (
        request(b'{"user_id": "u", "entities": ["x"], "\\ud800": 1}'),
        (200, 422),
    ),
    "charset": (request(BODY, content_type="application/json; charset=utf-8"), 200),
    "media type in capitals": (request(BODY, content_type="Application/JSON"), 200),
    "charset in quotes": (request(BODY, content_type='application/json;charset="UTF-8"'), 200),
    "no content type": (request(BODY, content_type=None), 422),
    "empty content type": (request(BODY, content_type=""), 422),
    "undefined content type": (request(BODY, content_type="undefined"), 422),
    "slash for a content type": (request(BODY, content_type="/"), 422),
    "parameters without a name": (request(BODY, content_type="application/json;;"), (200, 422)),
    "two content types": (request(BODY, "Content-Type: text/plain"), (200, 422)),
    "two different keys": (request(BODY, "x-api-key: wrong"), 401),
    "a wrong key first": (request(BODY, "x-api-key: xtk_test_north", key="wrong"), 401),
    "two authorizations": (
        request(BODY, "Authorization: Bearer xtk_test_north", "Authorization: Bearer x", key=None),
        401,
    ),
    "keys that disagree": (request(BODY, "Authorization: Bearer xtk_test_south"), 401),
    "a header of 20 KB": (request(BODY, b"X-Long: " + b"a" * 20_000), 200),
    "a header that is not ASCII": (request(BODY, "X-Name: é".encode()), 200),
    "a key that is not ASCII": (request(BODY, key="xtk_é"), 401),
    "an id that is not ASCII": (request(BODY, "X-Request-Id: é".encode()), 200),
    "Expect": (request(BODY, "Expect: 100-continue"), 200),
    "an unknown expectation": (request(BODY, "Expect: something"), 200),
    "HTTP/1.0 kept alive": (request(BODY, "Connection: keep-alive", line=f"POST {PATH} HTTP/1.0"), 200),
    "absolute form": (request(BODY, line=f"POST http://mock.test{PATH} HTTP/1.1"), 200),
    "a query that is not UTF-8": (request(BODY, line=f"POST {PATH}?a=%ff HTTP/1.1"), 200),
    "a path that is not UTF-8": (request(BODY, line="POST /%zz%ff%00 HTTP/1.1"), 404),
    "an unknown method": (request(BODY, line=f"BREW {PATH} HTTP/1.1"), 405),
    "OPTIONS": (request(BODY, line=f"OPTIONS {PATH} HTTP/1.1"), 405),
    "OPTIONS of the server": (request(line="OPTIONS * HTTP/1.1"), 404),
    "TRACE": (request(BODY, line=f"TRACE {PATH} HTTP/1.1"), 405),
    "CONNECT": (request(line="CONNECT mock.test:443 HTTP/1.1"), 404),
    "GET": (request(line=f"GET {PATH} HTTP/1.1", length=False), 405),
}


@pytest.mark.parametrize(("sent", "status"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_answered_and_so_is_the_next_on_its_connection(
    server: Running, sent: bytes, status: int | tuple[int, ...]
) -> None:
    with connected(server.address) as connection:
        connection.send(sent)
        reply = judged(connection.reply())
        assert reply.status in (status if isinstance(status, tuple) else (status,))
        connection.send(GOOD)
        assert judged(connection.reply()).status == 200


BROKEN = {
    "garbage": b"hello\r\n\r\n",
    "every byte": bytes(range(256)) + b"\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a chunk without a size": request(b"", "Transfer-Encoding: chunked", length=False)
    + b"zz\r\nabc\r\n0\r\n\r\n",
    "a chunk longer than its size": request(b"", "Transfer-Encoding: chunked", length=False)
    + b"3\r\nabcdef\r\n0\r\n\r\n",
    "an unknown transfer coding": request(b"", "Transfer-Encoding: gzip, chunked", length=False)
    + b"3\r\nabc\r\n0\r\n\r\n",
    "two lengths": request(BODY, "Content-Length: 3"),
    "a length of 5,000 digits": request(b"", "Content-Length: " + "9" * 5_000, length=False),
    "a negative length": request(b"", "Content-Length: -1", length=False),
    "an empty length": request(b"", "Content-Length: ", length=False),
    "a length of 256 GB": request(b"", "Content-Length: 274877906944", length=False),
    "a control character": request(BODY, b"X-Odd: a\x01b"),
    "NUL in a header": request(BODY, b"X-Odd: a\x00b"),
    "a bare carriage return": request(BODY, b"X-Odd: a\rb"),
    "a header without a colon": request(BODY, "nonsense"),
    "a space before the colon": request(BODY, "X-Odd : a"),
    "an address without its bracket": request(BODY, line=f"POST http://[::1{PATH} HTTP/1.1"),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_what_is_no_http_is_refused_and_the_reply_arrives(server: Running, sent: bytes) -> None:
    with connected(server.address) as connection:
        connection.send(sent)
        reply = connection.reply()
    assert reply.status in (400, 413, 422)
    if reply.body:  # granian answers some of these by itself, with nothing
        judged(reply)
    assert exchange(server.address, GOOD).status == 200


def test_a_reply_to_head_has_no_body(server: Running) -> None:
    with connected(server.address) as connection:
        connection.send(request(line=f"HEAD {PATH} HTTP/1.1", length=False))
        assert connection.reply(to_head=True).status == 405
        connection.send(GOOD)
        assert connection.reply().status == 200


def test_every_way_to_send_the_same_request_gives_the_same_body(server: Running) -> None:
    bodies = {
        exchange(server.address, sent).body
        for sent in (
            GOOD,
            chunked(BODY[:5], BODY[5:9], BODY[9:]),
            request(BODY, "Expect: 100-continue"),
            request(BODY, line=f"POST {PATH} HTTP/1.0"),
            request(BODY, "Authorization: bearer xtk_test_north", key=None),
        )
    }
    assert len(bodies) == 1


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    with connected(server.address) as connection:
        connection.send(GOOD * 3 + request(b"x" * 70_000, key="wrong") + request(b"{") + GOOD)
        statuses = [judged(connection.reply()).status for _ in range(6)]
    assert statuses == [200, 200, 200, 401, 422, 200]


def test_a_request_that_comes_byte_by_byte_is_answered(server: Running) -> None:
    with connected(server.address) as connection:
        for byte in GOOD:
            connection.send(bytes([byte]))
        assert judged(connection.reply()).status == 200


def test_a_client_that_waits_for_continue_is_told_to(server: Running) -> None:
    with connected(server.address) as connection:
        connection.send(GOOD.removesuffix(BODY).replace(b"Host", b"Expect: 100-continue\r\nHost"))
        assert connection.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(BODY)
        assert judged(connection.reply()).status == 200


def test_http_1_0_closes_after_its_reply(server: Running) -> None:
    with connected(server.address) as connection:
        connection.send(request(BODY, line=f"POST {PATH} HTTP/1.0"))
        assert judged(connection.reply()).status == 200
        assert connection.ended()


@pytest.mark.parametrize("sent", ["fine-id_1.2:3/4+5=6@7~8", "a" * 128])
def test_a_sane_request_id_comes_back(server: Running, sent: str) -> None:
    assert exchange(server.address, request(BODY, f"X-Request-Id: {sent}")).header("X-Request-Id") == sent


@pytest.mark.parametrize("sent", ["", "a b", "a" * 129, "-a", "é", '"', "a\tb"])
def test_an_odd_request_id_is_replaced(server: Running, sent: str) -> None:
    reply = exchange(server.address, request(BODY, f"X-Request-Id: {sent}".encode()))
    assert reply.header("X-Request-Id") not in (None, "", sent)


@pytest.mark.parametrize(
    "unfinished",
    [GOOD[:60], GOOD[:-5], chunked(BODY)[:-9], b""],
    ids=["headers", "body", "chunk", "idle"],
)
def test_unfinished_requests_hold_up_nobody_else(server: Running, unfinished: bytes) -> None:
    with contextlib.ExitStack() as clients:
        for _ in range(64):
            clients.enter_context(connected(server.address)).send(unfinished)
        with connected(server.address) as other:
            # Twenty times what is promised, and a small part of what it takes when they do hold it up.
            other.socket.settimeout(2)
            other.send(GOOD)
            assert judged(other.reply()).status == 200
