"""The rows of a bench over HTTP: find, add, replace, remove; validated as in files.

A memory may leave its organisation out where the bench has one only. What a reset returns to is not touched.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from trigger_fixtures import Row, record_of
from trigger_mock.benches import Bench
from trigger_mock.control.fixture_schema import MEMORIES, MEMORY, rows_of
from trigger_mock.control.room import Declined, Room
from trigger_mock.json_values import is_object

room = Room("rows")


class Rows(TypedDict):
    """Memories as fixtures write them, in the order of their ids. `matching`: how many match in all."""

    memories: list[dict[str, Any]]
    matching: int


class Stored(TypedDict):
    """Memories as they are stored now, in the order in which they were sent."""

    memories: list[dict[str, Any]]


class Wanted(BaseModel):
    """Which rows, and how many of them. All that is given must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    organisation: Annotated[str, Field(description="Whose.")] | None = None
    type: Literal["fact", "artifact", "episode", "lesson", "procedure"] | None = None
    entity: Annotated[str, Field(description="One of its trigger entities.")] | None = None
    user_id: Annotated[str, Field(description="Its user.")] | None = None
    agent_id: Annotated[str, Field(description="Its agent.")] | None = None
    app_id: Annotated[str, Field(description="Its app.")] | None = None
    group_id: Annotated[str, Field(description="One of its groups.")] | None = None
    text: Annotated[str, Field(description="A part of its text, in any case.")] | None = None
    offset: Annotated[int, Field(ge=0, description="How many to leave out first.")] = 0
    limit: Annotated[int, Field(ge=0, le=1000, description="At most so many.")] = 100

    def admits(self, row: Row) -> bool:
        """Whether a row is wanted."""
        return (
            all(
                wanted is None or wanted == value
                for wanted, value in (
                    (self.organisation, row.organisation), (self.type, row.type), (self.user_id, row.user_id),
                    (self.agent_id, row.agent_id), (self.app_id, row.app_id),
                )
            )
            and (self.entity is None or self.entity in row.trigger_entities)
            and (self.group_id is None or self.group_id in row.group_ids)
            and (self.text is None or self.text.casefold() in row.text.casefold())
        )  # fmt: skip


@room.serve("GET", "/benches/{bench}/rows", query=Wanted, answer=Rows)
def list_rows(bench: Bench, query: Wanted) -> Rows:
    """Find rows."""
    found = sorted(filter(query.admits, bench.store.rows), key=lambda row: row.id)
    some = found[query.offset : query.offset + query.limit]
    return {"memories": [record_of(row) for row in some], "matching": len(found)}


@room.serve("POST", "/benches/{bench}/rows", body=MEMORIES, answer=Stored, status=201)
def add_rows(bench: Bench, body: Any) -> Stored:
    """Add rows, or put them in the place of those with their ids: all of them, or none."""
    rows = _made(bench, body)
    bench.store.put(rows)
    return _stored(rows)


@room.serve("PUT", "/benches/{bench}/rows", body=MEMORIES, answer=Stored)
def replace_rows(bench: Bench, body: Any) -> Stored:
    """Have these rows in place of all that there were."""
    rows = _made(bench, body)
    bench.store.have(rows)
    return _stored(rows)


@room.serve("DELETE", "/benches/{bench}/rows")
def remove_rows(bench: Bench) -> None:
    """Remove all rows."""
    bench.store.have(())


@room.serve("GET", "/benches/{bench}/rows/{row}", answer=dict[str, Any])
def show_row(bench: Bench, row: str) -> dict[str, Any]:
    """Look at one row."""
    return record_of(_found(bench, row))


@room.serve("PUT", "/benches/{bench}/rows/{row}", body=MEMORY, answer=dict[str, Any])
def put_row(bench: Bench, row: str, body: Any) -> dict[str, Any]:
    """Have this row under this id, whether or not there was one."""
    given = body.get("id") if is_object(body) else None
    if given is not None and str(given).lower() != row.lower():
        raise Declined(409, "conflict", f"the memory's id is {given!r}, and the path says {row!r}")
    (made,) = _made(bench, body | {"id": row} if is_object(body) else body)
    bench.store.put([made])
    return record_of(made)


@room.serve("DELETE", "/benches/{bench}/rows/{row}")
def remove_row(bench: Bench, row: str) -> None:
    """Remove one row."""
    if not bench.store.remove([row.lower()]):
        raise _unknown(bench, row)


def _made(bench: Bench, body: Any) -> tuple[Row, ...]:
    return rows_of(body, bench.store.organisations).rows


def _found(bench: Bench, identity: str) -> Row:
    for row in bench.store.rows:
        if row.id == identity.lower():
            return row
    raise _unknown(bench, identity)


def _unknown(bench: Bench, identity: str) -> Declined:
    return Declined(404, "not_found", f"no row of {bench.name!r} has the id {identity!r}")


def _stored(rows: tuple[Row, ...]) -> Stored:
    return {"memories": [record_of(row) for row in rows]}
