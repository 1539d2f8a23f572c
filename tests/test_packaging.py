"""What is built: the wheel and the sdist hold what they should, and the wheel alone answers a request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"trigger_mock", "trigger_contracts", "trigger_fixtures", "trigger_loadtests"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of this checkout, and the wheel made from that sdist."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


def test_the_wheel_holds_the_published_contract_byte_for_byte(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = archive.read("trigger_contracts/openapi.public.json")
    assert shipped == (ROOT / "openapi.public.json").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "trigger_contracts/openapi.effective.json",
        "trigger_contracts/boundaries.json",
        "trigger_contracts/overlay.yaml",
        "trigger_fixtures/fixtures.schema.json",
        "trigger_mock/control/assets/page.css",
        "trigger_mock/control/assets/page.js",
        "trigger_mock/control/templates/frame.html",
        "trigger_fixtures/default/coding.yaml",
        *(f"{package}/py.typed" for package in sorted(PACKAGES)),
    ],
)
def test_the_wheel_holds_the_data_that_its_packages_read(wheel: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert name in archive.namelist()


def test_the_sdist_holds_sources_tests_and_licence_and_no_litter(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "openapi.public.json", "tests/conftest.py"} <= names
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|^\.venv|^dist/|\.hypothesis", name)]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that holds the wheel and what it depends on; the folder of its commands."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([scripts / "python", "-m", "pip", "install", "-q", wheel], check=True, capture_output=True)
    return scripts


def test_the_wheel_alone_answers_a_request(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "trigger-mock"), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env={"PATH": ""}
    ) as server:
        assert server.stdout is not None
        said = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
        assert said is not None
        request = urllib.request.Request(
            f"{said.group()}/v1/memories/trigger",
            json.dumps({"user_id": "user-123", "entities": ["tool_loop.py"]}).encode(),
            {"x-api-key": "xtk_demo_acme", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert json.load(reply)["data"]
        server.terminate()
    assert server.returncode == 0


@pytest.mark.parametrize(
    "module", ["trigger_mock", "trigger_mock.app", "trigger_contracts", "trigger_fixtures"]
)
def test_the_base_install_imports_without_the_tools_of_the_others(
    installed: Path, tmp_path: Path, module: str
) -> None:
    foreign = "schemathesis locust jsonschema hypothesis pytest gevent"
    program = f"import sys, {module}; print(*[name for name in {foreign!r}.split() if name in sys.modules])"
    done = subprocess.run(
        [installed / "python", "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == []
