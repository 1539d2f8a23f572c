"""The command as a pipeline meets it: exit codes, reports, and no key anywhere."""

from __future__ import annotations

import base64
import json
import socket
import urllib.parse
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from tests.servers.serving import serving
from tests.verify.commanding import run

_SOME = ("--profile", "quick", "--seed", "7")


def test_promises_are_listed_with_their_sentences() -> None:
    listed = run("--list")

    assert listed.returncode == 0
    assert "SCOPE-4  must   `group_ids: [a, b]` gives exactly the union" in listed.stdout


def test_nothing_listening_is_one_clear_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    ended = run(f"http://127.0.0.1:{port}")

    assert ended.returncode == 2
    assert "nothing to talk to" in ended.stderr
    assert "connection refused" in ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://x"], "not an http or https URL"),
        (["http://user:word@127.0.0.1:1"], "carries credentials"),
        (["http://127.0.0.1:1", "--only", "SCOPE-99"], "SCOPE-99"),
        (["http://127.0.0.1:1", "--report", "pdf=x"], "expected KIND=FILE"),
        (["http://127.0.0.1:1", "--probes", "/nowhere.yaml"], "/nowhere.yaml"),
        (["http://127.0.0.1:1", "--rate", "fast"], "requests a second"),
        ([], "give the URL"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_would_be_right(arguments: list[str], said: str) -> None:
    ended = run(*arguments)

    assert ended.returncode == 2
    assert said in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr + ended.stdout


def test_without_probes_a_good_server_passes_and_the_rest_is_listed() -> None:
    with serving() as served:
        ended = run(f"{served.url}/v1", *_SOME, served=served)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "SCOPE-4  it needs known rows at the target: --probes FILE" in ended.stdout
    assert "hint: the URL ends in /v1" in ended.stderr


def test_requiring_all_without_probes_could_not_be_judged() -> None:
    with serving() as served:
        ended = run(served.url, *_SOME, "--require", "all", served=served)

    assert ended.returncode == 3


def test_a_spent_budget_could_not_be_judged() -> None:
    with serving() as served:
        ended = run(served.url, *_SOME, "--max-requests", "40", served=served)

    assert ended.returncode == 3
    assert "40 requests is spent" in ended.stdout


def test_four_reports_of_a_failing_run_are_whole_and_hold_no_key(tmp_path: Path) -> None:
    reports = {kind: tmp_path / f"report.{kind}" for kind in ("junit", "json", "markdown", "html")}
    arguments = [f"--report={kind}={path}" for kind, path in reports.items()]
    with serving("any-key") as served:
        arguments += ["--probes", str(served.write_probes(tmp_path)), "--other-api-key-env", "KEY_TWO"]
        ended = run(served.url, *_SOME, *arguments, served=served)

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "BROKEN AUTH-2" in ended.stdout
    document = json.loads(reports["json"].read_text())
    schema = json.loads((files("trigger_contracts.report") / "verdict.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    suites = ET.fromstring(reports["junit"].read_text())  # noqa: S314 - our own file
    assert len(suites.findall(".//testcase")) == len(document["promises"]) == int(suites.get("tests", "0"))
    assert len(suites.findall(".//failure")) == document["counts"]["broken"]
    everything = ended.stdout + ended.stderr + "".join(path.read_text() for path in reports.values())
    for key in (served.key, served.other_key):
        for spelling in (
            key,
            urllib.parse.quote(key),
            base64.b64encode(key.encode()).decode().rstrip("="),
            key[1:],
            key.swapcase(),
        ):
            assert spelling not in everything
