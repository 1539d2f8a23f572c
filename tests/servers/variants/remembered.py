"""Wrong because something of another request is remembered: short cache keys, growing state, crowds."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Visit
from tests.servers.messages import Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks

# ------------------------------------------------------------------ caches


class _CachedRecall(Behaviour):
    """Recall cached by the ask less some fields."""

    forgotten: frozenset[str] = frozenset()

    def prepare(self) -> None:
        self.cache: dict[str, list[Hit]] = {}

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        cached = organisation + repr(ask.model_dump(exclude={"mode", "task", *self.forgotten}))
        if cached not in self.cache:
            self.cache[cached] = super().recall(organisation, ask)
        return [Hit(hit.row, hit.matched) for hit in self.cache[cached]]


@breaks(
    "TYPE-2",
    name="include-forgotten-by-cache",
    also=SETS,
    story="Recall is cached by everything but `include`.",
)
class IncludeForgottenByCache(_CachedRecall):
    forgotten = frozenset({"include"})


@breaks(
    "SCOPE-1",
    name="groups-forgotten-by-cache",
    also=f"{SETS} SCOPE-5 SCOPE-8",
    story="Recall is cached by everything but the groups.",
)
class GroupsForgottenByCache(_CachedRecall):
    forgotten = frozenset({"group_ids"})


@breaks(
    "SCOPE-1",
    name="app-forgotten-by-cache",
    also=f"{SETS} SCOPE-5 SCOPE-8",
    story="Recall is cached by everything but the app.",
)
class AppForgottenByCache(_CachedRecall):
    forgotten = frozenset({"app_id"})


@breaks(
    "MATCH-6",
    name="action-forgotten-by-cache",
    also=f"{SETS} MATCH-2 MATCH-5 MATCH-3",
    story="Recall is cached by scope and entities; actions share one entry.",
)
class ActionForgottenByCache(_CachedRecall):
    forgotten = frozenset({"action"})


@breaks(
    "MATCH-4", name="entities-shortened-by-cache", also=f"{SETS} MATCH-6 MATCH-3 MATCH-5 SCOPE-5",
    story="The cache key is the length of the list and its first entity.",
)  # fmt: skip
class EntitiesShortenedByCache(Behaviour):
    def prepare(self) -> None:
        self.cache: dict[str, list[Hit]] = {}

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        if not ask.entities:
            return super().recall(organisation, ask)
        rest = repr(ask.model_dump(exclude={"mode", "task", "entities"}))
        cached = f"{organisation}{rest}{len(ask.entities)}{ask.entities[0]}"
        if cached not in self.cache:
            self.cache[cached] = super().recall(organisation, ask)
        return [Hit(hit.row, hit.matched) for hit in self.cache[cached]]


@breaks(
    "MODE-1", "MODE-2", name="mode-forgotten-by-cache", also=f"{SETS} MODE-3 MODE-4 MODE-7 SHAPE-1",
    story="Whole answers are cached by body, less the mode.",
)  # fmt: skip
class ModeForgottenByCache(Behaviour):
    def prepare(self) -> None:
        self.cache: dict[str, dict[str, Any]] = {}

    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        if visit.ask is None or visit.key is None:
            return reply
        cached = self.organisation(visit.key) + repr(visit.ask.model_dump(exclude={"mode"}))
        return Reply(200, self.cache.setdefault(cached, reply.content))


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="key-forgotten-by-cache", also="AUTH-5",
    story="A cache in front answers a body that it knows, whoever asks.",
)  # fmt: skip
class KeyForgottenByCache(Behaviour):
    def prepare(self) -> None:
        self.cache: dict[bytes, Any] = {}

    async def serve(self, visit: Visit) -> Reply:
        try:
            reply = await super().serve(visit)
        except Refusal as refusal:
            if refusal.status == 401 and visit.call.body in self.cache:
                return Reply(200, self.cache[visit.call.body])
            raise
        self.cache[visit.call.body] = reply.content
        return reply


# ------------------------------------------------------------------ state that grows


@breaks("ORDER-1", name="order-by-last-use", also="MATCH-4", story="Rows that fired last come first.")
class OrderByLastUse(Behaviour):
    def prepare(self) -> None:
        self.used: dict[str, int] = {}
        self.turn = 0

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        self.turn += 1
        ranked = sorted(super().rank(hits, ask), key=lambda hit: -self.used.get(hit.row.id, 0))
        if len(ranked) < 3:
            self.used.update({hit.row.id: self.turn for hit in ranked})
        return ranked


@breaks(
    "ORDER-1",
    name="rows-fire-once-an-hour",
    also=f"{SETS} MODE-4 MODE-7",
    story="A directive that fired is held back for the next four requests, not to nag.",
)
class RowsFireSeldom(Behaviour):
    def prepare(self) -> None:
        self.turn = 0
        self.fired_at: dict[str, int] = {}

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        self.turn += 1
        fresh = [hit for hit in hits if self.turn - self.fired_at.get(hit.row.id, -9) > 4 or self.turn % 3]
        self.fired_at.update({hit.row.id: self.turn for hit in fresh})
        return super().rank(fresh, ask)


@breaks(
    "ROB-2",
    "ERR-3",
    name="worn-out-500",
    also=f"{SETS} ROB-1 MODE-1 MODE-4 MATCH-3 MATCH-6 VAL-8 VAL-5",
    story="Connections leak; after eight hundred requests every fifth finds none.",
)
class WornOut(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        self.served += 1
        if self.served > 800 and self.served % 5 == 0:
            raise Refusal(500, "trigger_failed", "no connection is left")
        return super().recall(organisation, ask)


@breaks(
    "SCOPE-1", name="one-in-sixty-leaks", also=f"{SETS} SCOPE-5 SCOPE-8",
    story="One replica in sixty lost its user filter.",
)  # fmt: skip
class OneInSixtyLeaks(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        self.served += 1
        if self.served % 60 == 0:
            ask = ask.model_copy(update={"user_id": None})
        return super().recall(organisation, ask)


@breaks(
    "SHAPE-1",
    name="one-in-fifty-bare",
    also="MATCH-5 MODE-5 MODE-8 SHAPE-3 " + SETS,
    story="One worker in fifty still sends the old response, without `object` and `mode`.",
)
class OneInFiftyBare(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        self.served += 1
        answer = super().answer(ask, kept)
        if self.served % 50 == 0:
            del answer["object"], answer["data"]
        return answer


# ------------------------------------------------------------------ crowds


class _Slow(Behaviour):
    """Awaits between keeping something and using it."""

    async def serve(self, visit: Visit) -> Reply:
        try:
            self.keep(visit)
        except Refusal:
            return await super().serve(visit)
        await asyncio.sleep(0.004)
        return await super().serve(visit)

    def keep(self, visit: Visit) -> None:
        raise NotImplementedError


@breaks(
    "SCOPE-7",
    "SCOPE-6",
    name="key-in-a-global",
    also=SETS,
    story="The organisation of the last key is read after an await.",
)
class KeyInAGlobal(_Slow):
    def keep(self, visit: Visit) -> None:
        self.current = Behaviour.organisation(self, self.authenticate(visit.call.headers))

    def organisation(self, key: str) -> str:
        return getattr(self, "current", None) or super().organisation(key)


@breaks(
    "SCOPE-7",
    name="include-in-a-global",
    also="TYPE-2",
    story="The types asked for sit in a global that an await outlives.",
)
class IncludeInAGlobal(_Slow):
    def keep(self, visit: Visit) -> None:
        self.include = list(Behaviour.validate(self, Behaviour.parse(self, visit.call)).include)

    def included(self, ask: TriggerRequest, row: Any) -> bool:
        return row.type in (self.include or ("lesson", "procedure"))


@breaks(
    "SCOPE-7",
    "SCOPE-8",
    name="context-in-a-global",
    also="MODE-7",
    story="The block is built into a module's buffer, which an await outlives.",
)
class ContextInAGlobal(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        if isinstance(reply.content, dict) and reply.content.get("context"):
            self.buffer = reply.content["context"]
            await asyncio.sleep(0.006)
            reply.content["context"] = self.buffer
        return reply


@breaks(
    "AUTH-1",
    "SCOPE-7",
    name="caller-in-a-global",
    also="AUTH-2 AUTH-3 AUTH-5",
    story="The caller sits in a global; who has no key is taken for whoever is being served.",
)
class CallerInAGlobal(Behaviour):
    def prepare(self) -> None:
        self.serving: list[str] = []

    async def serve(self, visit: Visit) -> Reply:
        try:
            key = super().authenticate(visit.call.headers)
        except Refusal:
            await asyncio.sleep(0.002)
            return await super().serve(visit)
        self.serving.append(key)
        try:
            await asyncio.sleep(0.004)
            return await super().serve(visit)
        finally:
            self.serving.remove(key)

    def authenticate(self, headers: Any) -> str:
        try:
            return super().authenticate(headers)
        except Refusal:
            if self.serving:
                return self.serving[-1]
            raise


@breaks(
    "SCOPE-7",
    name="crowd-loses-rows",
    story="More than four readers at once exhaust the pool, and who waits gets nothing.",
)
class CrowdLosesRows(Behaviour):
    def prepare(self) -> None:
        self.within = 0

    async def serve(self, visit: Visit) -> Reply:
        self.within += 1
        try:
            await asyncio.sleep(0.004)
            return await super().serve(visit)
        finally:
            self.within -= 1

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        return super().recall(organisation, ask) if self.within <= 4 else []


@breaks(
    "SCOPE-7",
    "ERR-3",
    name="crowd-500",
    also="ROB-1 ROB-2",
    story="More than four readers at once exhaust the pool, and who waits gets a 500.",
)
class Crowd500(CrowdLosesRows):
    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        if self.within > 4:
            raise Refusal(500, "trigger_failed", "internal error")
        return Behaviour.recall(self, organisation, ask)
