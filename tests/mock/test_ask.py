"""The request: what is accepted, and every refusal in the words of FastAPI and of the contract's envelope."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from fastapi import FastAPI
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.mock.conftest import KEY, PATH
from trigger_contracts.validation import request_violations
from trigger_mock.ask import MOST_ENTRIES, decode, require_signal_and_scope, validate
from trigger_mock.numbers import Number
from trigger_mock.refusals import InvalidFields, Refusal

VALID = {"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}


class _Action(BaseModel):
    tool: str | None = None
    args: dict[str, Any] | None = None
    output: str | None = None


class _Request(BaseModel):
    action: _Action | None = None
    entities: list[str] | None = None
    include: list[Literal["lesson", "procedure"]] = []
    task: Annotated[str, Field(max_length=2000)] | None = None
    mode: Literal["compose", "retrieve"] = "compose"
    user_id: str | None = None
    group_ids: list[str] = []
    agent_id: str | None = None
    app_id: str | None = None


@pytest.fixture(scope="module")
def fastapi() -> Callable[[bytes], Any]:
    """The declarations that a FastAPI service of this contract would make, and FastAPI's own 422."""
    app = FastAPI()

    @app.post(PATH)
    def trigger(request: _Request) -> dict[str, str]:
        return {"mode": request.mode}

    def refusal(raw: bytes) -> Any:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": raw}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": PATH,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        asyncio.run(app(scope, receive, send))
        assert sent[0]["status"] == 422
        return json.loads(sent[1]["body"])

    return refusal


@pytest.mark.parametrize(
    "body",
    [
        {**VALID, "user_id": 7},
        {**VALID, "task": "x" * 2001},
        {**VALID, "entities": "tool_loop.py"},
        {**VALID, "entities": ["a", 1, None, {"b": 2}]},
        {**VALID, "group_ids": None},
        {**VALID, "group_ids": {"0": "grp"}},
        {**VALID, "include": "lesson"},
        {**VALID, "include": [1]},
        {**VALID, "include": None},
        {**VALID, "mode": None},
        {**VALID, "mode": 3, "task": []},
        {**VALID, "action": "Edit"},
        {**VALID, "action": ["Edit"]},
        {**VALID, "action": 1.5},
        {**VALID, "action": {"tool": 1, "args": [], "output": {}}},
        {**VALID, "action": {"args": "x"}, "agent_id": True, "app_id": 0.5, "user_id": []},
        {"include": ["fact"], "mode": "x", "task": 1},
        [],
        [VALID],
        "text",
        5,
        1.25,
        True,
        None,
    ],
    ids=json.dumps,
)
def test_field_failures_read_as_fastapi_writes_them(
    client: FlaskClient, fastapi: Callable[[bytes], Any], body: Any
) -> None:
    ours = client.post(PATH, data=json.dumps(body), headers=KEY, content_type="application/json")
    expected = fastapi(json.dumps(body).encode())["detail"]
    assert ours.status_code == 422
    for entry in expected:
        if isinstance(entry["input"], str) and len(entry["input"]) > 200:
            entry["input"] = f"{entry['input'][:200]}… ({len(entry['input'])} characters)"
    assert ours.get_json()["detail"] == expected


@pytest.mark.parametrize(
    "raw", [b"", b"{bad", b'{"a":', b"nul", b"{} {}", b"[1,]", b"\t", b'{"a": "\x01"}', b'"']
)
def test_malformed_json_reads_as_fastapi_writes_it(
    client: FlaskClient, fastapi: Callable[[bytes], Any], raw: bytes
) -> None:
    ours = client.post(PATH, data=raw, headers=KEY, content_type="application/json")
    assert ours.status_code == 422
    assert ours.get_json() == fastapi(raw)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
