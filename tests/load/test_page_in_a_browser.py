"""The page, opened by a browser: nothing may be wrong on its console, whatever the run was like."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.load.test_accounts import MET, a_search, plan, ran, told
from trigger_loadtests import page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run --enable-logging=stderr --window-size=375,900"
).split()
PAGES: dict[str, dict[str, Any]] = {
    "met": MET,
    "missed": told(ran(plan("spike")), "errors<0.1%", "compose:p50<1ms"),
    "nothing": told(ran(plan(), sent=0), "p95<1s"),
    "capacity": told(a_search("found", 10.0)),
}

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page with")


def opened(folder: Path, text: str) -> tuple[str, list[str]]:
    """Open a page; return the document as the browser understood it, and what its console says."""
    file = folder / "run.html"
    file.write_text(text, encoding="utf-8")
    assert BROWSER is not None
    ended = subprocess.run(
        [BROWSER, *OPTIONS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "</html>" in ended.stdout, ended.stderr
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_a_word_on_the_console(tmp_path: Path, name: str) -> None:
    document, console = opened(tmp_path, page.render(PAGES[name]))

    assert console == []
    assert document.count("<svg") == page.render(PAGES[name]).count("<svg")
    assert PAGES[name]["verdict"]["why"].split(";")[0][:40].replace("<", "&lt;") in document


def test_a_page_with_a_mistake_is_heard(tmp_path: Path) -> None:
    broken = page.render(MET).replace("</body>", "<script>absent()</script></body>")

    assert any("absent is not defined" in line for line in opened(tmp_path, broken)[1])
