"""The journal: bounded in calls and in bytes, complete in between, and quick to wake whoever waits."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from tests.mock.raw import PATH
from trigger_fixtures import default
from trigger_mock import Settings, create_app
from trigger_mock.benches import Benches
from trigger_mock.journal import Call, Journal

KEY = "xtk_demo_acme"


def call(body: bytes = b"{}", answer: bytes = b"{}", status: int = 200) -> Call:
    return Call(
        time=0.0, method="POST", path=PATH, headers=(), caller=None, request=body, status=status,
        answer_headers=(), answer=answer, seconds=0.0,
    )  # fmt: skip


def test_the_oldest_calls_are_let_go_and_numbers_go_on() -> None:
    journal = Journal(3)
    for _ in range(5):
        journal.record(call())
    assert [each.number for each in journal] == [3, 4, 5]
    assert (len(journal), journal.recorded) == (3, 5)
    assert journal.find(2) is None
    found = journal.find(4)
    assert found is not None
    assert found.number == 4


def test_large_calls_are_let_go_by_their_bytes_and_the_last_one_stays() -> None:
    journal = Journal(100, most_bytes=1000)
    for _ in range(9):
        journal.record(call(body=b"x" * 300, answer=b"y" * 100))
    assert [each.number for each in journal] == [8, 9]
    journal.record(call(body=b"x" * 5000))
    assert [each.number for each in journal] == [10]


def test_bytes_are_counted_again_after_a_clear() -> None:
    journal = Journal(100, most_bytes=1000)
    journal.record(call(body=b"x" * 900))
    journal.clear()
    for _ in range(2):
        journal.record(call(body=b"x" * 400))
    assert [each.number for each in journal] == [2, 3]


def test_a_journal_of_no_size_keeps_nothing() -> None:
    journal = Journal(0)
    journal.record(call())
    assert (list(journal), journal.recorded) == ([], 0)


def test_waiting_ends_with_the_call_that_was_waited_for() -> None:
    journal = Journal()
    journal.record(call())
    journal.record(call(status=422))
    began, found = Event(), list[Call]()

    def wait() -> None:
        began.set()
        found.extend(journal.wait(lambda each: each.status == 422, 2, timeout=30))

    waiting = Thread(target=wait)
    waiting.start()
    assert began.wait(10)
    journal.record(call())
    assert waiting.is_alive()
    journal.record(call(status=422))
    waiting.join(10)
    assert [each.number for each in found] == [2, 4]


def test_waiting_in_vain_gives_what_there_was() -> None:
    journal = Journal()
    journal.record(call())
    assert [each.number for each in journal.wait(lambda _: True, 2, timeout=0.01)] == [1]
    assert journal.wait(lambda _: False, 1, timeout=0) == []


def test_calls_from_many_threads_are_all_kept_under_numbers_of_their_own() -> None:
    journal = Journal(10_000)

    def record() -> None:
        for _ in range(500):
            journal.record(call())

    threads = [Thread(target=record) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.number for each in journal] == list(range(1, 4001))


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("POST", PATH, {"x-api-key": KEY}, '{"user_id": "user-123", "entities": ["tool_loop.py"]}', 200),
        ("POST", PATH, {"x-api-key": KEY}, "{", 422),
        ("POST", PATH, {"x-api-key": "unknown"}, "{}", 401),
        ("GET", PATH, {"authorization": f"Bearer {KEY}"}, "", 405),
        ("POST", PATH + "/", {"x-api-key": KEY}, "{}", 404),
        ("POST", PATH, {"x-api-key": KEY}, "x" * 2**21, 413),
    ],
    ids=["served", "invalid", "unknown-key", "wrong-method", "wrong-path", "too-large"],
)
def test_every_call_is_written_down_as_it_came_and_as_it_was_answered(
    method: str, path: str, headers: dict[str, str], body: str, status: int
) -> None:
    app = create_app(default(), settings=Settings(), clock=lambda: 0.0)
    response = app.test_client().open(
        path, method=method, headers={**headers, "cookie": "s=1"}, data=body, content_type="application/json"
    )
    benches: Benches = app.extensions["trigger_mock"]
    (written,) = benches.default.journal
    assert (written.method, written.path, written.status) == (method, path, status)
    assert written.answer == response.data
    assert written.request == (b"" if status in (404, 405, 413) else body.encode())
    assert (written.caller is None) == (status == 401)
    assert dict(written.headers)["content-type"] == "application/json"
    assert not {"x-api-key", "authorization", "cookie"} & {name.lower() for name, _ in written.headers}
    assert "xtk_" not in repr(written)


def test_a_field_that_nothing_reads_is_written_down_with_what_it_would_have_fired() -> None:
    app = create_app(default(), settings=Settings(), clock=lambda: 0.0)
    body = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}
    app.test_client().post(PATH, json=body, headers={"x-api-key": KEY})
    benches: Benches = app.extensions["trigger_mock"]
    (written,) = benches.default.journal
    (sentence,) = written.missed
    assert sentence.startswith("action.input is not read; action.args would have fired tool_loop.py")


def test_with_the_journal_off_nothing_is_written_down() -> None:
    app = create_app(default(), settings=Settings(journal=0), clock=lambda: 0.0)
    app.test_client().post(PATH, json={}, headers={"x-api-key": KEY})
    benches: Benches = app.extensions["trigger_mock"]
    assert list(benches.default.journal) == []


def test_many_calls_stay_within_both_bounds_and_what_is_kept_is_the_newest() -> None:
    journal = Journal(200, most_bytes=50_000)
    for number in range(1, 20_001):
        journal.record(call(body=b"x" * (number % 700), answer=b"y" * (number % 300)))
        if number % 500 == 0:
            kept = list(journal)
            assert len(kept) <= 200
            assert sum(each.weight for each in kept) <= 50_000
            assert [each.number for each in kept] == list(range(number - len(kept) + 1, number + 1))
            assert len(kept) == 200 or sum(each.weight for each in kept) > 48_000
    assert journal.recorded == 20_000


def test_a_bench_keeps_its_own_calls_where_the_default_one_keeps_none() -> None:
    client = create_app(default(), settings=Settings(journal=0), clock=lambda: 0.0).test_client()
    made = client.post("/_mock/benches", json={"journal": 10}).get_json()
    client.post(PATH, json={}, headers={"x-api-key": made["api_key"]})
    assert client.get(f"{made['url']}/calls").get_json()["kept"] == 1
