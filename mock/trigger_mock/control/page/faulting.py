"""The faults of a bench as switches: presets to turn on and off, rules with what they did, and any other rule
as JSON.
"""

from __future__ import annotations

from flask import Blueprint, request
from pydantic import TypeAdapter, ValidationError
from werkzeug.wrappers import Response as AnyResponse

from trigger_mock.benches import Bench
from trigger_mock.control.faults import (
    NewFault,
    add_fault,
    list_faults,
    list_presets,
    remove_fault,
    remove_faults,
)
from trigger_mock.control.page.frame import bench_of, done, page
from trigger_mock.control.room import Declined, invalid

_EXAMPLE = """{
  "fault": {"kind": "error", "status": 429, "retry_after": 5},
  "match": {"tool": "edit_file"},
  "times": 3
}"""
_NEW = TypeAdapter(NewFault)


def register(routes: Blueprint) -> None:
    """Put the pages in their places."""
    routes.get("/page/<bench>/faults")(faults)
    routes.post("/page/<bench>/faults")(add)
    routes.post("/page/<bench>/faults/preset")(switch)
    routes.post("/page/<bench>/faults/remove")(remove)


def faults(bench: str) -> str:
    """All faults and presets."""
    return _page(bench_of(bench), _EXAMPLE, None)


def add(bench: str) -> AnyResponse | tuple[str, int]:
    """Have the fault that the form says as JSON; the form again where it is none."""
    owner = bench_of(bench)
    text = request.form.get("rule", "")
    try:
        add_fault(owner, _NEW.validate_json(text.encode("utf-8", "replace"), strict=True))
    except ValidationError as error:
        return _page(owner, text, str(invalid(error))), 422
    except Declined as declined:
        return _page(owner, text, str(declined)), declined.status
    return done("faults", owner, "on")


def switch(bench: str) -> AnyResponse:
    """Turn a preset on, or off wherever it is on."""
    owner = bench_of(bench)
    name = request.form.get("preset", "")
    on = [rule["id"] for rule in list_faults(owner)["faults"] if rule["preset"] == name]
    for rule in on:
        owner.faults.remove(rule)
    if not on:
        add_fault(owner, NewFault(preset=name))
    return done("faults", owner, "off" if on else "on")


def remove(bench: str) -> AnyResponse:
    """Take one rule back, or all."""
    owner = bench_of(bench)
    rule = request.form.get("rule")
    if rule is None:
        remove_faults(owner)
        return done("faults", owner, "all-off")
    remove_fault(owner, rule)
    return done("faults", owner, "off")


def _page(bench: Bench, rule: str, mistake: str | None) -> str:
    rules = list_faults(bench)["faults"]
    return page(
        "faults.html",
        bench,
        "faults",
        presets=list_presets()["presets"],
        on={each["preset"] for each in rules},
        rules=rules[::-1],
        rule=rule,
        mistake=mistake,
    )
