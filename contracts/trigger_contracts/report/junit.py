"""The verdict as JUnit XML: one case a promise, in a suite a chapter. Always well-formed, whatever a target
said.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from trigger_contracts.verdict import Outcome, Verdict

#: What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(verdict: Verdict) -> str:
    """The report's text."""
    suites = verdict.chapters()
    failures = sum(_fails(one, verdict) for one in verdict.outcomes)
    skipped = sum(_skips(one, verdict) for one in verdict.outcomes)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        (
            '<testsuites name="trigger-verify" '
            f'tests="{len(verdict.outcomes)}" failures="{failures}" errors="0" '
            f'skipped="{skipped}" time="{verdict.seconds:.3f}">'
        ),
    ]
    for chapter, outcomes in suites.items():
        lines.append(
            f'<testsuite name="{chapter}" tests="{len(outcomes)}" '
            f'failures="{sum(_fails(one, verdict) for one in outcomes)}" '
            f'errors="0" skipped="{sum(_skips(one, verdict) for one in outcomes)}" '
            f'time="{sum(one.seconds for one in outcomes):.3f}" '
            f'timestamp="{verdict.started.removesuffix("Z")}">'
        )
        if chapter == next(iter(suites)):
            lines.append("<properties>")
            for name, value in (
                ("url", verdict.url),
                ("profile", verdict.profile),
                ("seed", verdict.seed),
                ("requests", verdict.requests),
            ):
                lines.append(f"<property name={quoteattr(name)} value={quoteattr(legal(str(value)))}/>")
            lines.append("</properties>")
        lines += [_case(one, verdict) for one in outcomes]
        lines.append("</testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def legal(text: str) -> str:
    """A text with what XML forbids written out."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _fails(one: Outcome, verdict: Verdict) -> bool:
    return one.state == "broken" or (one.state == "warned" and verdict.strict) or one in verdict.missing


def _skips(one: Outcome, verdict: Verdict) -> bool:
    return one.state == "not exercised" and one not in verdict.missing


def _case(one: Outcome, verdict: Verdict) -> str:
    name = quoteattr(legal(f"{one.id} {one.sentence}"))
    head = f'<testcase classname="trigger_contracts.{one.chapter}" name={name} time="{one.seconds:.3f}"'
    if one.state == "held":
        return f"{head}/>"
    if one.evidence is None:
        told = quoteattr(legal(f"not exercised: {one.reason}"))
        element = (
            f'failure type="not exercised" message={told}'
            if one in verdict.missing
            else f"skipped message={told}"
        )
        return f"{head}><{element}/></testcase>"
    evidence = one.evidence
    text = f"{evidence.message}\ncontract: {one.pointer}\n\nrepeat: {evidence.curl}\n\n"
    text += f"sent:\n{evidence.sent}\n\ngot:\n{evidence.got}"
    body = escape(legal(text))
    if not _fails(one, verdict):
        return f"{head}><system-out>warning: {body}</system-out></testcase>"
    message = quoteattr(legal(evidence.message))
    return f'{head}><failure type="{one.state}" message={message}>{body}</failure></testcase>'
