"""Rows as sets, under a cap that a deployment may have.

Unions, intersections and supersets compare what several requests bring. Where the counts show that one
answer holds only so many rows, answers at the cap prove nothing and are left out; the report says so. A cap
is believed only when requests of different size are all cut to the same number: a server that merely loses
rows is not capped.
"""

from __future__ import annotations

from collections.abc import Sequence

from trigger_contracts.asks import Vocabulary
from trigger_contracts.exchange import JsonObject
from trigger_contracts.run import Api, encode

#: Fewer rows than this is no page of results but a fault.
_SMALLEST = 3


class Sets:
    """What requests bring, each asked once."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: dict[bytes, frozenset[str]] = {}

    def of(self, ask: JsonObject) -> frozenset[str]:
        """The rows of a retrieve request."""
        body = encode(ask)
        if body not in self._seen:
            self._seen[body] = frozenset(self._api.rows({**ask, "mode": "retrieve"}))
        return self._seen[body]

    def again(self, ask: JsonObject) -> frozenset[str]:
        """The rows of a request asked anew, for what may have been an accident."""
        return frozenset(self._api.rows({**ask, "mode": "retrieve"}))

    def steady(self, *asks: JsonObject) -> bool:
        """Whether these requests bring what they brought before: if not, order and repetition are judged
        elsewhere.
        """
        return all(self.again(ask) == self.of(ask) for ask in asks for _ in range(2))

    def capped(self, *rows: frozenset[str]) -> bool:
        """Whether one of these answers is as long as the target's answers get."""
        longest = max(map(len, rows), default=0)
        if longest < _SMALLEST:
            return False
        limit = self.limit()
        return limit is not None and longest >= limit

    def limit(self) -> int | None:
        """The most rows that one answer of this target holds, if its counts show such a number."""
        memory = self._api.run.memory
        if "cap" not in memory:
            memory["cap"] = self._find_limit()
            if memory["cap"] is not None:
                self._api.run.remark(
                    f"the target gives at most {memory['cap']} rows in one answer; unions, intersections and "
                    "supersets were judged below that only"
                )
        limit: int | None = memory["cap"]
        return limit

    def _find_limit(self) -> int | None:
        words = Vocabulary(self._api.probes, "")
        pools = [
            ({axis: value}, Vocabulary([one for one in self._api.probes if one.within({axis: value})], ""))
            for axis, value in words.pairs()
        ]
        sizes = [len(self.of({"entities": inside.entities[:40], **scope})) for scope, inside in pools]
        longest = [pool for pool, size in zip(pools, sizes, strict=True) if size == max(sizes)]
        # What is cut is as long as answers get, so where the longest are whole, none is cut.
        if max(sizes, default=0) < _SMALLEST or not _cut(self._growths(longest)):
            return None
        best = self._growths(pools)
        cut = _cut(best)
        limits = {got for _, got in cut}
        if len(limits) != 1:
            return None
        limit = limits.pop()
        whole = all(got == min(wanted, limit) for wanted, got in best)
        several = len({wanted for wanted, _ in cut}) > 1 or len(cut) > 2
        return limit if limit >= _SMALLEST and whole and several else None

    def _growths(self, pools: Sequence[tuple[JsonObject, Vocabulary]]) -> list[tuple[int, int]]:
        return [pair for scope, inside in pools for pair in self._growth(scope, inside.entities)]

    def _growth(self, scope: JsonObject, entities: Sequence[str]) -> list[tuple[int, int]]:
        """For ever more entities: how many rows each brings alone, together, and how many come at once."""
        union: set[str] = set()
        chosen: list[str] = []
        found: list[tuple[int, int]] = []
        for entity in entities[:12]:
            chosen.append(entity)
            union |= self.of({"entities": [entity], **scope})
            found.append((len(union), len(self.of({"entities": list(chosen), **scope}))))
        return found


def _cut(counts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that brought fewer rows at once than alone."""
    return [(wanted, got) for wanted, got in counts if got < wanted]
