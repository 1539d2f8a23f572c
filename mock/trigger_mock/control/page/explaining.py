"""A form that takes a request's body and tells what it would be answered and why."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from trigger_mock.control.calls import call_shown, found
from trigger_mock.control.explaining import explain
from trigger_mock.control.masking import mask_of
from trigger_mock.control.page import texts
from trigger_mock.control.page.frame import bench_of, page
from trigger_mock.control.room import Declined

_EXAMPLE = """{
  "user_id": "user-123",
  "action": {"tool": "edit_file", "args": {"file_path": "tool_loop.py"}},
  "mode": "retrieve"
}"""


def register(routes: Blueprint) -> None:
    """Put the page in its place."""
    routes.get("/page/<bench>/explain")(explain_form)
    routes.post("/page/<bench>/explain")(explained)


def explain_form(bench: str) -> str:
    """The form, with a call's body in it where one is named."""
    owner = bench_of(bench)
    number = request.args.get("call", type=int)
    body, organisation = _EXAMPLE, None
    if number is not None:
        call = found(owner, number)
        shown = call_shown(call, mask_of(owner))
        body, organisation = (
            _as_text(shown["request"]["body"], shown["request"]["text"]),
            shown["organisation"],
        )
    return page("explain.html", owner, "explain", body=body, chosen=organisation, explanation=None)


def explained(bench: str) -> str:
    """The form as it was sent, and the explanation below."""
    owner = bench_of(bench)
    body = request.form.get("body", "")
    organisation = request.form.get("organisation") or next(iter(owner.store.organisations), None)
    if organisation is None or organisation not in owner.store.organisations:
        raise Declined(422, "invalid_request", f"The bench {owner.name!r} has no such organisation.")
    explanation = explain(owner, body.encode("utf-8", "replace"), "application/json", organisation)
    return page("explain.html", owner, "explain", body=body, chosen=organisation, explanation=explanation)


def _as_text(body: Any, text: str | None) -> str:
    if text is not None:
        return text
    return texts.indented(body)
