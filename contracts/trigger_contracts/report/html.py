"""The verdict as one HTML page that needs nothing beside it: no script, no font, no request to anywhere."""

from __future__ import annotations

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
· {_text(verdict.started)}</p>
{_bar(verdict)}
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
<h3><b>{one.id}</b> {_text(told.message)}</h3>
<p class="sentence">{_text(one.sentence)} <code>{_text(one.pointer)}</code></p>
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
        f"<tr><td><b>{one.id}</b></td><td>{_text(one.sentence)}</td><td>{_text(one.reason)}"
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
            f'<tr class="{_tone(one.state)}"><td class="sign" '
            f'title="{one.state}">{_SIGNS[one.state]}</td><td><b>{one.id}</b></td>'
            f"<td>{_text(one.sentence)}{' <i>should</i>' if one.level == 'should' else ''}</td>"
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
        f"<tr><td><b>{_text(one.defect)}</b></td><td><code>{_text(one.pointer)}</code></td><td>{_text(one.message)}</td></tr>"
        for one in verdict.defects
    )
    return (
        "<h2>Defects of the contract itself</h2>\n<p>Faults "
        "of the document itself, repaired before judging; "
        f"none is held against the target.</p>\n<table><tbody>{rows}</tbody></table>"
    )
