"""Made-up memories of any number, and requests for which the number of rows that come back is known.

Of `count` rows each has an entity of its own and one that it shares with nine others; those ten belong to
five users, two rows each. A request for a shared entity as one of these users therefore looks at ten rows
and returns two, however large the store is. In a hot store every row carries one more entity, and three
rows have a user, a group and a pair of agent and app of their own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trigger_fixtures import Corpus, Organisation, Row, load

ORGANISATION = "bench"
KEY = "xtk_bench"
HOT = "Bash"
#: The rows of a hot store that a narrow scope keeps.
RARE = frozenset({4, 504, 904})

_SHARERS = 10
_USERS = 10
_TEXT = (
    "The worker pool of service {number} keeps its connections when the deploy drains it: close the pool "
    "by hand before the rollout, or the next one waits for a lease that nobody returns. Seen in staging "
    "and in production alike."
)


def record(number: int, count: int, *, hot: bool = False) -> dict[str, Any]:
    """One memory, as a line of JSON Lines says it."""
    shared = number % (count // _SHARERS)
    procedure = number % 5 == 4
    rare = hot and number in RARE
    return {
        "id": str(uuid.UUID(int=(0xC0FFEE << 104) + (4 << 76) + (2 << 62) + number)),
        "organisation": ORGANISATION,
        "type": "procedure" if procedure else "lesson",
        "text": _TEXT.format(number=number),
        "user_id": "user-rare" if rare else _user(shared, number * _SHARERS // count),
        "agent_id": f"bot-{number % 2 if hot else number % 20}",
        "app_id": f"app-{(1 - number % 2) if hot and not rare else number % 2}",
        "group_ids": ["grp_rare"] if rare else [f"grp_{number % 500:04x}"],
        "categories": ["operations"] if number % 3 else ["operations", "deploys"],
        "trigger_entities": [f"svc{number}.pool.drain", f"ERR-{shared}", *([HOT] if hot else [])],
        "observation_count": number % 17,
        "steps": [f"Scale service {number} to zero.", "Wait for it.", "Roll out."] if procedure else None,
        "created_at": _moment(2025, number),
        "updated_at": _moment(2026, 7 * number + 3),
    }  # fmt: skip


def write(path: Path, count: int) -> Path:
    """Write a store as JSON Lines, its organisation in the first line; return the path."""
    with path.open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({"organisations": {ORGANISATION: {"keys": [KEY]}}}) + "\n")
        for number in range(count):
            kept = {field: value for field, value in record(number, count).items() if value is not None}
            lines.write(json.dumps(kept) + "\n")
    return path


def corpus(path: Path, count: int) -> Corpus:
    """A store, written and loaded."""
    return load(write(path, count))


def rows(count: int, *, hot: bool = False) -> Iterator[Row]:
    """The same rows, made without a file: a million of them in seconds."""
    for number in range(count):
        said = record(number, count, hot=hot)
        yield Row(
            **{
                **said,
                "conv_id": None,
                "last_confirmed_at": None,
                "fact_type": None,
                "gate": None,
                "group_ids": tuple(said["group_ids"]),
                "categories": tuple(said["categories"]),
                "trigger_entities": tuple(said["trigger_entities"]),
                "steps": tuple(said["steps"]) if said["steps"] else None,
            }
        )


def organisation() -> Organisation:
    """Whom the rows belong to, without a key."""
    return Organisation(name=ORGANISATION, keys=())


def fired(shared: int, identifiers: int, count: int) -> tuple[frozenset[str], str]:
    """So many identifiers, and a user who sees two rows of one in five of them (of ten at most)."""
    pools = count // _SHARERS
    known = {f"ERR-{(shared + _USERS * step) % pools}" for step in range(min(10, identifiers // 5))}
    unknown = {f"unknown-{at}" for at in range(identifiers - len(known))}
    return frozenset(known | unknown), _user(shared, 0)


def requests(mode: str, number: int, count: int) -> list[bytes]:
    """Bodies of so many different requests, each for five identifiers that recall two of `count` rows."""
    bodies: list[bytes] = []
    for at in range(number):
        shared = at % (count // _SHARERS)
        body = {
            "entities": [f"ERR-{shared}", "src/pool.py", "TimeoutError", "gh pr view", f"TICKET-{at}"],
            "user_id": _user(shared, 0),
            "mode": mode,
            "include": ["lesson", "procedure"],
            "task": f"Ticket {at}: roll out the new release of the payment service to production without "
            "dropping requests; the pool must be drained first.",
        }  # fmt: skip
        bodies.append(json.dumps(body).encode())
    return bodies


def _user(shared: int, tenth: int) -> str:
    return f"user-{shared % _USERS}-{tenth % 5}"


def _moment(year: int, number: int) -> str:
    minutes, second = divmod(number * 37 % 86_400, 60)
    day = f"{year}-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
    return f"{day}T{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}Z"