def test_an_empty_body_is_a_missing_one(client: FlaskClient, content_type: str | None) -> None:
    answer = client.post(PATH, data=b"", headers=KEY, content_type=content_type)
    assert answer.status_code == 422
    assert answer.get_json() == {
        "detail": [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}]
    }


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ('application/json;charset="UTF-8"', 200),
        ("application/json;;", 200),
        ("application/vnd.acme+json", 200),
        ("text/plain", 422),
        ("text/json", 422),
        ("application/x-www-form-urlencoded", 422),
        ("multipart/form-data; boundary=x", 422),
        ("application/jsonx", 422),
        ("application/xml; note=application/json", 422),
        ("undefined", 422),
        ("/", 422),
        ("", 422),
        (None, 422),
    ],
)
def test_only_json_types_are_read_as_json(client: FlaskClient, content_type: str | None, status: int) -> None:
    answer = client.post(PATH, data=json.dumps(VALID), headers=KEY, content_type=content_type)
    assert answer.status_code == status
    if status == 422:
        (entry,) = answer.get_json()["detail"]
        assert (entry["type"], entry["input"]) == ("model_attributes_type", json.dumps(VALID))


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (
            {"include": ["fact"]},
            "unsupported_include_option",
            "include[0] is 'fact'; expected 'lesson' or 'procedure'",
        ),
        (
            {"include": ["lesson", ""]},
            "unsupported_include_option",
            "include[1] is ''; expected 'lesson' or 'procedure'",
        ),
        (
            {"include": ["lesson", "lesson"]},
            "unsupported_include_option",
            "include repeats a value; name each corpus once",
        ),
        ({"mode": "Compose"}, "invalid_request", "mode is 'Compose'; expected 'compose' or 'retrieve'"),
        (
            {"include": ["x"], "mode": "y"},
            "unsupported_include_option",
            (
                "include[0] is 'x'; expected 'lesson' or 'procedure'; "
                "mode is 'y'; expected 'compose' or 'retrieve'"
            ),
        ),
    ],
)
def test_an_option_outside_its_enum_is_an_envelope(
    client: FlaskClient, change: dict[str, Any], code: str, message: str
) -> None:
    answer = client.post(PATH, json={**VALID, **change}, headers=KEY)
    assert (answer.status_code, answer.get_json()) == (422, {"detail": {"code": code, "message": message}})


NO_SIGNAL = "a firing signal is required: pass action, or entities with at least one item"
NO_SCOPE = "a scope is required: pass at least one non-empty user_id, agent_id, app_id or group_ids"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"user_id": "u"}, NO_SIGNAL),
        ({"user_id": "u", "action": None, "entities": None}, NO_SIGNAL),
        ({"user_id": "u", "entities": []}, NO_SIGNAL),
        ({"user_id": "u", "entities": [], "action": None}, NO_SIGNAL),
        ({"entities": ["x"]}, NO_SCOPE),
        ({"entities": ["x"], "user_id": None, "agent_id": None, "app_id": None, "group_ids": []}, NO_SCOPE),
        ({"entities": ["x"], "user_id": ""}, NO_SCOPE),
        ({"entities": ["x"], "user_id": "", "agent_id": "", "app_id": "", "group_ids": [""]}, NO_SCOPE),
        ({}, f"{NO_SIGNAL}; {NO_SCOPE}"),
    ],
)
def test_a_missing_signal_or_scope_is_an_envelope(
    client: FlaskClient, body: dict[str, Any], message: str
) -> None:
    answer = client.post(PATH, json=body, headers=KEY)
    expected = {"detail": {"code": "invalid_request", "message": message}}
    assert (answer.status_code, answer.get_json()) == (422, expected)


@pytest.mark.parametrize(
    "body",
    [
        {"user_id": "u", "action": {}},
        {"user_id": "u", "entities": [""]},
        {"user_id": "u", "entities": [], "action": {"tool": "Edit"}},
        {"user_id": "", "agent_id": "bot-7", "entities": ["x"]},
        {"group_ids": ["", "grp"], "entities": ["x"]},
        {"user_id": " ", "entities": ["x"]},
        {"user_id": "u", "entities": ["x"], "include": [], "task": None, "action": None},
        {"user_id": "u", "entities": ["x"], "task": "🦀" * 2000},
        {"user_id": "u", "entities": ["x"], "namespace": "n", "action": {"input": {}}},
    ],
)
def test_a_signal_and_a_scope_are_enough(client: FlaskClient, body: dict[str, Any]) -> None:
    assert client.post(PATH, json=body, headers=KEY).status_code == 200


