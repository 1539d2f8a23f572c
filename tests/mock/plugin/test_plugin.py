"""The pytest plugin: what a test is given, what a failing one shows, and what it costs those who do not use
it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mock.plugin.running import run_tests
from tests.mock.processes import run_code, running
from trigger_fixtures import default
from trigger_mock import Settings, create_app
from trigger_mock.server import serving


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(default())) as base_url:
        yield base_url


def test_loading_it_loads_nothing_else() -> None:
    code = """
import sys, pytest
before = set(sys.modules)
import trigger_mock.plugin
print(*sorted(set(sys.modules) - before))
"""
    assert run_code(code).stdout.split() == ["trigger_mock", "trigger_mock.plugin"]


def test_installing_the_kit_brings_it() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"]["trigger_mock"] == "trigger_mock.plugin"


def test_a_test_has_a_bench_of_its_own(tmp_path: Path, url: str) -> None:
    done = run_tests(
        tmp_path,
        """
seen = set()

@pytest.mark.parametrize("at", [1, 2])
def test_alone(trigger_mock, at):
    assert trigger_mock.rows.all() == [] and trigger_mock.calls == []
    assert trigger_mock.api_key not in seen
    seen.add(trigger_mock.api_key)
    row = trigger_mock.rows.add(text="mine", trigger_entities=["e"], user_id="u")
    status, answer = send(trigger_mock, {"user_id": "u", "entities": ["e"]})
    assert status == 200
    assert trigger_mock.assert_recalled(row).recalled == (row["id"],)
""",
        f"--trigger-mock-url={url}",
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_bench_is_closed_behind_its_test(tmp_path: Path, url: str) -> None:
    done = run_tests(
        tmp_path,
        """
left = []

def test_first(trigger_mock):
    left.append(trigger_mock)

def test_second():
    assert send(left[0], {"user_id": "u", "entities": ["e"]})[0] == 401

def test_third(trigger_mock):
    trigger_mock.close()
""",
        f"--trigger-mock-url={url}",
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory, url: str) -> str:
    """What tests print that fail in all the ways that concern us."""
    done = run_tests(
        tmp_path_factory.mktemp("failing"),
        """
import os

@pytest.fixture(autouse=True)
def keep_keys(trigger_mock):
    with open("keys", "a") as file:
        print(trigger_mock.api_key, file=file)

def test_silent(trigger_mock):
    trigger_mock.assert_called(times=1)

def test_unread(trigger_mock):
    trigger_mock.rows.add(text="meant", trigger_entities=["tool_loop.py"], user_id="user-123")
    action = {"tool": "x", "input": {"file_path": "tool_loop.py"}}
    send(trigger_mock, {"user_id": "user-123", "action": action})
    assert "says" == "what went wrong"

def test_near(trigger_mock):
    row = trigger_mock.rows.add(text="meant", trigger_entities=["tool_loop.py"], user_id="user-123")
    send(trigger_mock, {"user_id": "user-123", "entities": ["Tool_Loop.py"]})
    trigger_mock.assert_recalled(row)

def test_scope(trigger_mock):
    theirs = {"id": "5f0c2f0e-6f0a-5d0b-9c57-0d4f6b1a7e21", "user_id": "somebody-else"}
    row = trigger_mock.rows.add(theirs, text="theirs", trigger_entities=["e"])
    send(trigger_mock, {"user_id": "user-123", "entities": ["e"]})
    trigger_mock.assert_recalled(row)

def test_refused(trigger_mock):
    send(trigger_mock, {"entities": ["e"], "note": trigger_mock.api_key})
    trigger_mock.wait_for_calls(2, timeout=0.1, status=422)

def test_compared(trigger_mock):
    send(trigger_mock, {"user_id": "u", "entities": ["e"]})
    assert trigger_mock.calls == []

def test_many(trigger_mock):
    for _ in range(30):
        send(trigger_mock, {"user_id": "u", "entities": ["e" * 5000]})
    raise SystemExit(3)

def test_closed(trigger_mock):
    trigger_mock.close()
    assert not "open"
