"""Explanations over HTTP: of any request's body, and of a call in the journal.

Whoever speaks to the control plane holds the fixtures, so rows of the bench's other organisations are shown
as well.
"""

from __future__ import annotations

from typing import Annotated, Any

from flask import request
from pydantic import BaseModel, ConfigDict, Field

from trigger_mock.benches import Bench
from trigger_mock.control.calls import found
from trigger_mock.control.masking import clean, mask_of
from trigger_mock.control.room import Declined, RawBody, Room
from trigger_mock.explain import explain_bytes
from trigger_mock.matching import content_type

room = Room("explanation")

#: Refused before anybody read the body, so nothing in it is why.
_UNREAD = frozenset({401, 404, 405, 413})


class Asked(BaseModel):
    """As whom."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    organisation: (
        Annotated[str, Field(description="Whose key asks; the bench's first one unless said.")] | None
    ) = None


@room.serve("POST", "/benches/{bench}/explain", query=Asked, body=RawBody(), answer=dict[str, Any])
def explain_body(bench: Bench, query: Asked) -> dict[str, Any]:
    """Explain a request by its body, sent as it would be sent to the endpoint."""
    name = _organisation(bench, query.organisation)
    return explain(bench, request.get_data(cache=False), request.content_type, name)


@room.serve("GET", "/benches/{bench}/calls/{number}/explanation", answer=dict[str, Any])
def explain_call(bench: Bench, number: int) -> dict[str, Any]:
    """Explain a call, by the rows as they are now."""
    call = found(bench, number)
    if call.caller is None or (call.status in _UNREAD and call.fault is None):
        raise Declined(
            409, "conflict", f"call {number} was refused with {call.status} before its body was looked at"
        )
    return explain(bench, call.request, content_type(call), call.caller.organisation.name)


def _organisation(bench: Bench, name: str | None) -> str:
    organisations = bench.store.organisations
    if name is None:
        if not organisations:
            raise Declined(409, "conflict", f"the bench {bench.name!r} has no organisation")
        return next(iter(organisations))
    if name not in organisations:
        raise Declined(
            404,
            "not_found",
            f"organisation is {name!r}; expected one of {', '.join(map(repr, organisations))}",
        )
    return name


def explain(bench: Bench, raw: bytes, content_type: str | None, organisation: str) -> dict[str, Any]:
    """Explain a request for a key of an organisation of this bench; keys are masked."""
    explanation = explain_bytes(raw, content_type, organisation, bench.store.rows, operator=True)
    masked: dict[str, Any] = clean(explanation.as_dict(), mask_of(bench))
    return masked
