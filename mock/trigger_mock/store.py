"""The data of one bench: which organisations it has and which rows they own, now.

Readers never wait: a change makes new values beside the old ones and puts them in place at once, so a request
sees the rows before it or the rows after it, whole. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import RLock

from trigger_fixtures import Corpus, Organisation, Row
from trigger_mock.recall import Memories

_NONE = Memories(())


class Store:
    """Organisations and rows, as they are answered from."""

    def __init__(self, corpus: Corpus) -> None:
        self._lock = RLock()
        self._origin = corpus
        self._corpus = replace(corpus, organisations={}, rows=())
        self._memories: Mapping[str, Memories] = {}
        self._put(corpus)

    def of(self, organisation: str) -> Memories:
        """The recallable rows of an organisation. Asked once a request; none for one that has just gone."""
        return self._memories.get(organisation, _NONE)

    @property
    def corpus(self) -> Corpus:
        """All of it, as it stands."""
        return self._corpus

    @property
    def origin(self) -> Corpus:
        """What a reset returns to."""
        return self._origin

    def put(self, rows: Iterable[Row]) -> None:
        """Add rows; one with the id of another takes its place."""
        new = {row.id: row for row in rows}
        self._change(lambda rows: [*(row for row in rows if row.id not in new), *new.values()])

    def remove(self, ids: Iterable[str]) -> int:
        """Remove the rows of these ids; how many there were."""
        gone = frozenset(ids)
        return self._change(lambda rows: [row for row in rows if row.id not in gone])

    def have(self, rows: Iterable[Row]) -> None:
        """Have these rows in place of all that there were."""
        kept = list(rows)
        self._change(lambda _: kept)

    def replace(self, corpus: Corpus) -> None:
        """Have this in place of all that there was; a reset still returns to the beginning."""
        with self._lock:
            self._put(corpus)

    def rebase(self, origin: Corpus) -> None:
        """Have another beginning, which a reset returns to from now on.

        What it holds wins, and what the old one held goes with it; rows that were added since, under ids of
        their own, stay as long as their organisation does.
        """
        with self._lock:
            of_origins = {row.id for corpus in (self._origin, origin) for row in corpus.rows}
            added = [
                row
                for row in self._corpus.rows
                if row.id not in of_origins and row.organisation in origin.organisations
            ]
            self._origin = origin
            self._put(replace(origin, rows=(*origin.rows, *added)))

    def _change(self, rows: Callable[[tuple[Row, ...]], list[Row]]) -> int:
        """Change the rows by a function of them; by how many they became fewer."""
        with self._lock:
            before = self._corpus
            after = replace(before, rows=tuple(rows(before.rows)))
            self._put(after)
            return len(before.rows) - len(after.rows)

    def _put(self, corpus: Corpus) -> None:
        """Put it in place, indexing only what changed: an organisation whose rows are the same keeps its
        own.
        """
        before, after = _rows_of(self._corpus), _rows_of(corpus)
        memories = {
            name: self._memories[name]
            if name in self._memories and before[name] == after[name]
            else Memories(after[name])
            for name in corpus.organisations
        }
        self._corpus, self._memories = corpus, memories

    @property
    def organisations(self) -> Mapping[str, Organisation]:
        """The organisations, by name."""
        return self._corpus.organisations

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows of all types, in an order of no meaning."""
        return self._corpus.rows


def _rows_of(corpus: Corpus) -> defaultdict[str, list[Row]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in corpus.rows:
        rows[row.organisation].append(row)
    return rows
