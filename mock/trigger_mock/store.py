"""The data of one bench: which organisations it has and which rows they own, now.

Readers never wait: a change makes new values beside the old ones and puts them in place at once, so a request
sees the rows before it or the rows after it, whole. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from threading import RLock

from trigger_fixtures import Corpus, Organisation, Row
from trigger_mock.recall import Memories


class Store:
    """Organisations and rows, as they are answered from."""

    def __init__(self, corpus: Corpus) -> None:
        self._lock = RLock()
        self._origin = corpus
        self._corpus = corpus
        #: The recallable rows of each organisation, by its name. Read it once a request.
        self.memories: Mapping[str, Memories] = by_organisation(corpus)

    @property
    def corpus(self) -> Corpus:
        """All of it, as it stands."""
        return self._corpus

    @property
    def origin(self) -> Corpus:
        """What a reset returns to."""
        return self._origin

    @property
    def organisations(self) -> Mapping[str, Organisation]:
        """The organisations, by name."""
        return self._corpus.organisations

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows of all types, in an order of no meaning."""
        return self._corpus.rows

    def reset(self) -> None:
        """Return to the origin."""
        with self._lock:
            self._corpus = self._origin
            self.memories = by_organisation(self._origin)


def by_organisation(corpus: Corpus) -> dict[str, Memories]:
    """Index the rows of each organisation."""
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in corpus.rows:
        rows[row.organisation].append(row)
    return {name: Memories(rows[name]) for name in corpus.organisations}
