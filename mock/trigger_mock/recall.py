"""Which rows a request recalls, and in which order.

A row is recalled when it belongs to the organisation, passes every scope axis, is of an included type and
carries, exactly and case-sensitively, one of the identifiers fired. Contract: `TriggerRequest` ('scope by
what you pass', 'matches them exactly').

The index maps each entity to the rows that carry it; an entity on more than 32 rows also has a list for each
value of each axis, and recall starts from the smallest list there is. Cost grows with the identifiers sent
and that list, not with the store. Rows are numbered in the order in which ties are broken, so that a number
is all that ranking needs of a row. Knows nothing of HTTP.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from trigger_fixtures import DIRECTIVES, Row

#: An entity on more rows than this is listed by axis as well.
HOT = 32


class Scope(NamedTuple):
    """The axes that a request supplied. All must hold; within groups any one does. None and no groups: not
    supplied.
    """

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    group_ids: frozenset[str] = frozenset()

    def admits(self, row: Row) -> bool:
        """Whether the row may be seen. An empty string is an axis like any other, and no row carries it."""
        user_id, agent_id, app_id, group_ids = self
        return (
            (user_id is None or user_id == row.user_id)
            and (agent_id is None or agent_id == row.agent_id)
            and (app_id is None or app_id == row.app_id)
            and (not group_ids or not group_ids.isdisjoint(row.group_ids))
        )


class Hit(NamedTuple):
    """A recalled row and the entities that fired it, in the order of its `trigger_entities`."""

    row: Row
    matched_on: tuple[str, ...]


#: One row number stands alone; several are an array, in rank order.
Numbers: TypeAlias = "int | array[int]"


class _Hot(NamedTuple):
    """An entity on many rows: all of them, and the same by user, agent, app and group."""

    every: array[int]
    by_axis: tuple[dict[str, Numbers], dict[str, Numbers], dict[str, Numbers], dict[str, Numbers]]

    def smallest(self, scope: Scope) -> Iterable[int]:
        """The fewest rows that hold all that the scope admits."""
        best: Collection[int] = self.every
        for listed, value in zip(self.by_axis, scope[:3], strict=False):
            if value is not None:
                numbers = _collection(listed.get(value))
                if len(numbers) < len(best):
                    best = numbers
        if scope.group_ids:
            groups = [_collection(self.by_axis[3].get(group)) for group in scope.group_ids]
            if sum(map(len, groups)) < len(best):
                return (number for group in groups for number in group)
        return best


class Memories:
    """The recallable rows of one organisation."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = _in_rank_order(row for row in rows if row.type in DIRECTIVES)
        self._postings: dict[str, Numbers | _Hot] = self._index()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order in which ties are broken."""
        return iter(self._rows)

    def recall(self, fired: frozenset[str], scope: Scope, types: Collection[str]) -> list[Hit]:
        """Return what these identifiers recall, best first.

        More distinct matches come first, then the longer best match, then observation count, recency and id.
        The order is
        total: it depends neither on insertion order nor on hashing.
        """
        candidates: set[int] = set()
        for identifier in fired:
            posting = self._postings.get(identifier)
            if posting is None:
                continue
            if isinstance(posting, int):
                candidates.add(posting)
            else:
                candidates.update(posting.smallest(scope) if isinstance(posting, _Hot) else posting)
        ranked: list[tuple[int, int, int, Hit]] = []
        rows, admits = self._rows, scope.admits
        for number in candidates:
            row = rows[number]
            if admits(row) and row.type in types:
                matched = tuple([entity for entity in row.trigger_entities if entity in fired])
                ranked.append((-len(matched), -max(map(len, matched)), number, Hit(row, matched)))
        ranked.sort()
        return [hit for _, _, _, hit in ranked]

    def _index(self) -> dict[str, Numbers | _Hot]:
        # One dictionary from start to end: of a large store a second one would be a tenth of its memory.
        index: dict[str, Any] = {}
        for number, row in enumerate(self._rows):
            for entity in row.trigger_entities:
                known = index.setdefault(entity, number)
                if known is number:
                    continue
                if type(known) is list:
                    known.append(number)
                else:
                    index[entity] = [known, number]
        for entity, numbers in index.items():
            if type(numbers) is list:
                index[entity] = self._posting(numbers)  # a value in place of another: the iteration stands
        return index

    def _posting(self, numbers: list[int]) -> array[int] | _Hot:
        every = array("I", numbers)
        if len(numbers) <= HOT:
            return every
        axes: tuple[defaultdict[str, list[int]], ...] = tuple(defaultdict(list) for _ in range(4))
        users, agents, apps, groups = axes
        for number in numbers:
            row = self._rows[number]
            if row.user_id is not None:
                users[row.user_id].append(number)
            if row.agent_id is not None:
                agents[row.agent_id].append(number)
            if row.app_id is not None:
                apps[row.app_id].append(number)
            for group in row.group_ids:
                groups[group].append(number)
        return _Hot(every, (_packed(users), _packed(agents), _packed(apps), _packed(groups)))


def _in_rank_order(rows: Iterable[Row]) -> list[Row]:
    # Sorts are stable, so the least significant key goes first.
    ordered = sorted(rows, key=lambda row: row.id)
    ordered.sort(key=lambda row: row.updated_at, reverse=True)
    ordered.sort(key=lambda row: row.observation_count or 0, reverse=True)
    return ordered


def _packed(lists: dict[str, list[int]]) -> dict[str, Numbers]:
    return {
        value: numbers[0] if len(numbers) == 1 else array("I", numbers) for value, numbers in lists.items()
    }


def _collection(numbers: Numbers | None) -> Collection[int]:
    if numbers is None:
        return ()
    return (numbers,) if isinstance(numbers, int) else numbers
