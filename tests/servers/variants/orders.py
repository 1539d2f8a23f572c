"""Wrong about repeating itself: order and rows that change between equal requests."""

from __future__ import annotations

import random

from tests.servers.behaviour import Behaviour, Hit, Visit
from tests.servers.messages import Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks


@breaks("ORDER-1", name="order-random", story="Rows come in the order in which shards answer.")
class OrderRandom(Behaviour):
    def prepare(self) -> None:
        self.dice = random.Random(7)

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        return self.dice.sample(hits, len(hits))


@breaks("ORDER-1", name="order-alternates", story="Two replicas sort differently and take turns.")
class OrderAlternates(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        self.served += 1
        return super().rank(hits, ask)[:: -1 if self.served % 2 else 1]


@breaks(
    "ORDER-1",
    name="order-ties-random",
    story="The sort key has ties, which fall as they come from the store.",
)
class OrderTiesRandom(Behaviour):
    def prepare(self) -> None:
        self.dice = random.Random(11)

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        shuffled = self.dice.sample(hits, len(hits))
        return sorted(shuffled, key=lambda hit: (-len(hit.matched), -hit.row.observed))


class _Remembering(Behaviour):
    """Knows the call while it ranks."""

    async def serve(self, visit: Visit) -> Reply:
        self.visit = visit
        return await super().serve(visit)


@breaks("ORDER-1", name="order-by-credential", story="Bearer callers are served by the older ranking.")
class OrderByCredential(_Remembering):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        ranked = super().rank(hits, ask)
        return ranked[::-1] if "authorization" in self.visit.call.headers else ranked


@breaks(
    "ORDER-1",
    name="order-by-connection",
    story="A connection sticks to a replica, and replicas sort differently.",
)
class OrderByConnection(_Remembering):
    def prepare(self) -> None:
        self.seen: dict[str, int] = {}

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        turn = self.seen.setdefault(self.visit.call.connection, len(self.seen))
        return super().rank(hits, ask)[:: -1 if turn % 2 else 1]


@breaks(
    "ORDER-1",
    name="rows-missing-at-times",
    also=SETS,
    story="A shard that is late is left out of the answer.",
)
class RowsMissingAtTimes(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        self.served += 1
        return super().rank(hits, ask)[: -1 if self.served % 3 == 0 else None]
