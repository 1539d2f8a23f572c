"""The verdict as plain lines, for pytest's own summary and wherever no terminal is watched."""

from __future__ import annotations

from collections.abc import Iterator

from trigger_contracts.verdict import Outcome, Verdict

_STATES = ("held", "broken", "warned", "not exercised")


def lines(verdict: Verdict) -> Iterator[str]:
    """Every line of the verdict."""
    yield f"{'chapter':<8}" + "".join(f"{state:>15}" for state in _STATES)
    for chapter, outcomes in verdict.chapters().items():
        counts = (sum(one.state == state for one in outcomes) for state in _STATES)
        yield f"{chapter:<8}" + "".join(f"{count or '-':>15}" for count in counts)
    if verdict.defects:
        yield ""
        yield "The contract has defects of its own; none is held against the target:"
        for defect in verdict.defects:
            place = f"line {defect.line}, " if defect.line is not None else ""
            yield f"  {defect.defect}  {place}{defect.pointer}"
    for state in ("broken", "warned"):
        for one in verdict.outcomes:
            if one.state == state:
                yield ""
                yield from failure(one)
    open_ = verdict.of("not exercised")
    if open_:
        yield ""
        yield "Not exercised:"
        for one in open_:
            required = " (required)" if one in verdict.missing else ""
            yield f"  {one.id:<8} {one.reason}{required}"
    for text in verdict.remarks:
        yield ""
        yield f"Note: {text}"
    yield ""
    yield f"{verdict.url}, profile {verdict.profile}, seed {verdict.seed}: {traffic(verdict)}"
    yield verdict.summary


def traffic(verdict: Verdict) -> str:
    """What was sent and how long it took."""
    told = f"{verdict.requests} requests ({verdict.compose_calls} under compose) in {verdict.seconds:.1f} s"
    if verdict.rate_limited:
        told += f", {verdict.rate_limited} rate limited, {verdict.waited:.1f} s waited"
    return told


def failure(one: Outcome) -> Iterator[str]:
    """One broken promise."""
    told = one.evidence
    if told is None:
        return
    yield f"{one.state.upper()} {one.id}: {told.message}"
    yield f"  promise   {one.sentence}"
    yield f"  contract  {one.pointer}"
    if told.got:
        status, _, rest = told.got.partition("\n")
        body = rest.partition("\n\n")[2] if rest else ""
        yield f"  got       {_visible(f'{status} {body}'.strip(), 400)}"
    if told.curl:
        yield f"  repeat    {_visible(told.curl, 3000)}"


def _visible(text: str, most: int) -> str:
    """One line that no terminal takes for a command."""
    shown = "".join(
        one if one.isprintable() else " " if one in "\r\n\t" else f"\\x{ord(one):02x}" for one in text
    )
    return shown if len(shown) <= most else f"{shown[:most]}…"