""",
        f"--trigger-mock-url={url}",
    )
    assert "8 failed" in done.stdout, done.stdout + done.stderr
    keys = (Path(str(done.args[done.args.index("--basetemp") + 1])).parent / "keys").read_text().split()
    assert len(keys) == 8
    assert not [key for key in keys if key in done.stdout + done.stderr]
    return done.stdout


def shown(failures: str, test: str) -> str:
    """What is printed of one of them."""
    parts = re.split(r"^_+ (\w+) _+$", failures, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[test]


def test_a_failing_test_shows_what_was_sent_and_what_came_back(failures: str) -> None:
    text = shown(failures, "test_unread")
    assert "- trigger-mock calls -" in text
    assert '"input": {"file_path": "tool_loop.py"}' in text
    assert '"data": []' in text


def test_a_failing_test_shows_what_was_not_read(failures: str) -> None:
    assert re.search(r"unread .*action\.input.*send it as action\.args", shown(failures, "test_unread"))


def test_a_failing_test_shows_what_nearly_matched(failures: str) -> None:
    assert re.search(r"near .*Tool_Loop\.py.*tool_loop\.py.*case", shown(failures, "test_near"))


def test_a_failing_test_shows_why_its_row_was_kept_out(failures: str) -> None:
    assert re.search(r"row +5f0c2f0e-\S+ was kept out: .*user_id", shown(failures, "test_scope"))


def test_a_test_whose_client_never_called_is_told_how_to_call(failures: str) -> None:
    text = shown(failures, "test_silent")
    assert "expected 1 call, got 0" in text
    assert "no call reached the bench" in text


def test_waiting_in_vain_says_what_came_instead(failures: str) -> None:
    text = shown(failures, "test_refused")
    assert "1 of 2 calls with status=422 within 0.1 s" in text
    assert "-> 422" in text


def test_compared_calls_are_shown_by_a_line_each(failures: str) -> None:
    text = shown(failures, "test_compared")
    assert "#1 POST /v1/memories/trigger -> 200, recalled nothing" in text
    assert "right: none" in text


def test_what_is_shown_is_bounded(failures: str) -> None:
    text = shown(failures, "test_many")
    assert "30 calls, of which the last 10" in text
    assert len(text) < 20_000


def test_a_bench_that_is_gone_does_not_hide_why_the_test_failed(failures: str) -> None:
    text = shown(failures, "test_closed")
    assert "assert not 'open'" in text
    assert "not to be had" in text


def test_a_server_that_runs_already_may_be_named_by_the_environment(tmp_path: Path, url: str) -> None:
    tests = f"def test_url(trigger_mock):\n    assert trigger_mock.url == {url!r}\n"
    done = run_tests(tmp_path, tests, TRIGGER_MOCK_URL=f"{url}/")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert not list((tmp_path / "base").glob("trigger-mock*"))


def test_a_server_with_a_token_is_spoken_to_with_it(tmp_path: Path) -> None:
    settings = Settings(control_token="sesame-opens")  # noqa: S106 - a token of this test
    with serving(create_app(default(), settings=settings)) as url:
        tests = "def test_url(trigger_mock):\n    assert trigger_mock.calls == []\n"
        there = (tmp_path, tests, f"--trigger-mock-url={url}", "--trigger-mock-token-env=WORD")
        right, wrong = run_tests(*there, WORD="sesame-opens"), run_tests(*there, WORD="sesame-shuts")
    assert "1 passed" in right.stdout, right.stdout + right.stderr
    assert "Authorization: Bearer" in wrong.stdout
    assert "sesame" not in wrong.stdout + wrong.stderr


def test_a_server_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    tests = "def test_url(trigger_mock):\n    pass\n"
    done = run_tests(tmp_path, tests, "--trigger-mock-url=http://127.0.0.1:9")
    assert "nothing answers at http://127.0.0.1:9" in done.stdout
    assert "1 error" in done.stdout


def test_a_server_of_another_kind_is_said_so(tmp_path: Path) -> None:
    with running("--port", "0", "--no-control") as mock:
        done = run_tests(
            tmp_path, "def test_url(trigger_mock):\n    pass\n", f"--trigger-mock-url={mock.url}"
        )
    assert "is no control plane of the mock" in done.stdout


def test_a_mark_says_how_a_bench_begins(tmp_path: Path, url: str) -> None:
    done = run_tests(
        tmp_path,
        """
@pytest.mark.trigger_mock(start="default")
def test_default(trigger_mock):
    assert len(trigger_mock.rows) > 50

@pytest.mark.trigger_mock(fixtures={
    "organisations": {"north": {"keys": ["any"]}, "south": {"keys": ["any-other"]}},
    "memories": [{"organisation": "south", "type": "lesson", "text": "t", "trigger_entities": ["e"],
                  "user_id": "u"}],
})
def test_fixtures(trigger_mock):
    assert [row["organisation"] for row in trigger_mock.rows.all()] == ["south"]
    assert set(trigger_mock.api_keys) == {"north", "south"}
    assert send(trigger_mock, {"user_id": "u", "entities": ["e"]})[1]["data"] == []

@pytest.mark.trigger_mock(begin="default")
def test_wrong(trigger_mock):
    pass
""",
        f"--trigger-mock-url={url}",
        "--strict-markers",
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "unexpected keyword argument 'begin'" in done.stdout
