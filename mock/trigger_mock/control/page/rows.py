"""The rows of a bench on the page: find them, look at one."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Blueprint, request
from pydantic import ValidationError

from trigger_fixtures import DIRECTIVES, Row
from trigger_mock.benches import Bench
from trigger_mock.control.masking import clean, mask_of
from trigger_mock.control.page.frame import bench_of, page
from trigger_mock.control.room import Declined, invalid
from trigger_mock.control.rows import Wanted

#: Rows of one page.
MOST = 50
TYPES = ("lesson", "procedure", "fact", "artifact", "episode")
AXES = ("user_id", "agent_id", "app_id", "group_id")
FILTERS = ("text", "entity", "type", *AXES, "organisation")


def register(routes: Blueprint) -> None:
    """Put the pages in their places."""
    routes.get("/page/<bench>/rows")(rows)
    routes.get("/page/<bench>/row")(row)


def rows(bench: str) -> str:
    """The rows that the form asks for, a page of them."""
    owner = bench_of(bench)
    filters = {name: request.args[name] for name in FILTERS if request.args.get(name)}
    mistake, wanted = None, Wanted()
    try:
        wanted = Wanted.model_validate(filters)
    except ValidationError as error:
        mistake = str(invalid(error))
    meant = [] if mistake else sorted(filter(wanted.admits, owner.store.rows), key=lambda row: row.id)
    offset = max(0, request.args.get("offset", 0, type=int))
    return page(
        "rows.html",
        owner,
        "rows",
        rows=[_masked(owner, each) for each in meant[offset : offset + MOST]],
        filters=filters,
        mistake=mistake,
        types=TYPES,
        matching=len(meant),
        all=len(owner.store.rows),
        offset=offset,
        earlier=max(0, offset - MOST) if offset else None,
        later=offset + MOST if offset + MOST < len(meant) else None,
    )


def row(bench: str) -> str:
    """One row, whole. Its id is no part of the path: it may hold what a path cannot."""
    owner = bench_of(bench)
    wanted = request.args.get("id", "")
    kept = next((each for each in owner.store.rows if each.id == wanted), None)
    if kept is None:
        raise Declined(404, "not_found", f"the bench {owner.name!r} has no row of this id")
    return page("row.html", owner, "rows", row=_masked(owner, kept), recallable=kept.type in DIRECTIVES)


def _masked(bench: Bench, row: Row) -> dict[str, Any]:
    """A row as JSON would say it, without the keys that somebody may have put into it."""
    plain = orjson.loads(orjson.dumps(row._asdict(), default=list))
    masked: dict[str, Any] = clean(plain, mask_of(bench))
    return masked
