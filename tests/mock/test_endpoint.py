"""One call from end to end: credentials, envelopes, headers, both modes, and that equal requests give
equal bytes.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.conftest import KEY, PATH
from trigger_contracts.validation import response_violations
from trigger_fixtures import DIRECTIVES, Corpus, default
from trigger_mock import Settings, create_app

ASK = {"user_id": "user-123", "entities": ["tool_loop.py", "AbortError"]}
OTHER_METHODS = ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
ACME, GLOBEX = "xtk_demo_acme", "xtk_demo_globex"
UNAUTHORIZED = {
    "detail": {
        "code": "unauthorized",
        "message": "Missing or invalid API key. Send it as x-api-key or as Authorization: Bearer.",
    }
}


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": ACME},
        {"Authorization": f"Bearer {ACME}"},
        {"Authorization": f"bearer {ACME}"},
        {"Authorization": f"BEARER  {ACME}"},
        {"x-api-key": ACME, "Authorization": f"Bearer {ACME}"},
        {"x-api-key": ACME, "Authorization": "Basic dXNlcjpwYXNz"},
        {"x-api-key": ACME, "Authorization": "Token other"},
        {"x-api-key": ACME, "X-Org-Id": "globex"},
        {"X-API-Key": "xtk_demo_acme_slow"},
    ],
    ids=str,
)
def test_either_header_carries_the_key_and_the_key_alone_decides(
    client: FlaskClient, headers: dict[str, str]
) -> None:
    answer = client.post(PATH, json=ASK, headers=headers)
    assert answer.status_code == 200
    assert answer.data == client.post(PATH, json=ASK, headers=KEY).data


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": ""},
        {"x-api-key": "unknown"},
        {"x-api-key": ACME.upper()},
        {"x-api-key": ACME[:-1]},
        {"x-api-key": f"{ACME}x"},
        {"x-api-key": f"Bearer {ACME}"},
        {"Authorization": ACME},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {ACME}"},
        {"Authorization": f"Token {ACME}"},
        {"Authorization": f"Bearer {ACME}x"},
        {"Authorization": f"Bearer{ACME}"},
        {"x-api-key": ACME, "Authorization": f"Bearer {GLOBEX}"},
        {"x-api-key": GLOBEX, "Authorization": f"Bearer {ACME}"},
        {"x-api-key": "", "Authorization": f"Bearer {ACME}"},
        {"x-api-key": "schlüssel"},
        {"X-Org-Id": "acme"},
    ],
    ids=str,
)
def test_everything_else_is_the_same_401(client: FlaskClient, headers: dict[str, str]) -> None:
    answer = client.post(PATH, json=ASK, headers=headers)
    assert (answer.status_code, answer.get_json()) == (401, UNAUTHORIZED)
    assert "RateLimit-Limit" not in answer.headers


def test_a_bad_key_never_learns_whether_its_body_was_valid(client: FlaskClient) -> None:
    answers = {
        client.post(PATH, data=body, headers={"x-api-key": "no"}).data
        for body in (b"", b"{", b"{}", json.dumps(ASK))
    }
    assert len(answers) == 1


def test_the_token_scheme_counts_only_where_it_is_allowed() -> None:
    client = create_app(default(), settings=Settings(allow_token_scheme=True)).test_client()
    assert client.post(PATH, json=ASK, headers={"Authorization": f"Token {ACME}"}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/", 404, "not_found"),
        ("POST", f"{PATH}/", 404, "not_found"),
        ("POST", f"/{PATH}", 404, "not_found"),
        ("POST", PATH.replace("/memories", "//memories"), 404, "not_found"),
        ("POST", "/v1/memories/search", 404, "not_found"),
        ("POST", PATH.upper(), 404, "not_found"),
        *((method, PATH, 405, "method_not_allowed") for method in OTHER_METHODS),
    ],
)  # fmt: skip
def test_other_paths_and_methods_are_refused_in_the_same_envelope(
    client: FlaskClient, method: str, path: str, status: int, code: str
) -> None:
    answer = client.open(path, method=method, json=ASK, headers=KEY)
    assert (answer.status_code, answer.get_json()["detail"]["code"]) == (status, code)
    assert answer.headers.get("Allow") == ("POST" if status == 405 else None)
    assert answer.headers["X-Request-Id"] == "req-1"
    assert response_violations(401, answer.get_json()) == []  # the one envelope of all refusals


def test_a_body_over_the_limit_is_refused_before_the_key_is_looked_at() -> None:
    client = create_app(default(), settings=Settings(body_limit=100)).test_client()
    answer = client.post(PATH, data=b"x" * 101)
    assert (answer.status_code, answer.get_json()["detail"]["code"]) == (413, "payload_too_large")
    assert client.post(PATH, data=b"x" * 100).status_code == 401


def test_a_fault_of_our_own_is_an_envelope_without_internals(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret internals")

    monkeypatch.setattr("trigger_mock.endpoint.answer.retrieved", fail)
    answer = client.post(PATH, json={**ASK, "mode": "retrieve"}, headers=KEY)
    assert (answer.status_code, answer.get_json()["detail"]["code"]) == (500, "trigger_failed")
    assert b"secret" not in answer.data
    assert answer.headers["RateLimit-Limit"] == "1200"
    assert response_violations(500, answer.get_json(), answer.headers) == []


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ("sdk-7f3a", True),
        ("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", True),
        ("a" * 128, True),
        ("a" * 129, False),
        ("two words", False),
        ("<script>", False),
        ("ünïcode", False),
        ("", False),
    ],
)
def test_a_sane_request_id_is_echoed(client: FlaskClient, sent: str, echoed: bool) -> None:
    answer = client.post(PATH, json=ASK, headers={**KEY, "X-Request-Id": sent})
    assert answer.headers["X-Request-Id"] == (sent if echoed else "req-1")


def test_a_request_without_an_id_is_given_one_of_its_own() -> None:
    client = create_app(default()).test_client()
    given = {client.post(PATH, json=ASK, headers=KEY).headers["X-Request-Id"] for _ in range(5)}
    assert len(given) == 5


def answers_of(client: FlaskClient, **change: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    retrieved = client.post(PATH, json={**ASK, **change, "mode": "retrieve"}, headers=KEY).get_json()
    composed = client.post(PATH, json={**ASK, **change, "mode": "compose"}, headers=KEY).get_json()
    return retrieved, composed


def test_retrieve_gives_rows_as_matched_and_compose_gates_and_assembles_them(client: FlaskClient) -> None:
    retrieved, composed = answers_of(client, task="make finalize run when the tool loop is aborted")
    assert (retrieved["context"], retrieved["context_selection_applied"]) == (None, False)
    assert {row["details"]["because"] for row in retrieved["data"]} == {None}
    assert {row["details"]["confidence"] for row in retrieved["data"]} == {None}
    assert composed["context_selection_applied"] is True
    assert 0 < len(composed["data"]) <= len(retrieved["data"])
    assert all(
        row["details"]["because"] and 0 <= row["details"]["confidence"] <= 1 for row in composed["data"]
    )
    order = [row["id"] for row in retrieved["data"]]
    assert [row["id"] for row in composed["data"]] == [
        id_ for id_ in order if id_ in {row["id"] for row in composed["data"]}
    ]
    assert composed["context"].count("**[") == len(composed["data"])


@pytest.mark.parametrize("task", [None, "", "  "])
def test_compose_without_a_task_keeps_every_row(client: FlaskClient, task: str | None) -> None:
    retrieved, composed = answers_of(client, task=task)
    assert [row["id"] for row in composed["data"]] == [row["id"] for row in retrieved["data"]]


def test_nothing_kept_is_told_from_nothing_recalled(client: FlaskClient) -> None:
    _, none_kept = answers_of(client, task="zzz", entities=["tool_loop.py"])
    _, none_recalled = answers_of(client, task="zzz", entities=["unheard_of.py"])
    assert (none_kept["data"], none_kept["context"], none_kept["context_selection_applied"]) == (
        [],
        None,
        True,
    )
    assert (none_recalled["data"], none_recalled["context"], none_recalled["context_selection_applied"]) == (
        [],
        None,
        False,
    )


def test_entities_beside_an_action_bypass_extraction(client: FlaskClient) -> None:
    alone = client.post(PATH, json={**ASK, "entities": ["AbortError"]}, headers=KEY)
    beside = client.post(
        PATH, json={**ASK, "entities": ["AbortError"], "action": {"tool": "linode_api"}}, headers=KEY
    )
    assert beside.data == alone.data


def test_simulated_latency_is_slept_and_reported_and_depends_on_the_request_alone() -> None:
    slept: list[float] = []
    settings = Settings(latency="realistic", seed=7)
    client = create_app(default(), settings=settings, sleep=slept.append).test_client()
    answers = [
        client.post(PATH, json={**ASK, "mode": mode}, headers=KEY) for mode in ("retrieve", "compose") * 2
    ]
    assert answers[0].data == answers[2].data
    assert answers[1].data == answers[3].data
    timings = [answer.get_json()["stage_timings"] for answer in answers]
    assert [timing["total"] for timing in timings] == slept
    assert all(timing["total"] > 0 for timing in timings)
    assert sum((timings[1]["recall"], timings[1]["gate"])) == pytest.approx(slept[1])
    client.post(PATH, json={}, headers=KEY)
    assert len(slept) == 4, "a refusal is not delayed"


def everything(corpus: Corpus, organisation: str) -> list[dict[str, Any]]:
    """A request for each scope that a row of this organisation carries, alone and together."""
    asks: list[dict[str, Any]] = []
    for row in corpus.rows:
        axes = {axis: getattr(row, axis) for axis in ("user_id", "agent_id", "app_id") if getattr(row, axis)}
        if row.group_ids:
            axes["group_ids"] = list(row.group_ids)
        if row.organisation == organisation and row.trigger_entities:
            for count in range(1, len(axes) + 1):
                asks += [
                    {**dict(some), "entities": list(row.trigger_entities)}
                    for some in itertools.combinations(axes.items(), count)
                ]
    return asks


@pytest.mark.parametrize("organisation", ["acme", "globex", "borealis"])
def test_every_answer_from_the_shipped_fixtures_keeps_the_contract(organisation: str) -> None:
    corpus = default()
    settings = Settings()
    client = create_app(corpus, settings=settings, clock=itertools.count(step=60).__next__).test_client()
    key = corpus.organisations[organisation].keys[0].key
    owned = {row.id: row for row in corpus.rows if row.organisation == organisation}
    seen: set[str] = set()
    for ask in everything(corpus, organisation):
        for mode in ("retrieve", "compose"):
            answer = client.post(PATH, json={**ask, "mode": mode}, headers={"x-api-key": key})
            assert response_violations(200, answer.get_json(), answer.headers) == []
            seen |= {row["id"] for row in answer.get_json()["data"]}
    assert seen == {id_ for id_, row in owned.items() if row.type in DIRECTIVES}


def test_the_same_request_gives_the_same_bytes_in_every_process() -> None:
    program = (
        "from trigger_mock import create_app; from trigger_fixtures import default;"
        f"print(create_app(default()).test_client().post({PATH!r}, json={ASK!r}, headers={KEY!r}).data)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(printed) == 1


def test_the_order_in_which_fixtures_are_read_does_not_show() -> None:
    corpus = default()
    turned = dataclasses.replace(corpus, rows=corpus.rows[::-1])
    bodies = {
        create_app(one, settings=Settings()).test_client().post(PATH, json=ASK, headers=KEY).data
        for one in (corpus, turned)
    }
    assert len(bodies) == 1
