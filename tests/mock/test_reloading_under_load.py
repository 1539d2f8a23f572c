"""The command keeps at its files while clients ask: a bad save and its mending cost no answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mock.processes import FIXTURES, KEY, PATIENCE, Running, running, write
from tests.mock.raw import connected, exchange, request

ASK = request(json.dumps({"user_id": "user-123", "entities": ["tool_loop.py", "new.py"]}).encode())
OLD = ("The loop swallows AbortError; re-raise it so that a run can be cancelled.",)
NEW = "Only the mended file holds this."
MENDED = FIXTURES + (
    "  - {organisation: north, type: lesson, user_id: user-123, trigger_entities: [new.py],\n"
    f"     text: {NEW}}}\n"
)
BROKEN = MENDED.replace("type: lesson", "type: lessson")
#: Requests a second, over so many connections, for so many seconds.
RATE, CLIENTS, SECONDS = 200, 4, 4.0

Answer = tuple[int, tuple[str, ...]]


def in_place(folder: Path, text: str) -> None:
    write(folder, text)


def by_another_file(folder: Path, text: str) -> None:
    Path(write(folder, text, "fixtures.yaml~")).replace(folder / "fixtures.yaml")


def until(held: Callable[[], bool]) -> None:
    """Wait for something that is to come."""
    deadline = time.monotonic() + PATIENCE
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ask_steadily(up: Running, start: threading.Barrier) -> list[Answer]:
    """Ask on one connection, at the pace of this client's share; what came, in its order."""
    answers: list[Answer] = []
    with connected(up.address) as connection:
        start.wait(PATIENCE)
        began = time.monotonic()
        for number in range(int(RATE * SECONDS / CLIENTS)):
            time.sleep(max(0.0, began + number * CLIENTS / RATE - time.monotonic()))
            connection.send(ASK)
            reply = connection.reply()
            answers.append((reply.status, tuple(sorted(row["text"] for row in reply.json.get("data", ())))))
    return answers


@pytest.mark.parametrize("save", [in_place, by_another_file], ids=["in place", "by another file"])
def test_a_bad_save_and_its_mending_cost_no_answer(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    options = ("--port", "0", "--fixtures", write(tmp_path), "--rate-limit", "none")
    with running(*options) as up, ThreadPoolExecutor(CLIENTS) as pool:
        start = threading.Barrier(CLIENTS + 1)
        clients: list[Future[list[Answer]]] = [pool.submit(ask_steadily, up, start) for _ in range(CLIENTS)]
        start.wait(PATIENCE)
        save(tmp_path, BROKEN)
        until(lambda: "ERROR" in up.log)
        save(tmp_path, MENDED)
        until(lambda: "mended" in up.log)
        asked = [client.result(PATIENCE) for client in clients]
        last = exchange(up.address, ASK).json["data"]
        log = up.log
    old, new = (200, OLD), (200, tuple(sorted((*OLD, NEW))))
    for answers in asked:
        turned = answers.index(new) if new in answers else len(answers)
        assert answers == [old] * turned + [new] * (len(answers) - turned)
    assert sum(map(len, asked)) == RATE * SECONDS
    assert any(new in answers and old in answers for answers in asked)
    assert NEW in [row["text"] for row in last]
    place = f"{tmp_path / 'fixtures.yaml'}"
    assert log.count("ERROR") == 1
    assert f'{place}:6: memories[0].type: seen "lessson"; expected one of' in log
    assert log.count("memories[0].type") == 1
    assert log.count("INFO fixtures mended; read again: 4 memories") == 1
    assert "Traceback" not in log
    assert KEY not in log


def test_files_are_left_alone_where_that_is_wanted(tmp_path: Path) -> None:
    with running("--port", "0", "--fixtures", write(tmp_path), "--no-reload") as up:
        write(tmp_path, MENDED)
        status = request(line="GET /_mock/fixtures/status HTTP/1.1", key=None)
        assert exchange(up.address, status.replace(b"mock.test", b"localhost")).json["watched"] is False


def test_the_shipped_set_alone_is_not_watched() -> None:
    with running("--port", "0") as up:
        status = request(line="GET /_mock/fixtures/status HTTP/1.1", key=None)
        shown = exchange(up.address, status.replace(b"mock.test", b"localhost")).json
    assert (shown["watched"], shown["last_reload"]) == (False, None)