def test_a_list_of_endless_bad_items_is_named_by_its_first(client: FlaskClient) -> None:
    body = {"user_id": "u", "entities": [1] * (MOST_ENTRIES + 1), "group_ids": [2] * 5, "task": 3}
    entries = client.post(PATH, json=body, headers=KEY).get_json()["detail"]
    assert [entry["loc"] for entry in entries] == [
        ["body", "entities", 0],
        ["body", "task"],
        ["body", "group_ids", 0],
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'"\\ud800"', "\ufffd"),
        (b"[" * 100 + b"]" * 100, [[[[["… 1 more"]]]]]),
        (b"[" + b"0," * 50 + b"0]", [0] * 20 + ["… 31 more"]),
        (b"9" * 5000, f"{'9' * 200}… (5000 characters)"),
        (b"NaN", "NaN"),
        (b"1e999", "1e999"),
        (b"1.50", 1.5),
    ],
    ids=["surrogate", "nest", "list", "digits", "nan", "infinite", "float"],
)
def test_an_input_is_shown_back_short_and_encodable(client: FlaskClient, value: bytes, shown: Any) -> None:
    raw = b'{"entities": ["x"], "user_id": "u", "mode": %s}' % value
    answer = client.post(PATH, data=raw, headers=KEY, content_type="application/json")
    assert answer.status_code == 422
    assert answer.get_json()["detail"][0]["input"] == shown


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\xef\xbb\xbf{}", {}),
        ('{"a": "ö"}'.encode("utf-16"), {"a": "ö"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\u0000"}', {"a": "\x00"}),
        (b'{"a": 12345678901234567}', {"a": 12345678901234567}),
    ],
)
def test_what_the_service_reads_is_read(raw: bytes, expected: Any) -> None:
    assert decode(raw, "application/json") == expected


@pytest.mark.parametrize(
    "text", ["1.50", "1e2", "-0.0", "123456789012345678901234567890", "NaN", "1E+400", "9" * 5000]
)
def test_a_number_keeps_its_text(text: str) -> None:
    number = decode(b'{"a": [%s]}' % text.encode(), "application/json")["a"][0]
    assert isinstance(number, Number)
    assert number.text == text


@pytest.mark.parametrize("depth", [900, 1000])
def test_a_nest_within_the_parsers_reach_is_read(depth: int) -> None:
    assert decode(b"[" * depth + b"]" * depth, "application/json")


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000 + b"]" * 100_000, b'{"a":1.5,"b":' + b"[" * 5000 + b"]" * 5000 + b"}"]
)
def test_a_nest_beyond_it_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidFields) as refused:
        decode(raw, "application/json")
    assert refused.value.entries[0]["ctx"] == {"error": "Nested too deeply"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
    max_leaves=4,
)
TEXTS = st.text(max_size=3) | st.sampled_from(("", "user-1", "x" * 2000, "x" * 2001))
FIELD = JSON | TEXTS | st.lists(TEXTS | JSON, max_size=3)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "action": JSON
            | st.fixed_dictionaries({}, optional={"tool": FIELD, "args": JSON, "output": FIELD, "x": JSON}),
            "entities": FIELD,
            "include": st.lists(st.sampled_from(("lesson", "procedure", "fact")) | JSON, max_size=3) | JSON,
            "task": FIELD,
            "mode": st.sampled_from(("retrieve", "compose", "Compose")) | JSON,
            "user_id": FIELD,
            "group_ids": FIELD,
            "agent_id": FIELD,
            "app_id": FIELD,
            "namespace": JSON,
        },
    )
    | JSON
)
def test_the_model_accepts_just_what_the_effective_contract_accepts(body: Any) -> None:
    try:
        require_signal_and_scope(validate(body))
    except Refusal:
        accepted = False
    else:
        accepted = True
    assert accepted == (not request_violations(body))
