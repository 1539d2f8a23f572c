"""The verdict as JSON, by `verdict.schema.json` beside this module."""

from __future__ import annotations

import json
from typing import Any

from trigger_contracts.verdict import Outcome, Verdict

#: Raised when a reader of older reports would be misled.
VERSION = 1


def render(verdict: Verdict) -> str:
    """The report's text."""
    return json.dumps(document(verdict), indent=2, ensure_ascii=True) + "\n"


def document(verdict: Verdict) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "version": VERSION,
        "target": verdict.url,
        "profile": verdict.profile,
        "seed": verdict.seed,
        "started": verdict.started,
        "seconds": round(verdict.seconds, 3),
        "exit_code": verdict.exit_code,
        "summary": verdict.summary,
        "interrupted": verdict.interrupted,
        "strict": verdict.strict,
        "required": list(verdict.require),
        "counts": {state.replace(" ", "_"): number for state, number in verdict.counts().items()},
        "traffic": {
            "requests": verdict.requests,
            "compose_calls": verdict.compose_calls,
            "rate_limited": verdict.rate_limited,
            "seconds_waited": round(verdict.waited, 3),
        },
        "remarks": list(verdict.remarks),
        "contract_defects": [
            {"defect": one.defect, "pointer": one.pointer, "line": one.line, "message": one.message}
            for one in verdict.defects
        ],
        "promises": [_promise(one) for one in verdict.outcomes],
    }


def _promise(one: Outcome) -> dict[str, Any]:
    told = one.evidence
    return {
        "id": one.id,
        "chapter": one.chapter,
        "level": one.level,
        "sentence": one.sentence,
        "contract": one.pointer,
        "state": one.state.replace(" ", "_"),
        "times_seen": one.seen,
        "seconds": round(one.seconds, 3),
        "reason": one.reason or None,
        "cause": one.cause or None,
        "evidence": {"message": told.message, "sent": told.sent, "got": told.got, "curl": told.curl}
        if told
        else None,
    }
