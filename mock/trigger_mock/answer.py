"""What a successful call returns: the `SearchResponse`, as bytes.

Contract: `SearchResponse`, `Memory`, and `DirectiveDetails` (repair D2). Keys stand in one order and nothing
here has a clock, so equal requests give equal bytes. Knows nothing of Flask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from trigger_fixtures import Row
from trigger_mock.ask import Mode
from trigger_mock.context import compose
from trigger_mock.gate import judge
from trigger_mock.recall import Hit

#: How much of a simulated latency under `compose` is recall; the gate takes the rest.
RECALL_SHARE = 0.6


def retrieved(hits: Sequence[Hit], seconds: float) -> bytes:
    """The answer under `mode=retrieve`: rows as matched, no gate, no context."""
    rows = [_memory(row, matched_on, None, None) for row, matched_on in hits]
    return _encoded("retrieve", rows, None, {"recall": seconds, "total": seconds}, applied=False)


def composed(hits: Sequence[Hit], task: str | None, seconds: float) -> bytes:
    """The answer under `mode=compose`: the rows that the gate keeps, and the block made of them."""
    kept = [(*hit, verdict) for hit, verdict in zip(hits, judge(task, hits), strict=True) if verdict.kept]
    rows = [
        _memory(row, matched_on, verdict.because, verdict.confidence) for row, matched_on, verdict in kept
    ]
    context = compose((row, matched_on, verdict.because) for row, matched_on, verdict in kept)
    recall = round(seconds * RECALL_SHARE, 4)
    timings = {"recall": recall, "gate": round(seconds - recall, 4), "total": seconds}
    return _encoded("compose", rows, context, timings, applied=bool(hits))


def _encoded(
    mode: Mode, rows: list[dict[str, Any]], context: str | None, timings: dict[str, float], *, applied: bool
) -> bytes:
    return orjson.dumps(
        {
            "object": "search",
            "mode": mode,
            "data": rows,
            "context": context,
            "stage_timings": timings,
            "context_selection_applied": applied,
        }
    )


def _memory(
    row: Row, matched_on: tuple[str, ...], because: str | None, confidence: float | None
) -> dict[str, Any]:
    return {
        "id": row.id,
        "object": "memory",
        "type": row.type,
        "text": row.text,
        "user_id": row.user_id,
        "agent_id": row.agent_id,
        "conv_id": row.conv_id,
        "app_id": row.app_id,
        "group_ids": row.group_ids,
        "categories": row.categories,
        "score": None,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "details": {
            "fact_type": row.fact_type,
            "trigger_entities": row.trigger_entities,
            "matched_on": matched_on,
            "because": because,
            "confidence": confidence,
            "observation_count": row.observation_count,
            "last_confirmed_at": row.last_confirmed_at,
            "steps": row.steps,
        },
    }
