"""What the log says of fields that nothing reads; names only, never values, and never a forged line."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.conftest import KEY, PATH
from trigger_mock.hints import meant, unread


@pytest.mark.parametrize(
    ("body", "hints"),
    [
        ({"action": {"tool": "x", "args": {}, "output": None}, "user_id": "u"}, []),
        ({"action": {"input": {}}}, ["action.input is not part of the contract; did you mean action.args?"]),
        ({"action": {"arg": {}}}, ["action.arg is not part of the contract; did you mean action.args?"]),
        ({"tool": "x", "input": {}}, [
            "tool is not part of the contract; did you mean action.tool?",
            "input is not part of the contract; did you mean action.args?",
        ]),
        ({"userId": "u"}, ["userId is not part of the contract; did you mean user_id?"]),
        ({"action": "Edit"}, ["action is a string; the contract wants an object with tool, args and output"]),
        ({"org_id": "o"}, ["org_id is not read: the key alone decides the organisation"]),
        ({"zzz": 1}, ["zzz is not part of the contract"]),
        ({"a\nERROR forged": 1}, ["'a\\nERROR forged' is not part of the contract"]),
    ],
)  # fmt: skip
def test_a_hint_names_the_field_and_what_was_meant(body: dict[str, Any], hints: list[str]) -> None:
    assert unread(body) == hints


def test_a_thousand_unknown_fields_are_one_mistake() -> None:
    hints = unread({f"field_{number}": "s3cret" for number in range(1000)})
    assert len(hints) == 11
    assert hints[-1] == "990 more unknown fields"
    assert "s3cret" not in "".join(hints)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"user": "user-123", "entities": ["x"]}, "user is not part of the contract; did you mean user_id?"),
        ({"user_id": "u", "tool": "Edit"}, "tool is not part of the contract; did you mean action.tool?"),
        (
            {"user_id": "u", "action": "Edit"},
            "action is a string; the contract wants an object with tool, args and output",
        ),
    ],
)
def test_a_refused_request_is_told_its_hints_too(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, body: dict[str, Any], hint: str
) -> None:
    with caplog.at_level(logging.INFO, "trigger_mock"):
        answer = client.post(PATH, json=body, headers=KEY)
    assert answer.status_code == 422
    assert hint in caplog.messages


def test_the_log_says_it_and_the_answer_does_not_change(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}
    with caplog.at_level(logging.INFO, "trigger_mock"):
        answer = client.post(PATH, json=body, headers=KEY)
    assert (answer.status_code, answer.get_json()["data"]) == (200, [])
    assert "action.input is not part of the contract; did you mean action.args?" in caplog.messages
    assert any(
        message.startswith("action.input is not read; action.args would have fired tool_loop.py")
        for message in caplog.messages
    )


@pytest.mark.parametrize(
    "body",
    [
        {"user_id": "nobody", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}},
        {"user_id": "user-123", "action": {"tool": "tool_loop.py", "input": {"file_path": "tool_loop.py"}}},
        {"user_id": "user-123", "action": {"tool": "x", "input": {"token": "s3cret"}}},
    ],
    ids=["another's rows", "something was recalled", "nothing carries it"],
)
def test_the_log_names_no_value_that_would_have_recalled_nothing(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, body: dict[str, Any]
) -> None:
    with caplog.at_level(logging.INFO, "trigger_mock"):
        client.post(PATH, json=body, headers=KEY)
    assert caplog.messages == ["action.input is not part of the contract; did you mean action.args?"]


@pytest.mark.parametrize(
    "value",
    [r'{"\ud800": "\ud800"}', r'"\ud800"', r'["\ud800"]', "1e400", "1" + "0" * 5000, "NaN", "null"],
    ids=["surrogate key", "surrogate", "surrogate item", "huge", "long", "NaN", "null"],
)
@pytest.mark.parametrize("field", ["input", "name", "stdout"])
def test_no_value_of_an_unread_field_breaks_a_call(client: FlaskClient, field: str, value: str) -> None:
    body = f'{{"user_id": "u", "symbols": {value}, "action": {{"{field}": {value}}}}}'
    answer = client.post(PATH, data=body, content_type="application/json", headers=KEY)
    assert (answer.status_code, answer.get_json()["data"]) == (200, [])


def test_what_was_meant_comes_with_the_value_that_was_sent() -> None:
    body = {"zzz": 1, "org_id": "o", "toolName": "Edit", "action": {"input": {"a": 1}, "tool": "x"}}
    assert list(meant(body)) == [
        ("toolName", "action.tool", "Edit"),
        ("action.input", "action.args", {"a": 1}),
    ]


@pytest.mark.parametrize("body", [None, [], "text", 7, {}, {"action": []}])
def test_a_body_without_unknown_fields_means_nothing_else(body: object) -> None:
    assert list(meant(body)) == []
