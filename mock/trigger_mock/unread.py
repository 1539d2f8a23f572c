"""What the fields that nothing reads would have fired, had they stood where they were probably meant to.

`action.input` in place of `action.args` is the commonest mistake of a client, and an answer without rows says
nothing of it. A sentence of this module names only what a row of the caller's own organisation carries as a
trigger, so that no other value of a request gets into a log. Knows nothing of Flask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from trigger_mock import hints
from trigger_mock.ask import Ask
from trigger_mock.identifiers import identifiers
from trigger_mock.json_values import is_array, is_object
from trigger_mock.recall import Memories
from trigger_mock.seen import shown

#: How many identifiers a sentence names.
MOST_NAMED = 3


class _Moved(NamedTuple):
    """An action made of what was sent elsewhere; no validation stands between, for none would pass it on."""

    tool: str | None = None
    args: dict[str, Any] | None = None
    output: str | None = None


class Unread(NamedTuple):
    """A field that nothing reads, where it was probably meant, and what it would have fired there."""

    field: str
    meant: str
    fires: frozenset[str]


def unread_signals(body: object) -> Iterator[Unread]:
    """The unread fields of a request that were probably meant to fire, in the order of the request."""
    for field, meant, value in hints.meant(body):
        fires = _fires(meant, value)
        if fires:
            yield Unread(field, meant, fires)


def missed_by(body: object, memories: Memories, ask: Ask) -> Iterator[str]:
    """What the unread fields of this request would have recalled, a sentence a field; nothing where they
    would have recalled nothing either.
    """
    for unread in unread_signals(body):
        hits = memories.recall(unread.fires, ask.scope, ask.types)
        if hits:
            matched = dict.fromkeys(entity for hit in hits for entity in hit.matched_on)
            yield sentence(unread, list(matched), rows(len(hits)))


def sentence(unread: Unread, fired: list[str], carried_by: str) -> str:
    """One line: what is not read, where it belongs, what it would have fired, and which rows carry that."""
    named = ", ".join(spoken(identifier) for identifier in fired[:MOST_NAMED])
    more = f" and {len(fired) - MOST_NAMED} more" if len(fired) > MOST_NAMED else ""
    return f"{unread.field} is not read; {unread.meant} would have fired {named}{more} ({carried_by})"


def rows(count: int) -> str:
    """`1 row`, `3 rows`."""
    return f"{count} {'row' if count == 1 else 'rows'}"


def spoken(text: str) -> str:
    """A text of a request as a line of ours may hold it: cut, and quoted when it could pass for more."""
    cut = str(shown(text))
    plain = cut.isprintable() and cut == cut.strip() and cut and not set(cut) & set("\"'`,;()")
    return cut if plain else repr(cut)


def _fires(meant: str, value: Any) -> frozenset[str]:
    match meant:
        case "action.args":
            # What is no object would have to stand in one, under a name of the client's choice.
            return identifiers(_Moved(args=value if is_object(value) else {"input": value}))
        case "action.tool" if isinstance(value, str):
            return identifiers(_Moved(tool=value))
        case "action.output":
            return identifiers(_Moved(output=value if isinstance(value, str) else _text(value)))
        case "entities":
            items: list[Any] = value if is_array(value) else [value]
            return frozenset(item for item in items if isinstance(item, str))
        case _:
            return frozenset()


def _text(value: Any) -> str | None:
    """A result that is no string, as the text that a client would make of it."""
    if value is None:
        return None
    try:
        return orjson.dumps(value, default=str).decode()
    except (orjson.JSONEncodeError, TypeError):
        return None
