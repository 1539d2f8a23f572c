"""Why a request is answered as it is, over HTTP: one that is posted, or one that came.

Whoever reads the control plane holds the fixtures, so rows of the bench's other organisations are told of as
well, as the command does.
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from flask import Blueprint, current_app, request
from pydantic import BaseModel, ConfigDict, Field

from trigger_mock.advice import Advice
from trigger_mock.benches import Bench, Benches
from trigger_mock.control.calls import call_of
from trigger_mock.control.masking import clean, mask_of
from trigger_mock.control.operations import Declined, Strict, operation
from trigger_mock.explain import explain_bytes
from trigger_mock.explanation import Explanation
from trigger_mock.journal import Call
from trigger_mock.json_values import is_object
from trigger_mock.matching import content_type

routes = Blueprint("explaining", __name__)

#: Refused before anybody read the body, so nothing in it is why.
_UNREAD = frozenset({401, 404, 405, 413})


class ExplainQuery(Strict):
    """For whose key."""

    organisation: (
        Annotated[str, Field(description="Ask with a key of this organisation; the first unless given.")]
        | None
    ) = None


class ExplanationView(BaseModel):
    """Why a request is answered as it is, as `trigger-mock explain --json` prints it."""

    model_config = ConfigDict(extra="allow")

    object: str
    organisation: str
    status: int
    summary: str
    refusal: dict[str, Any] | None
    mode: str | None
    signal: str | None
    scope: dict[str, Any]
    include: list[str]
    identifiers: list[dict[str, Any]]
    identifiers_left_out: int
    counts: dict[str, int]
    rows: list[dict[str, Any]]
    rows_left_out: int
    unread: list[dict[str, Any]]
    near_misses: list[dict[str, Any]]
    near_misses_left_out: int
    hints: list[str]


class AnsweredView(Strict):
    """The call that is explained."""

    number: int
    status: int = Field(description="What it was answered; a fault or a rate limit may be why.")
    fault: str | None


class CallExplanationView(ExplanationView):
    """Why a call was answered as it was, by the rows as they are now."""

    call: AnsweredView


@routes.post("/benches/<bench>/explain")
@operation("Explain a request.", query=ExplainQuery, raw=True, answer=ExplanationView, errors=(404,))
def explain(bench: str, query: ExplainQuery) -> dict[str, Any]:
    """Explain the body as the endpoint would read it, its `Content-Type` included."""
    benches: Benches = current_app.extensions["trigger_mock"]
    own = benches.named(bench)
    told = _explained(
        own, request.get_data(cache=False), request.content_type, _organisation(own, query.organisation)
    )
    return _as_json(told, benches, own)


@routes.get("/benches/<bench>/calls/<number>/explanation")
@operation("Explain a call.", answer=CallExplanationView, errors=(404,))
def explain_call(bench: str, number: str) -> dict[str, Any]:
    """Explain a call of the journal, for the organisation whose key it came with."""
    benches: Benches = current_app.extensions["trigger_mock"]
    own = benches.named(bench)
    call = call_of(own, number)
    if call.caller is None or (call.status in _UNREAD and call.fault is None):
        told = _refused(call)
    else:
        told = _explained(own, call.request, content_type(call), call.caller.organisation.name)
    answered = {"number": call.number, "status": call.status, "fault": call.fault}
    return {**_as_json(told, benches, own), "call": answered}


def _explained(bench: Bench, raw: bytes, kind: str | None, organisation: str) -> Explanation:
    return explain_bytes(raw, kind, organisation, bench.store.rows, operator=True)


def _organisation(bench: Bench, name: str | None) -> str:
    known = bench.store.organisations
    if name is None:
        return next(iter(known))
    if name not in known:
        raise Declined(404, "not_found", f"no organisation of this name is here; there is {', '.join(known)}")
    return name


def _refused(call: Call) -> Explanation:
    """What was declined whatever its body said, in the words that it was declined with."""
    try:
        body: Any = orjson.loads(call.answer)
        detail = body["detail"]
        code, message = str(detail["code"]), str(detail["message"])
    except (ValueError, LookupError, TypeError):
        body, code, message = {"detail": None}, "refused", "the body was not read"
    advice = Advice(status=call.status, code=code, body=body, lines=(message,), left_out=0)
    return Explanation(
        organisation=call.caller.organisation.name if call.caller else "",
        summary=f"{call.status} {code}: {message}",
        refusal=advice if is_object(body) else None,
    )


def _as_json(told: Explanation, benches: Benches, bench: Bench) -> dict[str, Any]:
    explained: dict[str, Any] = clean(told.as_dict(), mask_of(benches, bench))
    return explained
