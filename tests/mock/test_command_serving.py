"""The command at work: options and variables, signals, several workers, and what it does not import."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from tests.mock.processes import KEY, Running, run_code, running, write
from tests.mock.raw import PATH, Reply, connected, exchange, request
from tests.mock.redis_server import redis_server
from trigger_fixtures import load
from trigger_mock import Settings, create_app

BODY = json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}).encode()
COMPOSE = json.dumps(
    {"user_id": "user-123", "entities": ["FIN-409", "tool_loop.py"], "task": "refund"}
).encode()
GOOD = request(BODY)


def ask(up: Running, sent: bytes = GOOD) -> Reply:
    return exchange(up.address, sent)


OPTIONS: dict[str, tuple[str, Callable[[Running], bool]]] = {
    "rate-limit": ("7/minute", lambda up: ask(up).header("RateLimit-Limit") == "7"),
    "daily-cap": ("5", lambda up: ask(up).header("RateLimit-Limit") == "5"),
    "body-limit": ("10", lambda up: ask(up).status == 413),
    "latency": (
        "20ms",
        lambda up: 0.02 in ask(up).json["stage_timings"].values(),
    ),
    "log-level": ("error", lambda up: ask(up, request(BODY, key="x")).status == 401 and up.log == ""),
    "server": ("granian", lambda up: ask(up).status == 200),
    "host": ("localhost", lambda up: ask(up).status == 200),
}


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("name", OPTIONS)
def test_options_and_their_variables_take_effect(tmp_path: Path, name: str, how: str) -> None:
    value, held = OPTIONS[name]
    arguments = ["--port", "0", "--fixtures", write(tmp_path)]
    variables: dict[str, str] = {}
    if how == "option":
        arguments += [f"--{name}", value]
    else:
        variables[f"TRIGGER_MOCK_{name.upper().replace('-', '_')}"] = value
    with running(*arguments, variables=variables) as up:
        assert held(up)


@pytest.mark.parametrize("how", [["--allow-token-scheme"], []], ids=["option", "variable"])
def test_the_token_scheme_is_allowed_on_demand(tmp_path: Path, how: list[str]) -> None:
    variables = {} if how else {"TRIGGER_MOCK_ALLOW_TOKEN_SCHEME": "1"}
    with running("--port", "0", "--fixtures", write(tmp_path), *how, variables=variables) as up:
        assert ask(up, request(BODY, f"Authorization: Token {KEY}", key=None)).status == 200


def test_several_fixtures_come_from_one_variable(tmp_path: Path) -> None:
    extra = "memories: [{organisation: north, type: lesson, text: t, user_id: u2, trigger_entities: [x2]}]"
    paths = os.pathsep.join([write(tmp_path), write(tmp_path, extra, "extra.yaml")])
    with running("--port", "0", variables={"TRIGGER_MOCK_FIXTURES": paths}) as up:
        assert len(ask(up, request(b'{"user_id": "u2", "entities": ["x2"]}')).json["data"]) == 1
        assert len(ask(up).json["data"]) == 1


def test_keys_and_values_never_reach_the_log(tmp_path: Path) -> None:
    with running("--port", "0", "--fixtures", write(tmp_path), "--log-level", "debug") as up:
        for sent in (
            GOOD,
            request(BODY, key="xtk_unknown"),
            request(BODY, f"Authorization: Bearer {KEY}x"),
            request(BODY, f"Authorization: Token {KEY}", key=None),
            request(b'{"user_id": "u", "entities": ["e"], "x-api-key": "xtk_in_body"}'),
            request(b"{" + KEY.encode()),
        ):
            ask(up, sent)
        assert "401 unauthorized" in up.log
        assert "xtk_" not in up.log


@pytest.mark.parametrize("server", ["waitress", "granian"])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_lets_the_replies_in_flight_out(tmp_path: Path, server: str, sent: signal.Signals) -> None:
    """A terminal signals the whole group, and a wrapper passes it on: one key press comes twice."""
    options = ("--port", "0", "--fixtures", write(tmp_path), "--server", server, "--latency", "2s")
    with running(*options) as up, contextlib.ExitStack() as clients:
        waiting = [clients.enter_context(connected(up.address)) for _ in range(4)]
        idle = clients.enter_context(connected(up.address))
        unfinished = clients.enter_context(connected(up.address))
        unfinished.send(GOOD[:-5])
        for client in waiting:
            client.send(GOOD)
        time.sleep(0.5)  # nobody but the server knows that it has read them
        os.killpg(up.process.pid, sent)
        up.process.send_signal(sent)
        replies = [client.reply() for client in waiting]
        with pytest.raises((OSError, AssertionError)):
            ask(up)
        assert [reply.status for reply in replies] == [200] * 4
        assert [reply.header("Connection") for reply in replies] == ["close"] * 4
        assert idle.ended()
        assert up.process.wait(20) == 0
        assert "Traceback" not in up.log


@pytest.mark.parametrize("server", ["waitress", "granian"])
def test_idle_connections_do_not_delay_the_exit(tmp_path: Path, server: str) -> None:
    with (
        running("--port", "0", "--fixtures", write(tmp_path), "--server", server) as up,
        connected(up.address) as idle,
    ):
        idle.send(GOOD)
        assert idle.reply().status == 200
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(10) == 0
        assert idle.ended()


def test_a_second_wish_to_stop_is_granted_at_once(tmp_path: Path) -> None:
    options = ("--port", "0", "--fixtures", write(tmp_path), "--latency", "60s")
    with running(*options) as up, connected(up.address) as waiting:
        waiting.send(GOOD)
        time.sleep(0.3)
        up.process.send_signal(signal.SIGINT)
        time.sleep(1.2)  # sooner, it would be taken for the same wish
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(10) == 0


def test_workers_and_restarts_give_one_body_for_one_request(tmp_path: Path) -> None:
    path = write(tmp_path)
    bodies: set[bytes] = set()
    for _start in range(2):
        with running("--port", "0", "--fixtures", path, "--workers", "2", "--rate-limit", "none") as up:
            bodies |= {ask(up, request(COMPOSE)).body for _ in range(100)}
            assert up.stop() == 0
    assert len(bodies) == 1
    assert len(json.loads(bodies.pop())["data"]) >= 1


def test_workers_share_a_limit_through_redis(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        options = ("--workers", "2", "--storage", redis.uri, "--rate-limit", "10/hour")
        with running("--port", "0", "--fixtures", write(tmp_path), *options) as up:
            statuses = [ask(up).status for _ in range(20)]
    assert (statuses.count(200), statuses.count(429)) == (10, 10)


def test_flask_runs_it_with_the_same_variables(tmp_path: Path) -> None:
    variables = {"TRIGGER_MOCK_FIXTURES": write(tmp_path), "TRIGGER_MOCK_DAILY_CAP": "9"}
    code = (
        "from flask.cli import ScriptInfo; app = ScriptInfo('trigger_mock').load_app();"
        f"answer = app.test_client().post('{PATH}', data={BODY!r}, content_type='application/json',"
        f" headers={{'x-api-key': '{KEY}'}});"
        "print(answer.status_code, answer.headers['RateLimit-Limit'], len(answer.json['data']))"
    )
    ended = run_code(code, **variables)
    assert (ended.stdout, ended.stderr) == ("200 9 1\n", "")


def test_starting_imports_nothing_that_the_base_install_does_not_use() -> None:
    code = (
        "import sys, trigger_mock.command, trigger_mock.server; trigger_mock.create_app();"
        "unused = {'schemathesis', 'locust', 'gevent', 'jsonschema', 'jsonschema_rs', 'hypothesis',"
        " 'granian', 'redis', 'limits', 'requests', 'rich', 'pytest', 'trigger_mock.fault_kinds',"
        " 'trigger_mock.matching', 'trigger_mock.control.app'};"
        "print(sorted(unused & sys.modules.keys()))"
    )
    ended = run_code(code)
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize(("mode", "expected"), [("retrieve", 1.0), ("compose", 1.7)])
def test_realistic_latency_has_the_medians_of_the_service_and_a_tail(
    tmp_path: Path, mode: str, expected: float
) -> None:
    slept: list[float] = []
    app = create_app(
        load(write(tmp_path)), settings=Settings(latency="realistic"), sleep=slept.append, clock=lambda: 0.0
    )
    client = app.test_client()
    answers = [
        client.post(
            PATH, json={"user_id": f"u{n}", "entities": ["x"], "mode": mode}, headers={"x-api-key": KEY}
        )
        for n in range(800)
    ]
    assert all(answer.status_code == 200 for answer in answers)
    assert median(slept) == pytest.approx(expected, rel=0.1)
    assert sorted(slept)[-8] > 2.5 * expected
    assert max(slept) <= 30


def test_latency_is_the_same_for_the_same_request_and_another_for_another_seed(tmp_path: Path) -> None:
    slept: list[float] = []
    for seed in (1, 1, 2):
        settings = Settings(latency="realistic", seed=seed)
        client = create_app(load(write(tmp_path)), settings=settings, sleep=slept.append).test_client()
        headers = {"x-api-key": KEY, "Content-Type": "application/json"}
        answers = [client.post(PATH, data=BODY, headers=headers) for _ in range(2)]
        assert answers[0].data == answers[1].data
    assert slept[0] == slept[1] == slept[2] == slept[3]
    assert slept[4] == slept[5] != slept[0]
