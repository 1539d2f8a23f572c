"""The reference over real HTTP: it starts at once, answers as the contract says, and never fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.servers.behaviour import Rate
from tests.servers.serving import Served, serving
from tests.servers.variants import BENIGN, VARIANTS

ASK: dict[str, Any] = {"entities": ["ledger_sync.py"], "user_id": "mira-81", "mode": "retrieve"}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


def post(server: Served, body: Any = ASK, **how: Any) -> requests.Response:
    data = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"x-api-key": server.key, "Content-Type": "application/json", **how.pop("headers", {})}
    return requests.post(server.endpoint, data=data, headers=headers, timeout=10, **how)


def test_a_probed_row_comes_back_for_its_entity(server: Served) -> None:
    probe = server.probes["probes"][0]
    entities = probe["trigger_entities"][:1]
    body = {"entities": entities, "mode": "retrieve", "user_id": probe["user_id"]}
    assert probe["id"] in {row["id"] for row in post(server, body).json()["data"]}


def test_probes_are_of_both_types_and_every_axis(server: Served) -> None:
    probes = server.probes["probes"]
    assert {probe["type"] for probe in probes} == {"lesson", "procedure"}
    assert {"user_id", "agent_id", "app_id", "group_ids"} <= {field for probe in probes for field in probe}


def test_the_probe_file_holds_the_probes(server: Served, tmp_path: Path) -> None:
    assert json.loads(server.write_probes(tmp_path).read_text(encoding="utf-8")) == server.probes


def test_the_neighbour_sees_none_of_the_rows(server: Served) -> None:
    own, others = (
        {row["id"] for row in post(server, headers={"x-api-key": key}).json()["data"]}
        for key in (server.key, server.other_key)
    )
    assert own
    assert others
    assert not own & others


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000 + b"]" * 100_000, 422),
        (b'{"user_id":"\\ud800","entities":["x"]}', 200),
        (b'{"user_id":"u","action":{"args":{"a":"\\ud800"}}}', 200),
        (b'{"user_id":"u","entities":["x"],"mode":NaN}', 422),
        (b'{"user_id":' + b"[" * 900 + b"]" * 900 + b"}", 422),
        (b'{"user_id":"u","action":{"args":{"a":' + b"9" * 5000 + b"}}}", 422),
        (b'{"user_id":"u","action":{"args":' + b'{"a":' * 800 + b"1" + b"}" * 800 + b"}}", 200),
        (b"\xff\xfe\x00", 422),
        (b"", 422),
        (b"null", 422),
        (b"x" * (2 << 20), 413),
        (json.dumps({**ASK, "task": "😀" * 2000}).encode(), 200),
        (json.dumps({**ASK, "entities": ["\0", "", "x" * 100_000]}).encode(), 200),
    ],
    ids=lambda value: None if isinstance(value, int) else ascii(value[:24]),
)
def test_no_body_is_too_odd(server: Served, body: bytes, status: int) -> None:
    answer = post(server, body)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    json.loads(answer.content.decode("utf-8"), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "undefined", "/", ""]
)
def test_only_json_is_read(server: Served, media_type: str) -> None:
    assert post(server, headers={"Content-Type": media_type}).status_code == 422


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
def test_only_post_is_served(server: Served, method: str) -> None:
    answer = requests.request(
        method, server.endpoint, json=ASK, headers={"x-api-key": server.key}, timeout=10
    )
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert set(answer.json()["detail"]) == {"code", "message"}


def test_another_path_is_not_found_and_never_redirected(server: Served) -> None:
    answer = requests.post(server.endpoint + "/", json=ASK, allow_redirects=False, timeout=10)
    assert answer.status_code == 404


def test_a_sane_request_id_is_echoed(server: Served) -> None:
    assert post(server, headers={"X-Request-Id": "run-7"}).headers["X-Request-Id"] == "run-7"


def test_one_connection_serves_a_refusal_and_then_an_answer(server: Served) -> None:
    with requests.Session() as session:
        refused = session.post(server.endpoint, data=b"x" * 70_000, headers={"x-api-key": "no"}, timeout=10)
        answered = session.post(server.endpoint, json=ASK, headers={"x-api-key": server.key}, timeout=10)
    assert (refused.status_code, answered.status_code) == (401, 200)


def test_the_limit_is_said_and_kept() -> None:
    with serving(rate_limit=Rate(3, 60)) as server:
        statuses = [post(server).status_code for _ in range(4)]
        over, other = post(server), post(server, headers={"x-api-key": server.other_key})
    assert statuses == [200, 200, 200, 429]
    assert over.json()["detail"]["code"] == "rate_limited"
    assert 1 <= int(over.headers["Retry-After"]) <= 60
    assert other.status_code == 200


@pytest.mark.parametrize("name", sorted(BENIGN))
def test_an_unusual_server_speaks_http(name: str) -> None:
    with serving(name) as server, requests.Session() as session:
        for _ in range(2):
            answer = session.post(server.endpoint, json=ASK, headers={"x-api-key": server.key}, timeout=10)
            assert answer.status_code == 200
            assert answer.json()["mode"] == "retrieve"


@pytest.mark.parametrize("name", ["malformed-cut", "surrogate-cut"])
def test_a_cut_is_seen_as_a_lost_connection(name: str) -> None:
    with serving(name) as server:
        with pytest.raises(requests.ConnectionError):
            post(server, b'{"user_id": "u", "entities": ["\\ud800"]}' if name == "surrogate-cut" else b"{")
        assert post(server).status_code == 200


def test_a_second_retry_after_is_a_second_header() -> None:
    with serving("429-retry-after-twice") as server:
        over = [post(server) for _ in range(server.behaviour.rate.amount + 1)][-1]
    assert over.status_code == 429
    assert "," in over.headers["Retry-After"]


def test_the_command_says_where_it_listens() -> None:
    command = [sys.executable, "-m", "tests.servers.reference", "--port", "0", "--variant", "auth-off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url = line.removeprefix("listening on ").strip()
            answer = requests.post(f"{url}/v1/memories/trigger", json=ASK, timeout=10)
        finally:
            process.terminate()
    assert line.startswith("listening on http://127.0.0.1:")
    assert answer.status_code == 200


def test_the_command_lists_every_variant() -> None:
    command = [sys.executable, "-m", "tests.servers.reference", "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [*BENIGN, *VARIANTS]
