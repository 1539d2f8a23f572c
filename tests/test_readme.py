"""Every example of the README is run, in its order, and prints what stands there.

`sh` and `python` blocks run to their end; a `text` block behind one is what it printed, `…` standing for
anything. A `console` block is set-up, which `.ci/run` runs; where it ends in a server, that server is
started and lasts for the rest of the page.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from trigger_contracts.__main__ import main as verify
from trigger_contracts.promises import catalogue

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "8900"
SERVER = "trigger-mock"


def blocks() -> list[tuple[str, str, str | None]]:
    """(kind, code, what it prints) of every runnable block."""
    found = FENCE.findall(README)
    return [
        (kind, code, found[at + 1][1] if found[at + 1 : at + 2] and found[at + 1][0] == "text" else None)
        for at, (kind, code) in enumerate(found)
        if kind != "text"
    ]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder like a clone, and a free port in place of the one that the page shows."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    return folder, port


def environment(port: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "TRIGGER_MOCK_PORT": port, "COLUMNS": "100"}


def matches(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows, `…` standing for anything."""
    pattern = ".*".join(map(re.escape, shown.strip().split("…")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def test_every_example_prints_what_stands_behind_it(bench: tuple[Path, str]) -> None:
    folder, port = bench
    with contextlib.ExitStack() as servers:
        for kind, code, shown in blocks():
            code, shown = code.replace(PORT, port), shown and shown.replace(PORT, port)
            if kind == "console" and code.strip().endswith(SERVER):
                printed = serve(SERVER, environment(port), folder, servers, lines=(shown or "").count("\n"))
            elif kind in {"sh", "python"}:
                program = (
                    ["bash", "-euo", "pipefail", "-c", code] if kind == "sh" else [sys.executable, "-c", code]
                )
                done = subprocess.run(
                    program, cwd=folder, env=environment(port), capture_output=True, text=True, timeout=120
                )
                assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
                printed = done.stdout
            else:
                assert kind in {"console", "yaml"}, f"a block of kind {kind!r} is run by nothing"
                continue
            assert shown is None or matches(printed, shown), (
                f"{code}\nprinted\n{printed}\nin place of\n{shown}"
            )


def serve(code: str, env: dict[str, str], folder: Path, servers: contextlib.ExitStack, lines: int) -> str:
    """Start a server that lasts as long as `servers`; return the first lines that it prints."""
    command = ["bash", "-c", f"exec {code}"]
    server = servers.enter_context(
        subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    )
    servers.callback(server.terminate)
    assert server.stdout is not None
    return "".join(server.stdout.readline() for _ in range(lines))


def test_ci_runs_the_set_up_for_the_tests_word_for_word() -> None:
    consoles = [code.strip() for kind, code, _ in blocks() if kind == "console" and "pytest" in code]
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert consoles
    assert all(command in script for command in consoles)


def test_the_jobs_for_ci_are_yaml_that_runs_our_commands() -> None:
    documents = [yaml.safe_load(code) for kind, code, _ in blocks() if kind == "yaml"]
    (github,) = [document for document in documents if "jobs" in document]
    (gitlab,) = [document["contract"] for document in documents if "contract" in document]
    steps = github["jobs"]["contract"]["steps"]
    assert all(set(step) <= {"uses", "with", "run", "name", "env", "if"} for step in steps)
    commands = [*(step.get("run", "") for step in steps), *gitlab["script"]]
    runs = [command.split() for command in commands if command.startswith("trigger-verify")]
    known = {name for option in verify.params for name in option.opts}
    assert len(runs) == 2
    assert all(word in known for run in runs for word in run if word.startswith("--"))


def test_the_table_of_promises_is_the_catalogue() -> None:
    rows = re.findall(r"^\| ([A-Z]+-\d+) \| (.+) \| (must|should) \| (.*) \|$", README, re.MULTILINE)
    assert rows == [
        (promise.id, promise.sentence, promise.level, ", ".join(promise.needs)) for promise in catalogue()
    ]
