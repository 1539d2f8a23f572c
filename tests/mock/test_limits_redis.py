"""Limits that several servers share, on a real Redis."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask

from tests.mock.raw import PATH
from tests.mock.redis_server import RedisServer, redis_server
from trigger_fixtures import ApiKey, Corpus, Organisation, Rate
from trigger_mock import Settings, create_app
from trigger_mock.limits import RedisCounters, counters

ASK = {"user_id": "u", "entities": ["x"]}
HEADERS = {"x-api-key": "shared"}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


def application(redis: RedisServer, rate: Rate) -> Flask:
    keys = (ApiKey(key="shared", rate_limit=rate),)
    corpus = Corpus(organisations={"north": Organisation(name="north", keys=keys)}, rows=(), sources=())
    return create_app(corpus, settings=Settings(storage=redis.uri))


def test_two_servers_share_one_limit_exactly(redis: RedisServer) -> None:
    apps = [application(redis, Rate(30, 60)), application(redis, Rate(30, 60))]

    def ask(number: int) -> tuple[int, int]:
        answer = apps[number % 2].test_client().post(PATH, json=ASK, headers=HEADERS)
        return answer.status_code, int(answer.headers["RateLimit-Remaining"])

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(ask, range(80)))
    assert sorted(remaining for status, remaining in outcomes if status == 200) == list(range(30))
    assert [outcome for outcome in outcomes if outcome[0] != 200] == [(429, 0)] * 50


def test_whoever_waits_as_long_as_told_gets_through(redis: RedisServer) -> None:
    client = application(redis, Rate(1, 1)).test_client()
    refused = [client.post(PATH, json=ASK, headers=HEADERS) for _ in range(2)][1]
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    time.sleep(
        int(refused.headers["Retry-After"])
    )  # Redis keeps its own time, and nobody can tell it another.
    assert client.post(PATH, json=ASK, headers=HEADERS).status_code == 200


def test_a_window_says_when_it_closes(redis: RedisServer) -> None:
    storage = RedisCounters(redis.uri)
    assert storage.peek("w") == (0, 0)
    assert storage.count("w", 100) == (1, 100)
    assert storage.count("w", 100) == (2, 100)
    assert storage.peek("w") == (2, 100)


def test_a_redis_that_dies_is_a_fault_of_ours_and_told_as_one(redis: RedisServer) -> None:
    client = application(redis, Rate(30, 60)).test_client()
    assert client.post(PATH, json=ASK, headers=HEADERS).status_code == 200
    redis.kill()
    answer = client.post(PATH, json=ASK, headers=HEADERS)
    assert answer.status_code == 500
    assert answer.json == {
        "detail": {"code": "trigger_failed", "message": "The request could not be processed."}
    }


def test_a_redis_that_hangs_does_not_hang_the_server(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigger_mock.limits.REDIS_PATIENCE", 0.1)
    client = application(redis, Rate(30, 60)).test_client()
    os.kill(redis.process.pid, signal.SIGSTOP)
    try:
        assert client.post(PATH, json=ASK, headers=HEADERS).status_code == 500
    finally:
        os.kill(redis.process.pid, signal.SIGCONT)
    assert client.post(PATH, json=ASK, headers=HEADERS).status_code == 200


def test_a_key_never_goes_to_redis(redis: RedisServer) -> None:
    application(redis, Rate(30, 60)).test_client().post(PATH, json=ASK, headers=HEADERS)
    names = RedisCounters(redis.uri)._redis.keys("*")
    assert names == [b"trigger-mock:rate/60/north/0"]


@pytest.mark.parametrize(
    ("uri", "kind", "said"),
    [
        ("redis://:secret@127.0.0.1:1/0", ConnectionError, "no Redis answers at redis://127.0.0.1:1/0"),
        ("redis://127.0.0.1:1/0?password=secret", ConnectionError, "no Redis answers at redis://127.0.0.1:1/0"),
        ("redis://:se/secret@127.0.0.1:1", ValueError, "'redis://127.0.0.1:1' is no address of a Redis"),
        ("mysql://u:secret@h", ValueError, "'mysql://h' is no place to count; expected memory:// or redis://"),
        ("", ValueError, "'' is no place to count"),
    ],
)  # fmt: skip
def test_a_place_that_cannot_count_is_named_without_its_password(
    uri: str, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as raised:
        counters(uri)
    assert str(raised.value).startswith(said)
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
