"""Twenty tests of a client that share one server: each has rows, faults and calls of its own.

Run by `test_sharing.py` under pytest-xdist, again and again.
"""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from trigger_mock import TriggerMock

EDIT = {
    "user_id": "user-123",
    "mode": "retrieve",
    "action": {"tool": "Edit", "args": {"file_path": "tool_loop.py"}},
}


class Client:
    """The client under test: recalls texts; tries three times on a 5xx or a broken answer, then is quiet."""

    def __init__(self, url: str, api_key: str, *, attempts: int = 3, timeout: float = 20.0) -> None:
        self.endpoint = f"{url}/v1/memories/trigger"
        self.headers = {"x-api-key": api_key, "Content-Type": "application/json"}
        self.attempts = attempts
        self.timeout = timeout

    def recall(self, body: dict[str, Any]) -> list[str]:
        for _ in range(self.attempts):
            request = urllib.request.Request(self.endpoint, json.dumps(body).encode(), self.headers)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                    return [row["text"] for row in json.load(reply)["data"]]
            except urllib.error.HTTPError as error:
                error.close()
                if error.code < 500:
                    return []
            except (OSError, ValueError, http.client.HTTPException):
                continue
        return []


@pytest.fixture
def client(trigger_mock: TriggerMock) -> Client:
    return Client(trigger_mock.url, trigger_mock.api_key)


def add(bench: TriggerMock, text: str, *entities: str, **fields: Any) -> dict[str, Any]:
    return bench.rows.add(
        text=text, trigger_entities=list(entities or ["tool_loop.py"]), user_id="user-123", **fields
    )


@pytest.mark.parametrize("text", ["one", "two", "three", "four"])
def test_each_is_answered_from_its_own_rows(trigger_mock: TriggerMock, client: Client, text: str) -> None:
    row = add(trigger_mock, text)
    assert client.recall(EDIT) == [text]
    assert [each["id"] for each in trigger_mock.rows.all()] == [row["id"]]
    trigger_mock.assert_recalled(row)


def test_an_empty_bench_answers_nothing(trigger_mock: TriggerMock, client: Client) -> None:
    assert client.recall(EDIT) == []
    (call,) = trigger_mock.calls
    assert (call.status, call.recalled) == (200, ())


@pytest.mark.parametrize("times", [1, 2])
def test_the_client_gets_over_errors(trigger_mock: TriggerMock, client: Client, times: int) -> None:
    add(trigger_mock, "after all")
    trigger_mock.fail_next(times, status=503)
    assert client.recall(EDIT) == ["after all"]
    assert [call.status for call in trigger_mock.calls] == [503] * times + [200]


def test_the_client_gives_up_after_three_errors(trigger_mock: TriggerMock, client: Client) -> None:
    add(trigger_mock, "never")
    trigger_mock.fail_next(5, status=500)
    assert client.recall(EDIT) == []
    trigger_mock.assert_called(times=3, status=500)


@pytest.mark.parametrize("kind", ["reset", "cut", "malformed"])
def test_the_client_gets_over_a_broken_answer(trigger_mock: TriggerMock, client: Client, kind: str) -> None:
    add(trigger_mock, "whole")
    trigger_mock.fail_next(fault=kind)
    assert client.recall(EDIT) == ["whole"]
    first, second = trigger_mock.calls
    assert (first.fault, second.fault) == (kind, None)


def test_a_fault_meets_what_it_is_meant_for(trigger_mock: TriggerMock, client: Client) -> None:
    add(trigger_mock, "here")
    trigger_mock.fail_next(3, status=500, match={"tool": "Bash"})
    assert client.recall(EDIT | {"action": {"tool": "Bash", "args": {"command": "cat tool_loop.py"}}}) == []
    assert client.recall(EDIT) == ["here"]
    trigger_mock.assert_called(times=3, tool="Bash")
    trigger_mock.assert_called(times=1, tool="Edit")


def test_calls_from_other_threads_are_waited_for(trigger_mock: TriggerMock, client: Client) -> None:
    threads = [threading.Thread(target=client.recall, args=(EDIT,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    calls = trigger_mock.wait_for_calls(5, timeout=20)
    for thread in threads:
        thread.join()
    assert [call.number for call in calls] == [1, 2, 3, 4, 5]
    assert all(call.body == EDIT for call in calls)


def test_what_was_fired_is_told(trigger_mock: TriggerMock, client: Client) -> None:
    client.recall(EDIT)
    (call,) = trigger_mock.wait_for_calls(1)
    assert {"Edit", "tool_loop.py", "tool_loop"} <= set(call.fired)


def test_rows_come_and_go(trigger_mock: TriggerMock, client: Client) -> None:
    row = add(trigger_mock, "old")
    assert client.recall(EDIT) == ["old"]
    trigger_mock.rows.remove(row)
    assert client.recall(EDIT) == []
    trigger_mock.rows.replace([{**row, "text": "new"}])
    assert client.recall(EDIT) == ["new"]
    assert len(trigger_mock.calls) == 3


@pytest.mark.trigger_mock(fixtures={"organisations": {"tests": {"rate_limit": "2/minute", "keys": ["any"]}}})
def test_a_rate_is_met_and_passes(trigger_mock: TriggerMock, client: Client) -> None:
    add(trigger_mock, "rare")
    trigger_mock.clock.freeze()
    assert [len(client.recall(EDIT)) for _ in range(3)] == [1, 1, 0]
    trigger_mock.clock.advance(60)
    assert client.recall(EDIT) == ["rare"]
    assert [call.status for call in trigger_mock.calls] == [200, 200, 429, 200]


@pytest.mark.trigger_mock(start="default")
def test_a_bench_may_begin_with_the_shipped_rows(trigger_mock: TriggerMock, client: Client) -> None:
    before = len(trigger_mock.rows)
    add(trigger_mock, "one more", "a-name-of-this-test-alone")
    assert client.recall({"user_id": "user-123", "entities": ["a-name-of-this-test-alone"]}) == ["one more"]
    assert len(trigger_mock.rows) == before + 1


def test_a_reset_begins_anew(trigger_mock: TriggerMock, client: Client) -> None:
    add(trigger_mock, "gone")
    trigger_mock.fail_next(9, status=500)
    client.recall(EDIT)
    trigger_mock.reset()
    assert (trigger_mock.calls, trigger_mock.rows.all(), trigger_mock.faults.all()) == ([], [], [])
    assert client.recall(EDIT) == []
    trigger_mock.assert_called(times=1, status=200)


def test_an_explanation_says_what_was_not_read(trigger_mock: TriggerMock) -> None:
    add(trigger_mock, "meant")
    body = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}
    explanation = trigger_mock.explain(body)
    assert explanation["unread"][0]["rows_count"] == 1
    assert "action.args" in explanation["unread"][0]["change"]


def test_the_journal_says_what_was_not_read(trigger_mock: TriggerMock, client: Client) -> None:
    add(trigger_mock, "meant")
    client.recall({"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}})
    (call,) = trigger_mock.find_calls(recalled=False)
    assert any("action.input" in hint for hint in call.hints)
    assert any("action.args" in sentence for sentence in call.missed)
