"""`trigger-mock explain`: the story of a call from the terminal, without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mock.processes import KEY, OTHER_KEY, PATIENCE, environment, run, write

ACCEPTANCE = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}
FOUND = {"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}


def body(folder: Path, value: Any) -> str:
    return write(folder, json.dumps(value), "body.json")


def explained(*arguments: str, **variables: str) -> str:
    ended = run("explain", *arguments, **variables)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_the_text_says_what_is_not_read_and_what_it_would_have_fired(tmp_path: Path) -> None:
    assert explained(body(tmp_path, ACCEPTANCE), "--fixtures", write(tmp_path)) == (
        "200 with no rows: no row of north carries the identifier fired\n"
        "asked as north: user_id user-123; lesson and procedure; mode compose\n"
        "\n"
        "Not read\n"
        "  - action.input is not read; action.args would have fired tool_loop.py (1 row)\n"
        "\n"
        "Fired from action: 1 identifier\n"
        "  on no row: x\n"
    )


def test_the_shipped_fixtures_explain_it_too(tmp_path: Path) -> None:
    said = explained(body(tmp_path, ACCEPTANCE))
    assert "action.input is not read; action.args would have fired tool_loop.py" in said


def test_json_is_for_programs(tmp_path: Path) -> None:
    told = json.loads(explained(body(tmp_path, FOUND), "--fixtures", write(tmp_path), "--json"))
    assert told["counts"] == {
        "recalled": 1, "dropped": 0, "kept_out": 1, "rows_of_other_organisations": 1,
    }  # fmt: skip
    assert [(each["fate"], each["rank"], each["organisation"]) for each in told["rows"]] == [
        ("recalled", 1, "north"),
        ("kept out", None, "south"),
    ]


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (["--key", KEY], "north"),
        (["--key", OTHER_KEY], "south"),
        (["--organisation", "south"], "south"),
        ([], "north"),
    ],
)
def test_a_key_or_a_name_says_who_asks(tmp_path: Path, who: list[str], name: str) -> None:
    told = json.loads(explained(body(tmp_path, FOUND), "--fixtures", write(tmp_path), "--json", *who))
    assert told["organisation"] == name
    assert told["counts"]["recalled"] == 1


def test_a_body_comes_from_stdin_too(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "trigger_mock", "explain", "-", "--fixtures", write(tmp_path)],
        input=json.dumps(FOUND),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stdout.startswith("200 with 1 row\n")


@pytest.mark.parametrize("how", ["before", "behind", "variable"])
def test_fixtures_are_named_as_they_are_for_the_server(tmp_path: Path, how: str) -> None:
    file, fixtures = body(tmp_path, FOUND), write(tmp_path)
    before = ["--fixtures", fixtures] if how == "before" else []
    behind = ["--fixtures", fixtures] if how == "behind" else []
    variables = {"TRIGGER_MOCK_FIXTURES": fixtures} if how == "variable" else {}
    ended = run(*before, "explain", file, *behind, **variables)
    assert "asked as north" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'BODY'"),
        (["nowhere.json"], "cannot read 'nowhere.json': No such file or directory"),
        (["."], "cannot read '.': Is a directory"),
        (["{body}", "--key", "xtk_secret"], "--key: no organisation of these fixtures has this key"),
        (["{body}", "--organisation", "west"],
         "--organisation 'west': not in these fixtures; they hold north, south"),
        (["{body}", "--organisation", "north", "--key", "xtk_secret"], "pass one of them"),
        (["{body}", "--fixtures", "nowhere.yaml"], "--fixtures 'nowhere.yaml': no such file or folder"),
        (["{body}", "--nonsense"], "No such option"),
        (["{large}"], "larger than 1 MiB"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_wrong_use_is_one_clear_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    files = {"body": body(tmp_path, FOUND), "large": write(tmp_path, " " * 2**20 + "{}", "large.json")}
    fixtures = write(tmp_path)
    ended = run("explain", *(each.format(**files) for each in arguments), TRIGGER_MOCK_FIXTURES=fixtures)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("trigger-mock: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert "secret" not in ended.stderr


def test_a_body_that_is_no_json_is_explained_as_the_refusal_that_it_draws(tmp_path: Path) -> None:
    said = explained(write(tmp_path, '{"user_id":', "body.json"))
    assert said.startswith("422 invalid_request: ")
    assert "send valid JSON in UTF-8" in said


HOSTILE = "\x1b[31m\u202etool_loop.py\n\nforged"


def test_nothing_hostile_reaches_the_terminal(tmp_path: Path) -> None:
    memory = {"organisation": "o", "type": "lesson", "user_id": HOSTILE, "text": f"a {HOSTILE}",
              "trigger_entities": ["x", f"x {HOSTILE}"]}  # fmt: skip
    store = {"organisations": {"o": {"keys": ["k"]}}, "memories": [memory]}
    fixtures = write(tmp_path, json.dumps(store), "fixtures.json")
    asked = {"user_id": "u", "entities": ["x", HOSTILE], HOSTILE: 1, "action": {HOSTILE: "x"}}
    said = explained(body(tmp_path, asked), "--fixtures", fixtures)
    assert "forged" in said
    assert all(letter.isprintable() or letter == "\n" for letter in said)
    assert not any(line.startswith("forged") for line in said.splitlines())


def test_a_terminal_without_the_letters_still_shows_it(tmp_path: Path) -> None:
    file = body(tmp_path, {"user_id": "nobody", "entities": ["tool_loop.py"]})
    said = explained(file, "--fixtures", write(tmp_path), PYTHONIOENCODING="latin-1")
    assert r"\u2192 would be recalled" in said


def test_neither_flask_nor_a_server_is_loaded_to_explain(tmp_path: Path) -> None:
    program = (
        "import sys; from trigger_mock import command\n"
        f"try: command.main(['explain', {body(tmp_path, FOUND)!r}])\n"
        "except SystemExit: print(sorted({'flask', 'waitress', 'granian'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "[]"
