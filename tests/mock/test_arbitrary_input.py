"""Whatever comes in (arbitrary bytes, JSON, headers), what goes out is one of the contract's shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import example, given
from hypothesis import strategies as st

from tests.mock.raw import PATH
from trigger_contracts.validation import response_violations
from trigger_fixtures import default
from trigger_mock import Settings, create_app
from trigger_mock.limits import Overrides

KEY = "xtk_demo_acme"
DOCUMENTED = (200, 401, 422, 429)

texts = st.text(st.characters(), max_size=30) | st.sampled_from(
    [
        "",
        "user-123",
        "tool_loop.py",
        "lesson",
        "procedure",
        "compose",
        "retrieve",
        "\x00",
        "\ud800",
        "\udfff\ud83d",
    ]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**18, 10**400)
    | st.floats()
    | texts
    | st.just("x" * 2001),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "action",
    "entities",
    "include",
    "task",
    "mode",
    "user_id",
    "group_ids",
    "agent_id",
    "app_id",
    "namespace",
)
actions = st.dictionaries(st.sampled_from(["tool", "args", "output", "input"]) | texts, values, max_size=4)
asks = st.dictionaries(
    st.sampled_from(FIELDS) | texts, values | actions | st.lists(texts, max_size=5), max_size=7
)
header_values = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=40)
header_names = st.sampled_from(
    [
        "x-api-key",
        "Authorization",
        "Content-Type",
        "X-Request-Id",
        "X-Org-Id",
        "Accept",
        "Content-Encoding",
        "Cookie",
        "Accept-Encoding",
        "Range",
        "If-None-Match",
        "Origin",
        "X-Forwarded-Proto",
        "X-HTTP-Method-Override",
        "Upgrade",
    ]
)


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    settings = Settings(limits=Overrides("none", "none"), body_limit=100_000)
    return create_app(default(), settings=settings).test_client()


def judge(answer: Any) -> None:
    assert answer.content_type == "application/json"
    assert answer.headers["X-Request-Id"]
    assert answer.status_code < 500
    body = json.loads(answer.data.decode("utf-8"))
    if answer.status_code in DOCUMENTED:
        assert response_violations(answer.status_code, body, list(answer.headers)) == []
    else:
        assert answer.status_code in (404, 405, 413)
        assert body.keys() == {"detail"}
        assert body["detail"].keys() == {"code", "message"}


def send(client: FlaskClient, body: bytes) -> Any:
    return client.post(PATH, data=body, content_type="application/json", headers={"x-api-key": KEY})


@given(body=st.binary(max_size=300))
@example(body=b"")
@example(body=b"\xff\xfe")
@example(body=b"[" * 90_000)
@example(body=b"x" * 100_001)
@example(body=b'{"user_id":"\\ud800","entities":["x"]}')
def test_any_bytes_draw_a_documented_answer(client: FlaskClient, body: bytes) -> None:
    judge(send(client, body))


@given(value=values)
def test_any_json_draws_a_documented_answer(client: FlaskClient, value: Any) -> None:
    judge(send(client, json.dumps(value).encode()))


@given(ask=asks)
@example(ask={"user_id": "user-123", "action": {"args": {"a": float("nan"), "\ud800": [10**400]}}})
def test_any_object_with_the_endpoints_fields_draws_a_documented_answer(
    client: FlaskClient, ask: dict[str, Any]
) -> None:
    judge(send(client, json.dumps(ask).encode()))


@given(ask=asks, encoding=st.sampled_from(["utf-16", "utf-32", "utf-8-sig", "latin-1", "utf-7"]))
def test_any_encoding_draws_a_documented_answer(
    client: FlaskClient, ask: dict[str, Any], encoding: str
) -> None:
    judge(send(client, json.dumps(ask, ensure_ascii=False).encode(encoding, errors="replace")))


@given(ask=asks, cut=st.integers(0, 200), patch=st.binary(max_size=4))
def test_damaged_json_draws_a_documented_answer(
    client: FlaskClient, ask: dict[str, Any], cut: int, patch: bytes
) -> None:
    body = json.dumps(ask).encode()
    judge(send(client, body[:cut] + patch + body[cut + 1 :]))


@given(
    headers=st.lists(
        st.tuples(header_names, header_values | st.sampled_from([KEY, f"Bearer {KEY}", "application/json"])),
        max_size=8,
    )
)
@example(headers=[("x-api-key", KEY), ("x-api-key", KEY)])
@example(headers=[("Content-Type", "/"), ("Content-Type", "application/json;;")])
def test_any_headers_draw_a_documented_answer(client: FlaskClient, headers: list[tuple[str, str]]) -> None:
    judge(client.post(PATH, data=b'{"user_id": "u", "entities": ["x"]}', headers=headers))


@given(
    path=st.text(st.characters(codec="ascii", exclude_characters="?#"), max_size=30),
    method=st.sampled_from(["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"]),
)
def test_any_other_path_or_method_draws_an_envelope(client: FlaskClient, path: str, method: str) -> None:
    judge(client.open(PATH, method=method))
    judge(client.open("/" + path.replace("/", "").replace("\\", ""), method="POST"))
