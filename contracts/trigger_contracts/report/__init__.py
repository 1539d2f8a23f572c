"""Writing a verdict down: JUnit for CI, JSON for programs, Markdown for a job summary, HTML for people."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from trigger_contracts.verdict import Verdict

__all__ = ["KINDS", "write"]

#: The kinds of report and the module that writes each.
KINDS = {"junit": "junit", "json": "as_json", "markdown": "markdown", "html": "html"}


def write(kind: str, path: Path, verdict: Verdict) -> None:
    """Write one report, whole or not at all."""
    text: str = import_module(f"trigger_contracts.report.{KINDS[kind]}").render(verdict)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    draft.write_text(text, encoding="utf-8", errors="backslashreplace")
    draft.replace(path)
