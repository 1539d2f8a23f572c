"""Keys stay in the environment: in no output, report, folder or argument list, even when a target echoes
them.
"""

from __future__ import annotations

import base64
import html
import json
import subprocess
import urllib.parse
from pathlib import Path

import psutil
import pytest

from tests.servers.hostile import hostile
from tests.verify.commanding import command, environment, reports, run, whole

#: Invented, with characters that every encoding writes differently.
KEY = "xtk_s3cr&t<Key>/w1th+\"odd'\\chars=="

_SPELLINGS = {
    KEY,
    KEY.swapcase(),
    KEY[::-1],
    KEY[: len(KEY) // 2 + 1],
    KEY[len(KEY) // 2 :],
    json.dumps(KEY)[1:-1],
    urllib.parse.quote(KEY, safe=""),
    urllib.parse.quote_plus(KEY),
    html.escape(KEY),
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
    KEY.encode().hex(),
    "".join(f"\\u{ord(one):04x}" for one in KEY),
}


def _holds_no_key(text: str) -> None:
    readings = (text, html.unescape(text), urllib.parse.unquote(text), text.replace("\\\\", "\\"))
    for reading in readings:
        for spelling in _SPELLINGS:
            assert spelling not in reading


@pytest.mark.parametrize(
    ("kind", "selection"),
    [
        ("echoes-key", ("--only=AUTH", "--only=ERR", "--only=ROB-2")),
        ("echoes-key", ("--profile=quick",)),
        ("echoes-key-spelt", ("--only=AUTH", "--only=ERR", "--only=ROB-2")),
    ],
)
def test_a_target_that_echoes_the_key_gets_it_into_no_report(
    kind: str, selection: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "cwd"
    folder.mkdir()

    with hostile(kind) as url:
        ended = run(
            url, *selection, "--seed=3", "--timeout=2", *reports(tmp_path), folder=folder, KEY_ONE=KEY
        )

    assert ended.returncode == 1
    whole(tmp_path)
    _holds_no_key(ended.stdout + ended.stderr)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            _holds_no_key(path.read_text("utf-8", "replace"))
    assert "[redacted]" in (tmp_path / "report.json").read_text()
    assert list(folder.iterdir()) == [], "nothing is left in the folder that a run was started in"


def test_no_argument_list_shows_the_key() -> None:
    with hostile("hang") as url:
        child = subprocess.Popen(
            command(url, "--timeout=20"),
            env=environment(KEY_ONE=KEY),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stderr is not None
        child.stderr.readline()  # it is about to send
        family = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
        shown = [" ".join(one.cmdline()) for one in family]
        child.terminate()
        _, said = child.communicate(timeout=60)

    assert len(shown) > 1
    _holds_no_key("\n".join([*shown, said]))


def test_plain_pytest_leaves_no_key_and_no_folder_behind(tmp_path: Path) -> None:
    with hostile("echoes-key") as url:
        ended = subprocess.run(
            [
                *(
                    command()[0],
                    "-m",
                    "pytest",
                    "--pyargs",
                    "trigger_contracts",
                    "-p",
                    "trigger_contracts.plugin",
                ),
                *("-p", "no:cacheprovider", "-q", "-l", "--tb=long", "-rA", "-k", "AUTH or ERR or ROB"),
                *(f"--trigger-base-url={url}", "--trigger-api-key-env=KEY_ONE", "--trigger-profile=quick"),
                f"--junitxml={tmp_path / 'pytest.xml'}",
            ],
            env=environment(KEY_ONE=KEY, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert ended.returncode == 1, ended.stdout + ended.stderr
    _holds_no_key(ended.stdout + ended.stderr + (tmp_path / "pytest.xml").read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["pytest.xml"]
