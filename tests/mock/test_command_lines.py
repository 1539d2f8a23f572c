"""What the command says before it serves: one line for a wrong use, every mistake, a curl that works."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mock.processes import FIXTURES, environment, run, running, write
from trigger_mock import command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nonsense"], "No such option"),
        (["extra"], "unexpected extra argument"),
        (["--port", "70000"], "--port"),
        (["--host", "nohost.invalid"], "cannot listen on nohost.invalid"),
        (["--host", "a..b"], "this is no host name"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1:8900: Cannot assign requested address"),
        (["--rate-limit", "often"], "600/minute"),
        (["--rate-limit", "0/minute"], "600/minute"),
        (["--daily-cap", "0"], "a number of requests from 1, or none"),
        (["--latency", "slow"], "0.2, 200ms, or realistic"),
        (["--latency", "nan"], "0.2, 200ms, or realistic"),
        (["--latency", "-1"], "0.2, 200ms, or realistic"),
        (["--body-limit", "0"], "--body-limit"),
        (["--log-level", "loud"], "'debug', 'info', 'warning', 'error'"),
        (["--server", "gunicorn"], "waitress"),
        (["--workers", "0"], "--workers"),
        (["--workers", "2", "--server", "waitress"], "take --server granian"),
        (["--port", "0", "--storage", "mysql://u:secret@h"], "expected memory:// or redis://host:port/db"),
        (
            ["--port", "0", "--storage", "redis://:secret@127.0.0.1:1"],
            "no Redis answers at redis://127.0.0.1:1",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_use_is_one_clear_line(arguments: list[str], said: str) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("trigger-mock: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert "secret" not in ended.stderr


@pytest.mark.parametrize("server", ["waitress", "granian"])
def test_a_taken_port_is_one_clear_line(server: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("--port", str(port), "--server", server)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        f"trigger-mock: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose another --port, 0 takes a free one\n"
    )


@pytest.mark.parametrize("option", ["port", "latency", "rate_limit", "workers", "log_level"])
def test_a_wrong_variable_is_one_clear_line_too(option: str) -> None:
    ended = run(**{f"TRIGGER_MOCK_{option.upper()}": "nonsense"})
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "nonsense" in ended.stderr


def test_a_port_that_one_may_not_have_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden(*_: object) -> socket.socket:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("trigger_mock.server.bind", forbidden)
    with pytest.raises(SystemExit, match="2"):
        command.main(["--port", "80"])
    assert capsys.readouterr().err == (
        "trigger-mock: cannot listen on 127.0.0.1:80: Permission denied; "
        "choose another --port, 0 takes a free one\n"
    )


def command_without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where a module is not installed."""
    code = (
        f"import sys; sys.modules[{module!r}] = None; import trigger_mock.command as c; c.main(sys.argv[1:])"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_without_granian_the_extra_is_named() -> None:
    ended = command_without("granian.constants", "--port", "0", "--workers", "2")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith("pip install 'trigger-kit[fast]'")
    assert "Traceback" not in ended.stderr


def test_without_redis_the_extra_is_named() -> None:
    ended = command_without("redis.exceptions", "--port", "0", "--storage", "redis://127.0.0.1:1")
    assert ended.returncode == 2
    assert ended.stderr.endswith("pip install 'trigger-kit[redis]'\n")


WRONG = """
organisations: {north: {keys: [k]}}
memories:
  - {organisation: north, type: lessson, text: a, user_id: u, trigger_entities: [x]}
  - {organisation: nowhere, type: lesson, text: b, user_id: u, trigger_entities: [x]}
"""


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--check"], 1)], ids=["serve", "check"])
def test_every_mistake_of_the_fixtures_is_listed(tmp_path: Path, arguments: list[str], code: int) -> None:
    ended = run("--fixtures", write(tmp_path, WRONG), *arguments)
    assert ended.returncode == code
    assert ended.stdout == ""
    assert "2 mistakes" in ended.stderr
    assert "lessson" in ended.stderr
    assert "nowhere" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("arguments", [[], ["--check"]], ids=["serve", "check"])
@pytest.mark.parametrize("name", ["missing.yaml", ""])
def test_fixtures_that_are_not_there_are_one_line(tmp_path: Path, arguments: list[str], name: str) -> None:
    missing = str(tmp_path / name) if name else ""
    ended = run("--fixtures", missing, *arguments)
    assert ended.returncode == 2
    assert ended.stderr == f"trigger-mock: --fixtures {missing!r}: no such file or folder\n"


def test_check_tells_of_rows_that_no_request_can_recall(tmp_path: Path) -> None:
    row = "{organisation: a, type: lesson, text: t, trigger_entities: [e]}"
    lonely = f"organisations: {{a: {{keys: [k]}}}}\nmemories: [{row}]"
    ended = run("--check", "--fixtures", write(tmp_path, lonely))
    assert ended.returncode == 0
    assert ended.stderr == "note: 1 of these rows carry no scope, so no request can recall them\n"


def test_check_says_what_the_fixtures_hold_and_serves_nothing(tmp_path: Path) -> None:
    path = write(tmp_path)
    ended = run("--check", "--fixtures", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"fixtures are valid: {path} (3 memories, of which the endpoint recalls 3)\n"


def test_own_fixtures_lie_over_the_shipped_ones(tmp_path: Path) -> None:
    shipped, both = run("--check"), run("--check", "--fixtures", "default", "--fixtures", write(tmp_path))
    counts = [int(re.findall(r"\((\d+) memories", ended.stdout)[0]) for ended in (shipped, both)]
    assert counts[1] == counts[0] + 3


def test_the_address_keys_and_fixtures_are_announced_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path)
    with running("--port", "0", "--fixtures", path) as up:
        address = f"http://127.0.0.1:{up.address[1]}"
    assert up.announced == (
        f"trigger-mock answers at {address} | keys: north xtk_test_north, xtk_test_north_second; "
        f"south xtk_test_south | fixtures: {path} (3 memories, of which the endpoint recalls 3)"
    )


AWKWARD = {
    "quotes": """organisations: {o'hara: {keys: ["k'ey"]}}
memories: [{organisation: o'hara, type: lesson, text: t,
  user_id: "it's \\"me\\"", trigger_entities: ["$(x) `y` 'z'"]}]""",
    "letters": """organisations: {nörd: {keys: [key]}}
memories: [{organisation: nörd, type: lesson, text: t, app_id: прод, trigger_entities: ["メモリ🙂"]}]""",
    "a group alone": """organisations: {o: {keys: [k]}}
memories: [{organisation: o, type: procedure, text: t,
  group_ids: [g1, g2], trigger_entities: [x], steps: [s]}]""",
    "facts first": """organisations: {o: {keys: [k]}}
memories: [
  {organisation: o, type: fact, text: t, user_id: u},
  {organisation: o, type: lesson, text: t, agent_id: a, trigger_entities: [x]}]""",
    "a gate that keeps nothing": """organisations: {o: {keys: [k]}}
memories: [{organisation: o, type: lesson, text: t, user_id: u, trigger_entities: [x], gate: never}]""",
}


@pytest.mark.parametrize("fixtures", [None, FIXTURES, *AWKWARD.values()], ids=["shipped", "plain", *AWKWARD])
def test_the_printed_curl_returns_rows(tmp_path: Path, fixtures: str | None) -> None:
    options = [] if fixtures is None else ["--fixtures", write(tmp_path, fixtures)]
    with running("--port", "0", *options) as up:
        assert shlex.split(up.example)[0] == "curl"
        answered = subprocess.run(["bash", "-c", up.example], capture_output=True, timeout=20, check=True)
    assert json.loads(answered.stdout)["data"]


def test_a_terminal_without_the_letters_still_gets_a_curl_that_works(tmp_path: Path) -> None:
    fixtures = AWKWARD["letters"]
    with running(
        "--port", "0", "--fixtures", write(tmp_path, fixtures), variables={"PYTHONIOENCODING": "ascii"}
    ) as up:
        answered = subprocess.run(["bash", "-c", up.example], capture_output=True, timeout=20, check=True)
    assert json.loads(answered.stdout)["data"]


def test_fixtures_without_a_row_to_reach_say_so(tmp_path: Path) -> None:
    with running("--port", "0", "--fixtures", write(tmp_path, "organisations: {o: {keys: [k]}}")) as up:
        assert "can be recalled" in up.example


def test_help_fits_a_screen_and_names_every_option() -> None:
    ended = run("--help")
    options = (
        "host port fixtures rate-limit daily-cap storage body-limit latency seed workers server "
        "allow-token-scheme log-level check"
    )
    assert ended.returncode == 0
    assert len(ended.stdout.splitlines()) <= 45
    assert all(f"--{option}" in ended.stdout for option in options.split())
