"""Benches over HTTP: worlds of their own, each with what it needs to be told once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.conftest import KEY, PATH
from tests.mock.redis_server import redis_server
from trigger_fixtures import Rate, default
from trigger_mock import Settings, create_app
from trigger_mock.limits import Overrides

ASK = {"user_id": "user-123", "entities": ["tool_loop.py"]}
FIXTURES = {
    "organisations": {
        "north": {"keys": [{"key": "k_north_1", "rate_limit": "2/hour"}]},
        "south": {"keys": ["k"]},
    },
    "memories": [
        {"organisation": "north", "type": "lesson", "text": "T", "user_id": "u", "trigger_entities": ["e"]}
    ],
}  # fmt: skip


@dataclass
class Time:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(time: Time) -> FlaskClient:
    return create_app(default(), settings=Settings(), clock=time).test_client()


def made(client: FlaskClient, **wanted: Any) -> Any:
    answer = client.post("/_mock/benches", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def ask(client: FlaskClient, key: str, body: object = ASK) -> Any:
    return client.post(PATH, json=body, headers={"x-api-key": key})


def test_a_bench_has_one_organisation_and_no_rows_unless_told(client: FlaskClient) -> None:
    bench = made(client, name="mine")
    assert bench["organisations"] == [{"name": "mine", "api_keys": [bench["api_key"]]}]
    assert (bench["url"], bench["expires_after"]) == ("/_mock/benches/mine", 600)
    assert ask(client, bench["api_key"]).get_json()["data"] == []
    shown = client.get(bench["url"])
    assert shown.get_json()["memories"] == 0
    assert bench["api_key"] not in shown.text + client.get("/_mock/benches").text


def test_a_bench_without_a_name_has_a_name_of_its_own(client: FlaskClient) -> None:
    first, second = (made(client) for _ in range(2))
    assert first["name"] != second["name"]
    assert first["api_key"] != second["api_key"]


def test_a_bench_may_begin_with_what_the_server_began_with(client: FlaskClient) -> None:
    bench = made(client, **{"from": "default"})
    own = ask(client, bench["api_key"]).get_json()["data"]
    assert own
    assert own == ask(client, KEY["x-api-key"]).get_json()["data"]


def test_fixtures_of_a_bench_keep_their_limits_and_get_new_keys(client: FlaskClient) -> None:
    bench = made(client, fixtures=FIXTURES)
    assert [each["name"] for each in bench["organisations"]] == ["north", "south"]
    body = {"user_id": "u", "entities": ["e"]}
    statuses = [ask(client, bench["api_key"], body).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert ask(client, "k_north_1", body).status_code == 401
    twin = made(client, fixtures=FIXTURES)
    assert ask(client, twin["api_key"], body).get_json()["data"][0]["text"] == "T"


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"nam": "x"}, 422, "nam: "),
        ({"name": "a/b"}, 422, "name:"),
        ({"name": ""}, 422, "name:"),
        ({"name": "x" * 65}, 422, "name:"),
        ({"name": ".."}, 422, "name:"),
        ({"name": "a\n"}, 422, "name:"),
        ({"name": "default"}, 409, "is there already"),
        ({"from": "nothing"}, 422, "from: input should be 'empty' or 'default', seen 'nothing'"),
        ({"expires_after": 0}, 422, "expires_after: input should be greater than or equal to 1"),
        ({"expires_after": "10"}, 422, "expires_after: input should be a valid number"),
        ({"journal": -1}, 422, "journal:"),
        ({"journal": True}, 422, "journal: input should be a valid integer"),
        ({"fixtures": {}}, 409, "expected an organisation with an API key"),
        ({"fixtures": {"memories": [1]}}, 422, "memories[0]: seen 1; expected a memory"),
        ({"fixtures": FIXTURES, "from": "default"}, 409, "expected one of them"),
        ([], 422, "the body: input should be an object"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused_with_what_would_be_right(
    client: FlaskClient, wanted: object, status: int, said: str
) -> None:
    answer = client.post("/_mock/benches", json=wanted)
    assert answer.status_code == status
    assert said in answer.get_json()["error"]["message"]
    assert len(client.get("/_mock/benches").get_json()["benches"]) == 1


def test_a_whole_number_is_whole_however_json_writes_it(client: FlaskClient) -> None:
    bench = made(client, journal=2.0)
    for _ in range(3):
        ask(client, bench["api_key"])
    assert client.get(f"{bench['url']}/calls").get_json()["kept"] == 2
    assert client.post("/_mock/benches", json={"journal": 2.5}).status_code == 422


def test_mistakes_in_fixtures_never_repeat_a_key(client: FlaskClient) -> None:
    answer = client.post(
        "/_mock/benches", json={"fixtures": {"organisations": {"north": {"keys": ["k_secret 1", 5]}}}}
    )
    assert answer.status_code == 422
    assert "secret" not in answer.text


def test_the_body_of_a_form_is_refused(client: FlaskClient) -> None:
    answer = client.post("/_mock/benches", data='{"name": "x"}', content_type="text/plain")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (415, "unsupported_media_type")


def test_a_bench_goes_when_nobody_uses_it_and_stays_while_somebody_does(
    client: FlaskClient, time: Time
) -> None:
    bench = made(client, expires_after=10)
    for _ in range(3):
        time.seconds += 9
        assert ask(client, bench["api_key"]).status_code == 200
    time.seconds += 9
    client.get("/_mock/benches")  # to be listed is no use
    time.seconds += 2
    assert ask(client, bench["api_key"]).status_code == 401
    assert client.get(bench["url"]).status_code == 404


def test_a_bench_that_was_ended_is_gone_and_the_default_one_stays(client: FlaskClient) -> None:
    bench = made(client)
    assert client.delete(bench["url"]).status_code == 204
    assert ask(client, bench["api_key"]).status_code == 401
    assert client.delete(bench["url"]).status_code == 404
    assert client.delete("/_mock/benches/default").status_code == 409


def test_resetting_a_bench_touches_nothing_else(client: FlaskClient, time: Time) -> None:
    benches = [made(client, name=name, fixtures=FIXTURES) for name in ("one", "two")]
    body = {"user_id": "u", "entities": ["e"]}
    for bench in benches:
        for _ in range(3):
            ask(client, bench["api_key"], body)
        client.put(f"{bench['url']}/clock", json={"frozen": True})
        client.post(f"{bench['url']}/clock/advance", json={"seconds": 100})
    before = client.get("/_mock/benches/two/clock").get_json()
    assert client.post("/_mock/benches/one/reset").status_code == 204
    assert client.get("/_mock/benches/one/clock").get_json()["frozen"] is False
    assert client.get("/_mock/benches/two/clock").get_json() == before
    assert client.get("/_mock/benches/one/calls/count").get_json() == {"count": 0}
    assert client.get("/_mock/benches/two/calls/count").get_json() == {"count": 3}
    statuses = [ask(client, bench["api_key"], body).status_code for bench in benches]
    assert statuses == [200, 429]


def test_benches_are_apart_under_threads(client: FlaskClient) -> None:
    benches = [made(client, fixtures=FIXTURES) for _ in range(8)]

    def use(bench: Any) -> tuple[list[int], int, int]:
        own = client.application.test_client()
        body = {"user_id": "u", "entities": ["e"]}
        statuses = [ask(own, bench["api_key"], body).status_code for _ in range(3)]
        own.post(f"{bench['url']}/clock/advance", json={"seconds": 3600})
        statuses.append(ask(own, bench["api_key"], body).status_code)
        count = own.get(f"{bench['url']}/calls/count").get_json()["count"]
        own.post(f"{bench['url']}/reset")
        return statuses, count, own.get(f"{bench['url']}/calls/count").get_json()["count"]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(use, benches)) == [([200, 200, 429, 200], 4, 0)] * 8


def test_what_redis_counted_for_the_default_bench_is_forgotten_too(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        settings = Settings(storage=redis.uri, limits=Overrides(Rate(1, 3600), None))
        client = create_app(default(), settings=settings).test_client()
        key = KEY["x-api-key"]
        assert [ask(client, key).status_code for _ in range(2)] == [200, 429]
        assert client.post("/_mock/benches/default/reset").status_code == 204
        assert [ask(client, key).status_code for _ in range(2)] == [200, 429]


CLOCK = "/_mock/benches/default/clock"


def test_a_clock_stands_still_moves_on_and_never_goes_back(client: FlaskClient) -> None:
    client.put(CLOCK, json={"frozen": True, "now": "2031-01-01T00:00:00+01:00"})
    assert client.get(CLOCK).get_json() == {"frozen": True, "now": "2030-12-31T23:00:00.000Z"}
    assert client.post(f"{CLOCK}/advance", json={"seconds": 0.5}).get_json()["now"].endswith("00.500Z")
    back = client.put(CLOCK, json={"now": "2030-12-31T23:00:00Z"})
    assert client.get(CLOCK).get_json()["now"] == "2030-12-31T23:00:00.500Z"
    assert back.status_code == 200  # what it showed to the second is not its past
    past = client.put(CLOCK, json={"now": "2030-12-31T22:00:00Z"})
    assert past.status_code == 409
    assert "a clock moves forward" in past.text
    ask(client, KEY["x-api-key"])
    (call,) = client.get("/_mock/benches/default/calls").get_json()["calls"]
    assert call["time"] == "2030-12-31T23:00:00.500Z"


@pytest.mark.parametrize(
    "body",
    [{"now": "tomorrow"}, {"now": "2031-01-01T00:00:00"}, {"now": 5}, {"frozen": 1}, {"at": 1}],
    ids=str,
)
def test_a_clock_is_not_set_to_what_is_no_time(client: FlaskClient, body: object) -> None:
    assert client.put(CLOCK, json=body).status_code == 422


def test_a_clock_stops_where_dates_do(client: FlaskClient) -> None:
    steps = [client.post(f"{CLOCK}/advance", json={"seconds": 315_000_000}) for _ in range(820)]
    assert [step.status_code for step in steps[-2:]] == [409, 409]
    assert ask(client, KEY["x-api-key"]).status_code == 200
    (call,) = client.get("/_mock/benches/default/calls").get_json()["calls"]
    assert call["time"].startswith("99")
    assert client.post("/_mock/benches/default/reset").status_code == 204


@pytest.mark.parametrize("seconds", ["-1", "NaN", "1e999", '"1"', "null", "true"])
def test_a_clock_is_not_moved_by_what_is_no_step(client: FlaskClient, seconds: str) -> None:
    body = f'{{"seconds": {seconds}}}'
    answer = client.post(f"{CLOCK}/advance", data=body, content_type="application/json")
    assert answer.status_code == 422
