"""The four reports of one run: whole, readable, and unharmed by whatever a target says."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.servers.hostile import hostile
from tests.servers.serving import serving
from tests.verify.commanding import KINDS, reports, run, states, whole

_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_SOME = ("--profile=quick", "--seed=7", "--timeout=2", "--only=AUTH", "--only=ERR", "--only=ROB-2")


def _opened(page: Path) -> str:
    """What a browser complains about when it opens a page."""
    assert _CHROMIUM
    opened = subprocess.run(
        [
            *(_CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--disable-background-networking", "--disable-component-update", "--no-first-run"),
            *("--enable-logging=stderr", f"--user-data-dir={page.parent / 'browser'}", "--dump-dom"),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    assert "</html>" in opened.stdout
    return "\n".join(line for line in opened.stderr.splitlines() if "CONSOLE" in line)


def test_control_characters_of_a_target_spoil_no_report(tmp_path: Path) -> None:
    with hostile("controls-500") as url:
        ended = run(url, *_SOME, *reports(tmp_path))

    assert ended.returncode == 1
    document = whole(tmp_path)
    assert states(document)["ERR-3"] == "broken"
    failures = ET.fromstring((tmp_path / "report.junit").read_bytes()).findall(".//failure")  # noqa: S314
    assert any('boom \\u0012 \\u0000 \\ufffe ]]> <&"' in (one.text or "") for one in failures)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", ended.stdout + ended.stderr)
    page = (tmp_path / "report.html").read_text()
    assert "]]&gt; &lt;&amp;&quot;" in page
    assert "\x00" not in page


@pytest.mark.skipif(_CHROMIUM is None, reason="needs Chromium")
def test_the_page_opens_in_a_browser_without_complaint(tmp_path: Path) -> None:
    with serving("any-key") as served:
        run(served.url, *_SOME, *reports(tmp_path), served=served)
    faulty = tmp_path / "faulty.html"
    faulty.write_text("<!doctype html><html><script>nothing.at.all()</script></html>")

    assert "CONSOLE" in _opened(faulty)
    assert _opened(tmp_path / "report.html") == ""


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    with hostile("html-200") as url:
        run(url, *_SOME, *reports(tmp_path))

    page = (tmp_path / "report.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"<script|\ssrc=|@import|url\(", page)
    assert re.findall(r'href="([^#][^"]*)"', page) == ["data:,"]
    places = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= places


def test_markdown_keeps_what_a_target_said_in_its_block(tmp_path: Path) -> None:
    with hostile("html-200") as url:
        run(url, *_SOME, *reports(tmp_path))

    text = (tmp_path / "report.markdown").read_text()
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "<h1>Welcome</h1>" in text
    assert "<h1>" not in outside
    assert "```" not in outside
    tables = [line for line in outside.splitlines() if line.startswith("|")]
    assert len(tables) > 10
    assert all(line.rstrip().endswith("|") for line in tables)


def test_a_report_that_cannot_be_written_is_said_and_the_others_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with serving() as served:
        ended = run(
            *(served.url, "--only=AUTH-1", f"--report=json={tmp_path / 'file' / 'r.json'}"),
            f"--report=html={tmp_path / 'there' / 'r.html'}",
            served=served,
        )

    assert ended.returncode == 2
    assert "cannot write" in ended.stderr
    assert (tmp_path / "there" / "r.html").exists()


def test_all_kinds_of_report_come_from_one_run(tmp_path: Path) -> None:
    with serving() as served:
        ended = run(served.url, "--only=AUTH", *reports(tmp_path), served=served)

    assert ended.returncode == 0
    assert whole(tmp_path)["counts"]["held"] == 5
    assert {path.suffix[1:] for path in tmp_path.iterdir()} == set(KINDS)
