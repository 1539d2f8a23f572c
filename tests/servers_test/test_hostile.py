"""Each hostile target does what its name says, and ends when it is told."""

from __future__ import annotations

import pytest
import requests

from tests.servers.hostile import CONTROLS, hostile, nothing_listens

KEY = "xk_secret-Value-31"


def post(url: str, timeout: float = 5) -> requests.Response:
    return requests.post(
        f"{url}/v1/memories/trigger",
        json={"user_id": "u", "entities": ["x"]},
        headers={"x-api-key": KEY},
        timeout=timeout,
        allow_redirects=False,
    )


@pytest.mark.parametrize("kind", ["reset", "close", "garbage"])
def test_the_connection_is_lost(kind: str) -> None:
    with hostile(kind) as url, pytest.raises(requests.ConnectionError):
        post(url)


@pytest.mark.parametrize("kind", ["hang", "stalled-body"])
def test_nothing_comes_for_as_long_as_one_waits(kind: str) -> None:
    with hostile(kind) as url, pytest.raises((requests.Timeout, requests.ConnectionError)):
        post(url, timeout=0.2)


def test_a_body_is_cut_short() -> None:
    with hostile("cut") as url, pytest.raises(requests.exceptions.ChunkedEncodingError):
        post(url)


def test_a_closed_port_refuses() -> None:
    with nothing_listens() as url, pytest.raises(requests.ConnectionError):
        post(url)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("no-json", 200),
        ("html-200", 200),
        ("200-to-everything", 200),
        ("redirect", 307),
        ("401-to-everything", 401),
        ("edge-403", 403),
        ("not-found", 404),
        ("429-to-everything", 429),
        ("controls-500", 500),
        ("binary-500", 500),
        ("500-to-everything", 500),
        ("bad-gateway", 502),
    ],
)
def test_the_same_comes_to_everything(kind: str, status: int) -> None:
    with hostile(kind) as url:
        assert [post(url).status_code for _ in range(3)] == [status] * 3


def test_control_characters_reach_the_client() -> None:
    with hostile("controls-500") as url:
        assert post(url).content.decode("utf-8") == CONTROLS


def test_the_key_comes_back_in_body_and_header() -> None:
    with hostile("echoes-key") as url:
        answer = post(url)
    assert KEY in answer.json()["detail"]["message"]
    assert KEY not in answer.text.partition('"again"')[2]
    assert answer.json()["again"] == KEY
    assert answer.headers["X-Debug-Key"] == KEY


def test_it_dies_midway() -> None:
    with hostile("dies-midway") as url:
        statuses = [post(url).status_code for _ in range(40)]
        with pytest.raises(requests.ConnectionError):
            post(url)
    assert set(statuses) == {200}


def test_it_hangs_midway() -> None:
    with hostile("hangs-midway") as url:
        statuses = [post(url).status_code for _ in range(40)]
        with pytest.raises(requests.Timeout):
            post(url, timeout=0.2)
    assert set(statuses) == {200}
