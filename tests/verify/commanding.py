"""Running `trigger-verify` as a pipeline does, and reading the reports that it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from tests.servers.serving import Served

KINDS = ("junit", "json", "markdown", "html")
STRANGER = "unknown-key-for-nobody"


def environment(served: Served | None = None, **more: str) -> dict[str, str]:
    """The variables of the command, the keys among them."""
    keys = {"KEY_ONE": served.key, "KEY_TWO": served.other_key} if served else {"KEY_ONE": STRANGER}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **keys, **more}


def command(*arguments: str) -> list[str]:
    """The command line of `trigger-verify`."""
    return [sys.executable, "-m", "trigger_contracts", *arguments, "--api-key-env", "KEY_ONE"]


def run(
    *arguments: str, served: Served | None = None, folder: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end; a run that never ends fails the test."""
    return subprocess.run(
        command(*arguments),
        env=environment(served, **more),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def reports(folder: Path) -> list[str]:
    """The options that ask for all four reports."""
    return [f"--report={kind}={folder / f'report.{kind}'}" for kind in KINDS]


def whole(folder: Path) -> dict[str, Any]:
    """The JSON report, once all four are shown to be whole and to agree."""
    document: dict[str, Any] = json.loads((folder / "report.json").read_text())
    schema = json.loads((files("trigger_contracts.report") / "verdict.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    suites = ET.fromstring((folder / "report.junit").read_bytes())  # noqa: S314 - our own file
    assert len(suites.findall(".//testcase")) == len(document["promises"]) == int(suites.get("tests", "-1"))
    assert len(suites.findall(".//failure")) == int(suites.get("failures", "-1"))
    assert (folder / "report.html").read_text().rstrip().endswith("</html>")
    assert (folder / "report.markdown").read_text().startswith("# trigger-verify: ")
    assert not list(folder.glob("*.part"))
    return document


def states(document: dict[str, Any]) -> dict[str, str]:
    """What became of each promise."""
    return {one["id"]: one["state"] for one in document["promises"]}
