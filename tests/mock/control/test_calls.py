"""The journal over HTTP: every call is there, whatever it held, and whoever waits is told at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.conftest import KEY, PATH
from trigger_fixtures import default
from trigger_mock import Settings, create_app

CALLS = "/_mock/benches/default/calls"
ASK = {"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}


@pytest.fixture
def client() -> FlaskClient:
    return create_app(default(), settings=Settings()).test_client()


def calls(client: FlaskClient, query: str = "") -> Any:
    answer = client.get(CALLS + query)
    assert answer.status_code == 200, answer.text
    return answer.get_json()["calls"]


def test_a_call_is_told_with_what_it_fired_and_what_was_not_read(client: FlaskClient) -> None:
    body = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}
    client.post(PATH, json=body, headers=KEY)
    (call,) = calls(client)
    assert (call["number"], call["organisation"], call["key"]) == (1, "acme", "acme/0")
    assert (call["method"], call["path"]) == ("POST", PATH)
    assert call["request"]["body"] == body
    assert call["request"]["text"] is None
    assert (call["response"]["status"], call["response"]["body"]["data"]) == (200, [])
    assert call["fired"] == ["x"]
    assert call["hints"] == ["action.input is not part of the contract; did you mean action.args?"]
    assert "action.args would have fired tool_loop.py" in call["missed"][0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", call["time"])


def test_calls_that_no_bench_can_be_told_of_are_in_the_default_one(client: FlaskClient) -> None:
    client.post(PATH, json=ASK, headers={"x-api-key": "unknown"})
    client.post("/nowhere")
    client.get(PATH)
    client.post(PATH, data=b"x" * (2**20 + 1))
    assert [call["response"]["status"] for call in calls(client)] == [401, 404, 405, 413]
    assert [call["organisation"] for call in calls(client)] == [None] * 4
    explained = [client.get(f"{CALLS}/{number}/explanation") for number in (1, 2, 3, 4)]
    assert [answer.status_code for answer in explained] == [409] * 4
    assert "refused with 404 before its body was looked at" in explained[1].text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=422", [2]),
        ("mode=retrieve", [1]),
        ("entity=Edit", [3]),
        ("tool=Edit", [3]),
        ("user_id=user-123", [1, 3]),
        ("agent_id=bot", [3]),
        ("recalled=true", [1]),
        ("recalled=false&status=200", [3, 4]),
        ("organisation=globex", [4]),
        ("request_id=mine", [4]),
        ("method=GET", []),
        ("fault=reset", []),
        ("after=2&limit=9", [3, 4]),
        ("after=1&limit=1", [2]),
    ],
)
def test_filters_choose_calls(client: FlaskClient, query: str, expected: list[int]) -> None:
    client.post(PATH, json=ASK, headers=KEY)
    client.post(PATH, json=[], headers=KEY)
    action = {"user_id": "user-123", "agent_id": "bot", "action": {"tool": "Edit"}}
    client.post(PATH, json=action, headers=KEY)
    headers = {"x-api-key": "xtk_demo_globex", "X-Request-Id": "mine"}
    client.post(PATH, json={"user_id": "u", "entities": ["e"]}, headers=headers)
    assert [call["number"] for call in calls(client, f"?{query}")] == expected
    if "limit" not in query:
        assert client.get(f"{CALLS}/count?{query}").get_json() == {"count": len(expected)}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("colour=red", "colour: "),
        ("status=ok", "status: input should be a valid integer, seen 'ok'"),
        ("status=99", "greater than or equal to 100"),
        ("recalled=yes", "recalled: input should be a valid boolean"),
        ("limit=-1", "limit: input should be greater than or equal to 0"),
        ("status=200&status=201", "status is given 2 times; expected once"),
        ("status=" + "9" * 5000, "status: input should be a valid integer"),
    ],
)
def test_a_filter_that_is_none_is_refused_with_what_would_be_right(
    client: FlaskClient, query: str, said: str
) -> None:
    answer = client.get(f"{CALLS}?{query}")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (422, "invalid_request")
    assert said in answer.get_json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b'{"user_id": NaN}',
        b'{"user_id": "\\ud800", "entities": ["\\udfff"]}',
        b'{"user_id": "u", "entities": ["e"], "n": ' + b"9" * 5000 + b"}",
        b'{"user_id": "u", "action": {"args": {"n": [1e999, -0, 1.50]}}}',
        b'{"x": 1, "x": 2}',
        b"[" * 900 + b"]" * 900,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        json.dumps({"user_id": "u", "entities": ["x" * 1_000_000]}).encode(),
        '{"user_id": "é", "entities": ["☃"]}'.encode("utf-16"),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_whatever_a_body_holds_it_is_told_of_and_explained(client: FlaskClient, body: bytes) -> None:
    sent = client.post(PATH, data=body, headers=KEY, content_type="application/json")
    (call,) = calls(client)
    assert call["response"]["status"] == sent.status_code
    assert call["request"]["bytes"] == len(body)
    told = client.get(f"{CALLS}/1/explanation")
    assert told.status_code == 200
    assert told.get_json()["status"] == sent.status_code
    posted = client.post("/_mock/benches/default/explain", data=body, content_type="application/json")
    assert posted.status_code == 200


def test_json_is_shown_to_the_letter(client: FlaskClient) -> None:
    body = b'{"n": 123456789012345678901234567890, "f": 1.50, "z": -0}'
    client.post(PATH, data=body, headers=KEY, content_type="application/json")
    assert body in client.get(CALLS).data


def test_no_key_is_shown_wherever_a_client_put_it(client: FlaskClient) -> None:
    key = KEY["x-api-key"]
    made = client.post("/_mock/benches", json={}).get_json()["api_key"]
    for secret in (key, made, key.upper(), key.encode().hex(), "".join(f"\\u{ord(c):04x}" for c in key)):
        body = f'{{"user_id": "{secret}", "action": {{"args": {{"at": "/srv/{secret}"}}}}}}'
        client.post(
            f"/{secret}", data=body, content_type="application/json",
            headers={**KEY, "X-Request-Id": secret, "Cookie": f"k={secret}", "X-Else": f"a {secret} b"},
        )  # fmt: skip
        client.post(PATH, data=body, headers=KEY, content_type="application/json")
    shown = client.get(CALLS).text + "".join(
        client.get(f"{CALLS}/{number}/explanation").text for number in range(1, 11)
    )
    for secret in (key, made):
        for form in (secret, secret.encode().hex(), "".join(f"\\u{ord(c):04x}" for c in secret)):
            assert form.lower() not in shown.lower()
    assert shown.count("[redacted]") > 20


def test_credentials_are_not_among_the_headers(client: FlaskClient) -> None:
    client.post(PATH, json=ASK, headers={"Authorization": "Bearer xtk_demo_acme", "X-Kept": "yes"})
    (call,) = calls(client)
    assert call["headers"]["x-kept"] == "yes"
    assert not {"authorization", "x-api-key", "cookie"} & call["headers"].keys()


def test_waiting_ends_with_the_call_that_was_waited_for(client: FlaskClient) -> None:
    entered = Event()
    answers: list[Any] = []

    @contextmanager
    def borrowed() -> Iterator[None]:
        entered.set()
        yield

    def wait() -> None:
        url = f"{CALLS}/wait?count=2&timeout=50&status=200"
        answers.append(
            client.application.test_client().get(url, environ_overrides={"trigger_mock.borrow": borrowed})
        )

    waiter = Thread(target=wait)
    waiter.start()
    assert entered.wait(20)
    bodies: tuple[object, ...] = (ASK, [], ASK)
    for body in bodies:
        client.post(PATH, json=body, headers=KEY)
    waiter.join(20)
    told = answers[0].get_json()
    assert told["satisfied"]
    assert told["matching"] == 2
    assert [call["number"] for call in told["calls"]] == [1, 3]


def test_waiting_in_vain_says_what_came(client: FlaskClient) -> None:
    client.post(PATH, json=ASK, headers=KEY)
    told = client.get(f"{CALLS}/wait?count=2&timeout=0").get_json()
    assert (told["satisfied"], told["matching"]) == (False, 1)


def test_cleared_calls_are_gone_and_numbers_go_on(client: FlaskClient) -> None:
    client.post(PATH, json=ASK, headers=KEY)
    assert client.delete(CALLS).status_code == 204
    client.post(PATH, json=ASK, headers=KEY)
    told = client.get(CALLS).get_json()
    assert ([call["number"] for call in told["calls"]], told["recorded"]) == ([2], 2)
    assert client.get(f"{CALLS}/1").status_code == 404
    assert client.get(f"{CALLS}/2").get_json()["number"] == 2


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 5000, "1.0", "²"])
def test_a_number_of_no_call_is_not_found(client: FlaskClient, number: str) -> None:
    assert client.get(f"{CALLS}/{number}").status_code == 404


def test_explaining_asks_for_the_organisation_named(client: FlaskClient) -> None:
    url = "/_mock/benches/default/explain"
    assert client.post(url, json=ASK).get_json()["organisation"] == "acme"
    assert client.post(f"{url}?organisation=globex", json=ASK).get_json()["organisation"] == "globex"
    assert client.post(f"{url}?organisation=nobody", json=ASK).status_code == 404
