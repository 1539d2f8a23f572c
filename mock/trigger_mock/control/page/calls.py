"""Calls on the page: the list that grows as they come, and each by itself with its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from flask import Blueprint, Response, render_template, request
from pydantic import ValidationError
from werkzeug.wrappers import Response as AnyResponse

from trigger_mock.benches import Bench
from trigger_mock.control.calls import CallShown, call_shown, found
from trigger_mock.control.explaining import explain_call
from trigger_mock.control.masking import Mask, mask_of
from trigger_mock.control.page.frame import bench_of, done, page
from trigger_mock.control.page.repeat import curl
from trigger_mock.control.room import Declined, benches, invalid
from trigger_mock.journal import Call
from trigger_mock.json_values import is_array, is_object
from trigger_mock.matching import Match, content_type
from trigger_mock.reading import Reading

#: Calls of one page.
MOST = 50
#: Identifiers that a line names.
MOST_NAMED = 3
LONGEST_NAMED = 40
FILTERS = ("status", "tool", "entity", "user_id", "organisation", "mode", "recalled", "fault", "request_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A call in the list. `recalled`: rows in the answer, None where it holds no list of them."""

    call: CallShown
    tool: str | None
    named: tuple[str, ...]
    unnamed: int
    recalled: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The newest calls that match. `state`: what the journal was like, for telling whether it changed."""

    lines: list[Line]
    matching: int
    kept: int
    older: int | None
    state: str
    filters: dict[str, str]
    mistake: str | None


def register(routes: Blueprint) -> None:
    """Put the pages in their places."""
    routes.get("/")(home)
    routes.get("/page/<bench>/calls")(calls)
    routes.get("/page/<bench>/calls/live")(live)
    routes.get("/page/<bench>/calls/<int:number>")(call)
    routes.post("/page/<bench>/calls/clear")(clear)


def home() -> str:
    """The calls of the default bench."""
    return calls(benches().default.name)


def calls(bench: str) -> str:
    """The list, newest first."""
    return page("calls.html", bench_of(bench), "calls", listing=listing(bench_of(bench)))


def live(bench: str) -> Response:
    """The list alone, or nothing while it is as it was."""
    listed = listing(bench_of(bench), unless=request.args.get("state", ""))
    if listed is None:
        return Response(status=204)
    return Response(render_template("lines.html", bench=bench_of(bench), listing=listed))


def call(bench: str, number: int) -> str:
    """One call: what came, what went, and why."""
    owner = bench_of(bench)
    kept = found(owner, number)
    mask = mask_of(owner)
    shown = call_shown(kept, mask)
    explanation, unexplained = None, ""
    try:
        explanation = explain_call(owner, number)
    except Declined as declined:
        unexplained = str(declined)
    return page(
        "call.html",
        owner,
        "calls",
        line=_line(kept, mask),
        call=shown,
        explanation=explanation,
        unexplained=unexplained,
        curl=curl(kept, request.host_url, mask),
    )


def clear(bench: str) -> AnyResponse:
    """Forget all calls."""
    owner = bench_of(bench)
    owner.journal.clear()
    return done("calls", owner, "cleared")


def listing(bench: Bench, unless: str | None = None) -> Any:
    """The calls that the address asks for; None when the journal is in the state `unless`."""
    journal = bench.journal
    kept = list(journal)
    state = f"{journal.recorded}.{len(kept)}"
    if state == unless:
        return None
    filters = {name: request.args[name] for name in FILTERS if request.args.get(name)}
    mistake, match = None, Match()
    try:
        match = _match(filters)
    except ValidationError as error:
        mistake = str(invalid(error))
    before = request.args.get("before", type=int)
    meant = [] if mistake else [each for each in reversed(kept) if match.admits(each)]
    shown = [each for each in meant if before is None or each.number < before]
    mask = mask_of(bench)
    return Listing(
        lines=[_line(each, mask) for each in shown[:MOST]],
        matching=len(meant),
        kept=len(kept),
        older=shown[MOST - 1].number if len(shown) > MOST else None,
        state=state,
        filters=filters,
        mistake=mistake,
    )


def _match(filters: dict[str, str]) -> Match:
    """What the form says, as a condition: it knows text only."""
    values: dict[str, Any] = dict(filters)
    if "recalled" in values:
        values["recalled"] = values["recalled"] == "yes"
    return Match.model_validate(values)


def _line(call: Call, mask: Mask) -> Line:
    shown = call_shown(call, mask)
    answer: Any = orjson.loads(orjson.dumps(shown["response"]["body"]))
    data: Any = answer.get("data") if is_object(answer) else None
    matched = [
        entity
        for row in (data if is_array(data) else ())
        if is_object(row)
        for entity in _matched_on(row)
        if isinstance(entity, str)
    ]
    tool: Any = Reading(call.request, content_type(call)).tool
    # What recalled something first, then what is long and fits: parts say less than the whole.
    fired = sorted(
        (text for text in shown["fired"] if text != tool or text in matched),
        key=lambda text: (text not in matched, len(text) > LONGEST_NAMED, -len(text), text),
    )
    return Line(
        call=shown,
        tool=mask(tool) if isinstance(tool, str) else None,
        named=tuple(fired[:MOST_NAMED]),
        unnamed=max(0, len(fired) - MOST_NAMED),
        recalled=len(data) if is_array(data) else None,
    )


def _matched_on(row: Any) -> list[Any]:
    details = row.get("details")
    matched: Any = details.get("matched_on") if is_object(details) else None
    return matched if is_array(matched) else []
