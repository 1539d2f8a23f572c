"""The verdict as Markdown, for the summary of a CI job. What a target said cannot break out of its block."""

from __future__ import annotations

import re

from trigger_contracts.verdict import Outcome, Verdict

_MARKS = {"held": "✅", "broken": "❌", "warned": "⚠️", "not exercised": "➖"}


def render(verdict: Verdict) -> str:
    """The report's text."""
    lines = [
        f"# trigger-verify: {verdict.summary}",
        "",
        (
            f"`{verdict.url}` · profile {verdict.profile} · seed {verdict.seed} "
            f"· {verdict.requests} requests in {verdict.seconds:.1f} s"
        )
        + (
            f" · {verdict.rate_limited} rate limited, {verdict.waited:.0f} s waited"
            if verdict.rate_limited
            else ""
        ),
        "",
        "| chapter | held | broken | warned | not exercised |",
        "|---|---:|---:|---:|---:|",
    ]
    for chapter, outcomes in verdict.chapters().items():
        counts = [sum(one.state == state for one in outcomes) for state in _MARKS]
        lines.append(f"| {chapter} | " + " | ".join(str(count or "") for count in counts) + " |")
    for state, title in (("broken", "Broken"), ("warned", "Warned")):
        found = [one for one in verdict.outcomes if one.state == state]
        if found:
            lines += ["", f"## {title}"]
            for one in found:
                lines += _failure(one)
    open_ = [one for one in verdict.outcomes if one.state == "not exercised"]
    if open_:
        lines += ["", "## Not exercised", "", "| promise | why |", "|---|---|"]
        lines += [
            f"| {one.id} | {_cell(one.reason)}{' **(required)**' if one in verdict.missing else ''} |"
            for one in open_
        ]
    if verdict.remarks:
        lines += ["", "## Remarks", "", *(f"- {_cell(text)}" for text in verdict.remarks)]
    lines += [
        "",
        "<details><summary>Every promise</summary>",
        "",
        "| | promise | | seen |",
        "|---|---|---|---:|",
    ]
    lines += [
        f"| {_MARKS[one.state]} | {one.id} | {_cell(one.sentence)} | {one.seen} |" for one in verdict.outcomes
    ]
    lines += ["", "</details>"]
    if verdict.defects:
        lines += [
            "",
            ("<details><summary>Defects of the contract itself (never held against the target)</summary>"),
            "",
        ]
        lines += [f"- **{one.defect}** `{one.pointer}`: {_cell(one.message)}" for one in verdict.defects]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _failure(one: Outcome) -> list[str]:
    told = one.evidence
    if told is None:
        return []
    return [
        "",
        f"### {one.id}: {_cell(told.message)}",
        "",
        f"> {_cell(one.sentence)} (`{one.pointer}`)",
        "",
        *_block("sh", told.curl),
        "",
        *_block("http", told.got),
    ]


def _block(language: str, text: str) -> list[str]:
    """A fenced block whose fence is longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text, fence]
