"""What a failing test shows of its calls: never a key, no more than a screen, printable on any terminal."""

from __future__ import annotations

from typing import Any

import pytest

from trigger_mock.bench_calls import Call, call_of
from trigger_mock.call_report import MASK, Report

KEY = "xtk_bench_0123456789abcdef"


def call(body: Any = None, text: str | None = None, answer: Any = None, status: int = 200) -> Call:
    return call_of(
        {
            "number": 1,
            "time": "2026-03-01T12:00:00Z",
            "organisation": "tests",
            "method": "POST",
            "path": "/v1/memories/trigger",
            "headers": {"content-type": "application/json"},
            "request": {"body": body, "text": text},
            "response": {"status": status, "headers": {}, "body": answer},
            "fired": ["e"],
            "hints": [],
            "missed": [],
            "milliseconds": 1.5,
            "fault": None,
        }
    )


def told(*calls: Call, explanation: dict[str, Any] | None = None) -> str:
    return Report(bench="b", keys=(KEY,), explain=lambda _: explanation or {}).of(calls)


@pytest.mark.parametrize("before", [0, 200, 380, 399, 401])
def test_no_part_of_a_key_is_shown_wherever_a_client_put_it(before: int) -> None:
    text = told(call({"note": "x" * before + KEY}), call(text="x" * before + KEY))
    assert KEY[:12] not in text
    assert (MASK in text) == (before < 390)


def test_what_a_terminal_would_obey_is_spelt_out() -> None:
    text = told(call(text="\x1b[2J\r\nfaked: all is well\x00\ud800"))
    assert "\x1b" not in text
    assert "\r" not in text
    assert r"\x1b[2J\r\nfaked: all is well\x00\ud800" in text
    text.encode()


def test_letters_of_all_languages_are_shown_as_they_are() -> None:
    assert "Größe 大小" in told(call({"task": "Größe 大小"}))


@pytest.mark.parametrize(
    "answer",
    [None, [], "text", {"data": None}, {"data": [None]}, {"data": ["x"]}, {"data": [{"text": "no id"}]}],
)
def test_an_answer_that_a_fault_has_mangled_recalled_nothing(answer: Any) -> None:
    mangled = call({"user_id": "u"}, answer=answer)
    assert mangled.recalled == ()
    assert "recalled nothing" in told(mangled)


def test_an_explanation_that_cannot_be_had_leaves_the_rest() -> None:
    def fail(_: Call) -> dict[str, Any]:
        raise OSError("the server has gone")

    text = Report(bench="b", keys=(), explain=fail).of([call({"user_id": "u"})])
    assert '{"user_id": "u"}' in text
    assert "gone" not in text


def test_a_call_that_recalled_is_not_explained_at_length() -> None:
    text = told(call({"user_id": "u"}, answer={"data": [{"id": "r1"}]}), explanation={"summary": "long"})
    assert "recalled r1" in text
    assert "long" not in text
