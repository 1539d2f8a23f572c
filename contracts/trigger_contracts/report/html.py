"""The verdict as one HTML page that needs nothing beside it: no script, no font, no request to anywhere."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from trigger_contracts.report.junit import legal
from trigger_contracts.report.plain import traffic
from trigger_contracts.verdict import Outcome, Verdict

_STATES = ("held", "broken", "warned", "not exercised")
_SIGNS = {"held": "✓", "broken": "✗", "warned": "!", "not exercised": "–"}


def render(verdict: Verdict) -> str:
    """The page."""
    style = (files("trigger_contracts.report") / "page.css").read_text("utf-8")
    tone = {0: "held", 1: "broken"}.get(verdict.exit_code, "open")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>trigger-verify: {_text(verdict.url)}</title>
<style>
{style}</style>
</head>
<body>
<header class="{tone}">
<p class="what">trigger-verify</p>
<h1>{_text(verdict.summary)}</h1>
<p class="where">{_text(verdict.url)}</p>
<p class="how">profile {verdict.profile} · seed {verdict.seed} · {_text(traffic(verdict))}
· {_text(verdict.started.replace("T", " ").replace("Z", " UTC"))}</p>
{_bar(verdict)}
{_map(verdict)}
</header>
<main>
{_failures(verdict)}
{_open(verdict)}
{_remarks(verdict)}
{_table(verdict)}
{_defects(verdict)}
</main>
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(legal(text))


def _prose(text: str) -> str:
    """A sentence of ours, its words of code set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _map(verdict: Verdict) -> str:
    """Every promise as a small square that leads to what became of it."""
    chapters = "".join(
        f"<li><span>{chapter}</span>"
        + "".join(
            f'<a class="{_tone(one.state)}" href="#{_place(one)}" '
            f'title="{one.id} {one.state}: {_text(one.sentence)}">{one.id.rpartition("-")[2]}</a>'
            for one in outcomes
        )
        + "</li>"
        for chapter, outcomes in verdict.chapters().items()
    )
    return f'<nav aria-label="Every promise"><ul class="map">{chapters}</ul></nav>'


def _place(one: Outcome) -> str:
    """Where the page tells most about a promise."""
    return one.id if one.evidence else f"row-{one.id}"


def _bar(verdict: Verdict) -> str:
    counts = verdict.counts()
    parts = "".join(
        f'<span class="{_tone(state)}" style="flex-grow:{count}" '
        f'title="{count} {state}">{count} {state}</span>'
        for state, count in counts.items()
        if count
    )
    return f'<div class="bar">{parts}</div>'


def _tone(state: str) -> str:
    return state.replace("not exercised", "open")


def _failures(verdict: Verdict) -> str:
    found = verdict.of("broken") + verdict.of("warned")
    if not found:
        return ""
    return "<h2>What is broken, and how to repeat it</h2>\n" + "\n".join(_failure(one) for one in found)


def _failure(one: Outcome) -> str:
    told = one.evidence
    if told is None:
        return ""
    return f"""<article class="{_tone(one.state)}" id="{one.id}">
<h3><b>{one.id}</b> {_prose(told.message)}</h3>
<p class="sentence">{_prose(one.sentence)}</p>
<p class="pointer">contract: {_text(one.pointer)}</p>
<h4>Repeat it</h4>
<pre>{_text(told.curl)}</pre>
<details><summary>What was sent</summary><pre>{_text(told.sent)}</pre></details>
<h4>What came back</h4>
<pre>{_text(told.got)}</pre>
</article>"""


def _open(verdict: Verdict) -> str:
    found = verdict.of("not exercised")
    if not found:
        return ""
    rows = "".join(
        f"<tr><td><b>{one.id}</b></td><td>{_prose(one.sentence)}</td><td>{_prose(one.reason)}"
        f"{' <strong>required</strong>' if one in verdict.missing else ''}</td></tr>"
        for one in found
    )
    head = "<thead><tr><th>promise</th><th></th><th>why</th></tr></thead>"
    return f"<h2>Not exercised</h2>\n<table>{head}<tbody>{rows}</tbody></table>"


def _remarks(verdict: Verdict) -> str:
    if not verdict.remarks:
        return ""
    return "<h2>Remarks</h2>\n<ul>" + "".join(f"<li>{_text(one)}</li>" for one in verdict.remarks) + "</ul>"


def _table(verdict: Verdict) -> str:
    parts = ["<h2>Every promise</h2>"]
    for chapter, outcomes in verdict.chapters().items():
        held = sum(one.state == "held" for one in outcomes)
        rows = "".join(
            f'<tr class="{_tone(one.state)}" id="row-{one.id}"><td class="sign" '
            f'title="{one.state}">{_SIGNS[one.state]}</td><td><b>{one.id}</b></td>'
            f"<td>{_prose(one.sentence)}{' <i>should</i>' if one.level == 'should' else ''}</td>"
            f'<td class="number">{one.seen or ""}</td></tr>'
            for one in outcomes
        )
        parts.append(
            f"<section><h3>{chapter} <small>{held} of {len(outcomes)} held</small></h3>"
            "<table><thead><tr><th></th><th>promise</th><th></th><th "
            f'class="number">seen</th></tr></thead><tbody>{rows}</tbody></table></section>'
        )
    return "\n".join(parts)


def _defects(verdict: Verdict) -> str:
    if not verdict.defects:
        return ""
    rows = "".join(
        f"<tr><td><b>{_text(one.defect)}</b></td><td><code>{_text(one.pointer)}</code></td><td>{_prose(one.message)}</td></tr>"
        for one in verdict.defects
    )
    return (
        "<h2>Defects of the contract itself</h2>\n<p>Faults "
        "of the document itself, repaired before judging; "
        f"none is held against the target.</p>\n<table><tbody>{rows}</tbody></table>"
    )
