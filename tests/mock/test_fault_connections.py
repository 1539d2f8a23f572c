"""What a raw client sees of faults under which the connection itself breaks, drips or says nothing."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.mock.processes import FIXTURES, running, write
from tests.mock.raw import PATH, Connection, Reply, connected, exchange, request
from trigger_fixtures import load
from trigger_mock import create_app
from trigger_mock.server import THREADS, serving

Address = tuple[str, int]
ASK = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}).encode()
COMPOSED = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"]}).encode()
GOOD = request(ASK)


class Bench:
    """A bench of the server under test, over its control plane."""

    def __init__(self, address: Address, name: str, key: str) -> None:
        self.address, self.name, self.key = address, name, key
        self.good = request(ASK, key=key)

    def control(self, method: str, path: str, body: Any = None) -> Any:
        raw = b"" if body is None else json.dumps(body).encode()
        line = f"{method} /_mock/benches/{self.name}{path} HTTP/1.1"
        with connected(self.address) as connection:
            connection.send(re.sub(rb"Host: [^\r]*", b"Host: localhost", request(raw, line=line, key=None)))
            reply = connection.reply(to_head=method == "DELETE")
        assert reply.status < 300, reply.body
        return reply.json if reply.body else None

    def rule(self, **rule: Any) -> str:
        return str(self.control("POST", "/faults", rule)["id"])

    def fault(self, kind: str, **parameters: Any) -> str:
        return self.rule(fault={"kind": kind, **parameters})

    def calls(self, count: int, timeout: int = 10) -> list[dict[str, Any]]:
        waited = self.control("GET", f"/calls/wait?count={count}&timeout={timeout}")
        assert waited["satisfied"]
        return list(waited["calls"])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    corpus = load(write(tmp_path_factory.mktemp("faults"), FIXTURES))
    with serving(create_app(corpus)) as url:
        parts = urlsplit(url)
        yield str(parts.hostname), int(parts.port or 0)


@pytest.fixture
def bench(address: Address) -> Iterator[Bench]:
    made = json.loads(
        exchange(
            address,
            request(b'{"from": "default"}', line="POST /_mock/benches HTTP/1.1", key=None).replace(
                b"mock.test", b"localhost"
            ),
        ).body
    )
    bench = Bench(address, made["name"], made["api_key"])
    yield bench
    bench.control("DELETE", "")


def head_and_rest(connection: Connection) -> tuple[Reply, bytes, bool]:
    """The head of a reply, what came of its body, and whether the connection was reset behind it."""
    received = b""
    try:
        while piece := connection.socket.recv(65536):
            received += piece
    except ConnectionResetError:
        was_reset = True
    else:
        was_reset = False
    head, _, rest = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
    return Reply(int(lines[0].split()[1]) if head else 0, pairs, b""), rest, was_reset


def true_body(bench: Bench) -> bytes:
    return exchange(bench.address, bench.good).body


@pytest.mark.parametrize("rule", [{"preset": "down"}, {"fault": {"kind": "reset"}}], ids=["down", "reset"])
def test_down_resets_without_a_byte(bench: Bench, rule: dict[str, Any]) -> None:
    bench.rule(**rule)
    with connected(bench.address) as connection:
        connection.send(bench.good)
        with pytest.raises(ConnectionResetError):
            connection.socket.recv(1)
    (call,) = bench.calls(1)
    assert (call["fault"], call["response"]["status"], call["response"]["bytes"]) == ("reset", 0, 0)


def test_a_reset_within_the_body_comes_behind_so_many_bytes_of_it(bench: Bench) -> None:
    body = true_body(bench)
    bench.fault("reset", at="body", bytes=33)
    with connected(bench.address) as connection:
        connection.send(bench.good)
        head, rest, was_reset = head_and_rest(connection)
    assert (head.status, head.header("Content-Length")) == (200, str(len(body)))
    assert rest == body[:33]
    assert was_reset
    assert bench.calls(2)[-1]["response"]["bytes"] == 33


def test_a_cut_body_ends_in_good_order_before_its_length(bench: Bench) -> None:
    body = true_body(bench)
    bench.fault("cut", bytes=21)
    with connected(bench.address) as connection:
        connection.send(bench.good)
        head, rest, was_reset = head_and_rest(connection)
    assert (head.status, head.header("Content-Length"), head.header("Connection")) == (
        200,
        str(len(body)),
        None,
    )
    assert rest == body[:21]
    assert not was_reset


def test_a_cut_behind_the_end_is_a_whole_body(bench: Bench) -> None:
    body = true_body(bench)
    bench.fault("cut", bytes=10**6)
    assert exchange(bench.address, bench.good).body == body


def test_a_dripped_body_arrives_piece_by_piece_and_whole(bench: Bench) -> None:
    body = true_body(bench)
    bench.fault("drip", bytes=100, interval=0.03)
    with connected(bench.address) as connection:
        connection.send(bench.good)
        head = connection.socket.recv(65536)
        received = [head.partition(b"\r\n\r\n")[2]]
        while sum(map(len, received)) < len(body):
            received.append(connection.socket.recv(65536))
        bench.control("DELETE", "/faults")
        connection.send(bench.good)
        assert connection.reply().body == body
    assert b"".join(received) == body
    assert len(received) > 2


def test_a_drip_that_is_taken_back_sends_the_rest_at_once(bench: Bench) -> None:
    rule = bench.fault("drip", bytes=1, interval=60)
    with connected(bench.address) as connection:
        connection.send(bench.good)
        received = connection.socket.recv(65536)
        bench.control("DELETE", f"/faults/{rule}")
        while not received.endswith(b'"context_selection_applied":false}'):
            received += connection.socket.recv(65536)


@pytest.mark.parametrize("kind", ["reset", "cut"])
def test_nothing_behind_a_broken_reply_is_answered(bench: Bench, kind: str) -> None:
    bench.rule(fault={"kind": kind, "bytes": 5, **({"at": "body"} if kind == "reset" else {})}, times=1)
    with connected(bench.address) as connection:
        connection.send(bench.good * 3)
        _, rest, _ = head_and_rest(connection)
    assert len(rest) == 5
    assert len(bench.calls(1)) == 1


def test_replies_before_a_broken_one_arrive(bench: Bench) -> None:
    bench.rule(fault={"kind": "reset"}, match={"mode": "compose"})
    with connected(bench.address) as connection:
        connection.send(bench.good + request(COMPOSED, key=bench.key))
        assert connection.reply().status == 200
        with pytest.raises(ConnectionResetError):
            connection.socket.recv(1)


def test_half_open_says_nothing_until_it_is_taken_back(bench: Bench) -> None:
    bench.rule(preset="half-open")
    with connected(bench.address) as connection:
        connection.send(bench.good)
        connection.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.socket.recv(1)
        connection.socket.settimeout(10)
        bench.control("DELETE", "/faults")
        assert connection.socket.recv(1) == b""


def test_a_hang_is_over_when_its_client_goes(bench: Bench) -> None:
    bench.fault("hang")
    with connected(bench.address) as connection:
        connection.send(bench.good)
    (call,) = bench.calls(1)
    assert (call["fault"], call["response"]["status"]) == ("hang", 0)


def test_a_hang_is_over_when_its_bench_is_closed(address: Address) -> None:
    made = request(b'{"name": "short", "from": "default"}', line="POST /_mock/benches HTTP/1.1", key=None)
    key = exchange(address, made.replace(b"mock.test", b"localhost")).json["api_key"]
    bench = Bench(address, "short", key)
    bench.fault("hang")
    with connected(address) as connection:
        connection.send(bench.good)
        bench.control("DELETE", "")
        assert connection.socket.recv(1) in (b"", b"H")  # closed, or refused if the bench went first


def test_slow_gate_holds_compose_back_and_not_retrieve(bench: Bench) -> None:
    rule = bench.rule(preset="slow-gate")
    assert exchange(bench.address, bench.good).json["stage_timings"] == {"recall": 0.0, "total": 0.0}
    with connected(bench.address) as connection:
        connection.send(request(COMPOSED, key=bench.key))
        connection.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.socket.recv(1, socket.MSG_PEEK)
        bench.control("DELETE", f"/faults/{rule}")
        connection.socket.settimeout(10)
        assert connection.reply().json["stage_timings"] == {"recall": 0.0, "gate": 5.0, "total": 5.0}


def test_a_delay_is_felt_by_a_client_that_closed_its_half(bench: Bench) -> None:
    bench.fault("delay", seconds=0.6)
    began = time.monotonic()
    with connected(bench.address) as connection:
        connection.send(bench.good)
        connection.say_no_more()
        assert connection.reply().status == 200
    assert time.monotonic() - began >= 0.6


def test_flaky_does_all_that_it_says_and_again_in_the_same_order(bench: Bench) -> None:
    def fates() -> list[tuple[int, int | None, bool]]:
        rule = bench.rule(preset="flaky", seed=3)
        seen: list[tuple[int, int | None, bool]] = []
        for _ in range(20):
            with connected(bench.address) as connection:
                connection.send(bench.good.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                head, rest, was_reset = head_and_rest(connection)
                seen.append((head.status, len(rest) if head.status == 200 else None, was_reset))
        bench.control("DELETE", f"/faults/{rule}")
        return seen

    whole = len(true_body(bench))
    first = fates()
    assert set(first) == {(200, whole, False), (200, 40, False), (500, None, False), (0, None, True)}
    assert fates() == first


def test_hanging_calls_of_one_bench_take_no_thread_from_another(bench: Bench, address: Address) -> None:
    bench.fault("hang")
    with ExitStack() as hanging:
        for _ in range(THREADS + 16):
            hanging.enter_context(connected(address)).send(bench.good)
        for _ in range(20):
            assert exchange(address, GOOD).status == 200
    assert len(bench.calls(THREADS + 16)) == THREADS + 16
    for _ in range(20):
        assert exchange(address, GOOD).status == 200


@pytest.mark.parametrize("fault", ["hang", "delay; seconds=60", "drip; bytes=1; interval=30"])
def test_a_server_that_is_told_to_stop_waits_for_no_fault(tmp_path: Path, fault: str) -> None:
    with (
        running("--fixtures", write(tmp_path), "--port", "0", "--fault-header") as server,
        connected(server.address) as connection,
        connected(server.address) as other,
    ):
        connection.send(request(ASK, f"X-Trigger-Mock-Fault: {fault}"))
        other.send(GOOD)
        assert other.reply().status == 200  # so the first call was taken up before
        began = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0
        assert time.monotonic() - began < 10
        _, rest, _ = head_and_rest(connection)
        assert rest.endswith(b"}") != (fault == "hang")


def test_a_server_that_is_told_to_stop_waits_for_no_call(tmp_path: Path) -> None:
    line = "GET /_mock/benches/default/calls/wait?count=9&timeout=60 HTTP/1.1"
    with (
        running("--fixtures", write(tmp_path), "--port", "0") as server,
        connected(server.address) as waiting,
        connected(server.address) as other,
    ):
        waiting.send(re.sub(rb"Host: [^\r]*", b"Host: localhost", request(b"", line=line, key=None)))
        other.send(GOOD)
        assert other.reply().status == 200  # so the first one was taken up before
        began = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0
        assert time.monotonic() - began < 10
        assert waiting.reply().json["satisfied"] is False


def test_a_header_does_nothing_on_a_server_that_was_not_asked_to_read_it(tmp_path: Path) -> None:
    with running("--fixtures", write(tmp_path), "--port", "0") as server:
        reply = exchange(server.address, request(ASK, "X-Trigger-Mock-Fault: down"))
    assert reply.status == 200
    assert PATH in server.example
