"""What an action fires, rule by rule, and that no input makes the extraction slow or crash."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trigger_mock.ask import ActionContext
from trigger_mock.identifiers import LONGEST_PART, MOST_SEGMENTS, identifiers, read, sources


def fired(**action: Any) -> frozenset[str]:
    return identifiers(ActionContext(**action))


def of(text: str) -> set[str]:
    found: set[str] = set()
    read(text, found)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("  tool_loop.py \n", "tool_loop.py", id="the whole text, trimmed"),
        pytest.param("raised AbortError in loop", "AbortError", id="a word"),
        pytest.param('raised "AbortError".', "AbortError", id="a word in quotes with a full stop"),
        pytest.param("(see [FIN-409]!)", "FIN-409", id="a word in nested brackets"),
        pytest.param("see «FIN-409»…", "FIN-409", id="a word in guillemets"),
        pytest.param("cd /x && gh pr view 12 --json title", "gh pr view", id="three consecutive words"),
        pytest.param("please run 'gh pr view', then", "gh pr view", id="consecutive words in quotes"),
        pytest.param(
            "git push\n  --force-with-lease now",
            "git push --force-with-lease now",
            id="four words over a line",
        ),
        pytest.param(
            "PR=$(gh pr view 12 --json number)", "gh pr view", id="consecutive words in a substitution"
        ),
        pytest.param('run --cmd="gh pr view"', "gh pr view", id="consecutive words behind an equals sign"),
        pytest.param("customers.parquet", "customers", id="the stem of a file with a longer ending"),
        pytest.param("src/app/loop.py", "app/loop.py", id="a trailing sub-path"),
        pytest.param("src/app/loop.py", "loop.py", id="the file of a path"),
        pytest.param("src/app/loop.py", "loop", id="the stem of a path's file"),
        pytest.param("loop.py", "loop", id="the stem of a file on its own"),
        pytest.param(
            "/home/me/My Project/src/loop.py", "My Project/src/loop.py", id="a sub-path with a blank"
        ),
        pytest.param(r"C:\work\app\loop.py", "app/loop.py", id="a back-slashed path, slashed"),
        pytest.param(r"C:\work\app\loop.py", r"app\loop.py", id="a back-slashed path as it is"),
        pytest.param(r"C:\\work\\app\\loop.py", "work/app/loop.py", id="doubled back-slashes"),
        pytest.param("https://api.acme.test/v1/refunds?limit=3#top", "v1/refunds", id="a URL's path"),
        pytest.param(
            "https://api.acme.test/v1/refunds?limit=3#top", "/v1/refunds", id="a URL's absolute path"
        ),
        pytest.param("GET /v1/refunds?limit=3", "/v1/refunds", id="a route without its query"),
        pytest.param("stripe.refunds.create", "refunds.create", id="a trailing part of a dotted name"),
        pytest.param("stripe.refunds.create", "create", id="the last part of a dotted name"),
        pytest.param("std::fs::read_to_string", "fs::read_to_string", id="a trailing part of a :: name"),
        pytest.param("tests/test_loop.py::TestLoop::test_abort", "TestLoop", id="a piece between colons"),
        pytest.param("tests/test_loop.py::TestLoop::test_abort", "test_loop.py", id="the file of a piece"),
        pytest.param("loop.py:42:7: error", "loop.py", id="a piece before a line number"),
        pytest.param("--region=eu-west-1", "eu-west-1", id="a piece after an equals sign"),
        pytest.param("refund(invoice,FIN-409)", "FIN-409", id="a piece between comma and bracket"),
        pytest.param('{"code":"FIN-409","n":1}', "FIN-409", id="a piece of JSON without blanks"),
        pytest.param("読み込み エラー: 設定.yaml が壊れた", "設定.yaml", id="a word that is not ASCII"),
        pytest.param("--path=/srv/app/цикл.py", "app/цикл.py", id="the sub-path of a piece"),
    ],
)
def test_a_text_fires(text: str, expected: str) -> None:
    assert expected in of(text)


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        pytest.param("/home/users/ann/loop.py", "users", id="a directory's name alone"),
        pytest.param("/home/users/", "users", id="a directory with a trailing slash"),
        pytest.param(r"C:\Users\ann\loop.py", "Users", id="a directory of a back-slashed path"),
        pytest.param("https://api.acme.test/v1/refunds", "v1", id="a segment in the middle of a URL"),
        pytest.param("/srv/app/(auth)/login/page.tsx", "auth", id="a directory's name in brackets"),
        pytest.param("(auth)/login/page.tsx", "auth", id="a first directory's name in brackets"),
        pytest.param("/home/(users)/", "users", id="a last directory's name in brackets"),
        pytest.param("src/app/loop.py", "src/app", id="the head of a path"),
        pytest.param("src/app/loop.py", "py", id="the ending of a path's file"),
        pytest.param("rerun", "run", id="a part of a word"),
        pytest.param("AbortError", "aborterror", id="another case"),
        pytest.param("a b c d e", "a b c d e x", id="more than was said"),
        pytest.param("one two three four five six", "one two three four five", id="five consecutive words"),
    ],
)
def test_a_text_does_not_fire(text: str, silent: str) -> None:
    assert silent not in of(text)


def test_the_tool_the_values_of_args_and_the_output_fire_and_the_keys_of_args_do_not() -> None:
    found = fired(
        tool="linode_api",
        args={"file_path": "a.py", "edits": [{"old_string": "x1"}, ["deep", {"k": {"kk": "deeper"}}]]},
        output="exit AbortError",
    )
    assert {"linode_api", "a.py", "x1", "deep", "deeper", "AbortError"} <= found
    assert found.isdisjoint({"file_path", "edits", "old_string", "k", "kk"})


def test_numbers_and_booleans_fire_by_their_json_text_and_null_does_not() -> None:
    assert fired(args={"a": 404, "b": True, "c": None, "d": [False, -1]}) == {"404", "true", "false", "-1"}


def test_an_empty_action_fires_nothing() -> None:
    assert fired() == fired(tool="", args={}, output=" \n ") == frozenset()


def test_every_source_says_where_it_stands() -> None:
    action = ActionContext(tool="Edit", args={"a": [{"b": "x"}, 7], "c": "y"}, output="z")
    assert list(sources(action)) == [
        ("action.tool", "Edit"),
        ("action.args.a[0].b", "x"),
        ("action.args.a[1]", 7),
        ("action.args.c", "y"),
        ("action.output", "z"),
    ]


def test_arguments_nested_beyond_any_stack_are_read() -> None:
    nested: Any = "bottom.py"
    for _ in range(sys.getrecursionlimit() * 5):
        nested = [nested]
    assert "bottom.py" in identifiers(ActionContext.model_construct(args={"x": nested}))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a/" * 200_000, id="a path of endless segments"),
        pytest.param("a." * 200_000, id="a name of endless parts"),
        pytest.param("::" * 200_000, id="nothing but joints"),
        pytest.param("a=" * 200_000, id="endless pieces"),
        pytest.param("x " * 200_000, id="endless words"),
        pytest.param("\\" * 400_000, id="nothing but back-slashes"),
        pytest.param("(" * 400_000, id="nothing but brackets"),
    ],
)
def test_what_is_made_of_a_text_stays_in_proportion_to_it(text: str) -> None:
    found = of(text)
    derived = [identifier for identifier in found if identifier != text.strip()]
    assert len(found) <= len(text.split()) * 9 + text.count("=") * 2 + 4 * MOST_SEGMENTS
    assert all(len(identifier) <= max(LONGEST_PART, len(text)) for identifier in derived)


@given(st.text() | st.text("ab/\\.:=(), \"'`\n"))
def test_any_text_fires_its_trimmed_self_and_its_words_and_nothing_empty(text: str) -> None:
    found = of(text)
    assert "" not in found
    assert set(text.split()) <= found
    assert text.strip() in found or not text.split()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_any_json_value_in_args_is_read(value: Any) -> None:
    assert all(isinstance(identifier, str) for identifier in fired(args={"value": value}))
