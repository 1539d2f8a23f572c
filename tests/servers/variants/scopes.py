"""Wrong about who may see what: leaks across users, agents, apps, groups, organisations and requests."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from collections.abc import Sequence

from tests.servers.behaviour import Behaviour, Hit, Kept, Visit
from tests.servers.data import Row
from tests.servers.messages import Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks

# ------------------------------------------------------------------ an axis is not applied


class _Unpinned(Behaviour):
    """Forgets one axis."""

    axis = ""

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        absent: object = [] if self.axis == "group_ids" else None
        return super().admits(ask.model_copy(update={self.axis: absent}), row)


@breaks(
    "SCOPE-1", "SCOPE-5", name="user-ignored", also="SCOPE-8", story="The user filter was left to the caller."
)
class UserIgnored(_Unpinned):
    axis = "user_id"


@breaks(
    "SCOPE-1", "SCOPE-5", name="agent-ignored", also="SCOPE-8", story="The index has no agent column yet."
)
class AgentIgnored(_Unpinned):
    axis = "agent_id"


@breaks(
    "SCOPE-1", "SCOPE-5", name="app-ignored", also="SCOPE-8", story="The app filter is applied to facts only."
)
class AppIgnored(_Unpinned):
    axis = "app_id"


@breaks(
    "SCOPE-1", "SCOPE-5", name="groups-ignored", also="SCOPE-8", story="Groups are checked at ingest only."
)
class GroupsIgnored(_Unpinned):
    axis = "group_ids"


@breaks(
    "SCOPE-1", "SCOPE-2", "SCOPE-3", name="axes-or", also="SCOPE-5 SCOPE-8",
    story="The filter's terms are joined by OR.",
)  # fmt: skip
class AxesOr(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        pins = ((ask.user_id, row.user), (ask.agent_id, row.agent), (ask.app_id, row.app))
        if any(wanted is not None and wanted == actual for wanted, actual in pins):
            return True
        return bool(ask.group_ids) and self.shares(ask.group_ids, row.groups)


@breaks(
    "SCOPE-1", "SCOPE-2", "SCOPE-3", name="groups-widen", also="SCOPE-5 SCOPE-8",
    story="A group opens its rows to a user instead of narrowing the user's own.",
)  # fmt: skip
class GroupsWiden(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        own = super().admits(ask.model_copy(update={"group_ids": []}), row)
        if ask.user_id is None or not ask.group_ids:
            return own and self.shares(ask.group_ids, row.groups)
        return own or self.shares(ask.group_ids, row.groups)


@breaks(
    "SCOPE-1", name="agent-only-without-user", also="SCOPE-2 SCOPE-3 SCOPE-5 SCOPE-8",
    story="The agent is taken for a fallback: it is looked at only when there is no user.",
)  # fmt: skip
class AgentOnlyWithoutUser(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        if ask.user_id is not None:
            ask = ask.model_copy(update={"agent_id": None})
        return super().admits(ask, row)


# ------------------------------------------------------------------ groups


@breaks("SCOPE-4", name="groups-all-of", story="The array operator is `contains` where `overlaps` was meant.")
class GroupsAllOf(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return set(wanted) <= set(actual)


@breaks("SCOPE-4", name="groups-first-only", story="The store takes one group; the first is passed on.")
class GroupsFirstOnly(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return super().shares(wanted[:1], actual)


@breaks("SCOPE-4", name="groups-primary-only", story="Only the first tag of a row is indexed.")
class GroupsPrimaryOnly(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return super().shares(wanted, actual[:1] if len(wanted) > 1 else actual)


@breaks(
    "SCOPE-1", "SCOPE-5", name="untagged-in-every-group", also="SCOPE-8",
    story="A row of no group is taken to be public.",
)  # fmt: skip
class UntaggedInEveryGroup(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return not actual or super().shares(wanted, actual)


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="groups-prefix",
    also="SCOPE-8",
    story="Group handles are cut to 16 characters in the index.",
)
class GroupsPrefix(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return not wanted or any(group[:16] == name[:16] for group in actual for name in wanted)


# ------------------------------------------------------------------ near misses


class _Near(Behaviour):
    """Compares scope values by something that is not equality."""

    def near(self, wanted: str, actual: str) -> bool:
        raise NotImplementedError

    def pinned(self, wanted: str | None, actual: str | None) -> bool:
        return wanted is None or (actual is not None and self.near(wanted, actual))


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-prefix",
    also="SCOPE-8",
    story="Scope is a key prefix in the store: mira sees mira-81.",
)
class ScopePrefix(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        return bool(wanted) and actual.startswith(wanted)


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-suffix",
    also="SCOPE-8",
    story="The column is too narrow, longer values are cut.",
)
class ScopeSuffix(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        return wanted.startswith(actual)


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-any-case",
    also="SCOPE-8",
    story="The scope columns have a case-insensitive collation.",
)
class ScopeAnyCase(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        return wanted.lower() == actual.lower()


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-trimmed",
    also="SCOPE-8",
    story="Scope values are trimmed before they are compared.",
)
class ScopeTrimmed(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        return wanted.strip() == actual


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-sql-like",
    also="SCOPE-8",
    story="Scope is compared with LIKE, so % and _ are wild.",
)
class ScopeSqlLike(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        pattern = re.escape(wanted).replace("%", ".*").replace("_", ".")
        return re.fullmatch(pattern, actual, re.DOTALL) is not None


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="scope-glob",
    also="SCOPE-8",
    story="Scope is a key pattern in the cache, so * is wild.",
)
class ScopeGlob(_Near):
    def near(self, wanted: str, actual: str) -> bool:
        return fnmatch.fnmatchcase(actual, wanted.replace("[", "[[]"))


@breaks(
    "SCOPE-5",
    "SCOPE-1",
    name="agent-any-case",
    also="SCOPE-8",
    story="Agent names are folded, users are not.",
)
class AgentAnyCase(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        folded = ask.model_copy(update={"agent_id": ask.agent_id and ask.agent_id.lower()})
        return super().admits(folded, row)


@breaks("SCOPE-5", "SCOPE-1", name="app-substring", also="SCOPE-8", story="The app filter is a text search.")
class AppSubstring(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        near = ask.app_id and row.app and ask.app_id in row.app
        return super().admits(ask.model_copy(update={"app_id": row.app}) if near else ask, row)


@breaks(
    "SCOPE-5", name="empty-string-widens", also="SCOPE-1 SCOPE-8",
    story="`if user_id:` guards the filter, so an empty user is no user.",
)  # fmt: skip
class EmptyStringWidens(Behaviour):
    def pinned(self, wanted: str | None, actual: str | None) -> bool:
        return not wanted or wanted == actual


@breaks(
    "SCOPE-5", name="empty-string-org-wide", also="SCOPE-1 SCOPE-8",
    story="An empty user passes the check for a scope and then drops out of the filter.",
)  # fmt: skip
class EmptyStringOrgWide(EmptyStringWidens):
    def require_scope(self, ask: TriggerRequest) -> None:
        if ask.user_id is None:
            super().require_scope(ask)


@breaks(
    "SCOPE-1", name="unowned-visible-to-users", also="SCOPE-5 SCOPE-8",
    story="Rows without a user are taken to be shared by all users.",
)  # fmt: skip
class UnownedVisibleToUsers(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        return super().admits(ask.model_copy(update={"user_id": None}) if row.user is None else ask, row)


@breaks(
    "SCOPE-1", name="unowned-visible-to-agents", also="SCOPE-5 SCOPE-8",
    story="Rows without an agent are taken to be meant for every agent.",
)  # fmt: skip
class UnownedVisibleToAgents(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        return super().admits(ask.model_copy(update={"agent_id": None}) if row.agent is None else ask, row)


# ------------------------------------------------------------------ organisations


@breaks(
    "SCOPE-6",
    name="org-ignored",
    also="SCOPE-8",
    story="The organisation filter is left to row-level security, which is off.",
)
class OrgIgnored(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return True


@breaks(
    "SCOPE-6",
    name="org-ignored-for-groups",
    also="SCOPE-2 SCOPE-3",
    story="A group handle opens its rows to everybody.",
)
class OrgIgnoredForGroups(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return bool(ask.group_ids) or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-6",
    name="org-ignored-for-agents",
    story="Agents without a user run through the system's own filter.",
)
class OrgIgnoredForAgents(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        alone = ask.agent_id is not None and ask.user_id is None
        return alone or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-6",
    name="org-ignored-for-apps",
    story="Apps are installed across organisations, and so are their rows.",
)
class OrgIgnoredForApps(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return row.app is not None or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-6", name="org-forgotten-by-cache", also=SETS,
    story="Answers are cached by body; the key's organisation is not part of the cache key.",
)  # fmt: skip
class OrgForgottenByCache(Behaviour):
    def prepare(self) -> None:
        self.cache: dict[str, list[Hit]] = {}

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        cached = repr(ask.model_dump(exclude={"mode", "task"})) if ask.action is None else None
        if cached is None:
            return super().recall(organisation, ask)
        if cached not in self.cache:
            self.cache[cached] = super().recall(organisation, ask)
        return [Hit(hit.row, hit.matched) for hit in self.cache[cached]]


# ------------------------------------------------------------------ between requests


@breaks(
    "SCOPE-1", name="user-forgotten-by-cache", also=f"{SETS} SCOPE-5 SCOPE-8",
    story="Recall is cached by everything but the user.",
)  # fmt: skip
class UserForgottenByCache(Behaviour):
    def prepare(self) -> None:
        self.cache: dict[tuple[str, str], list[Hit]] = {}

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        if ask.action is not None:
            return super().recall(organisation, ask)
        cached = (organisation, repr(ask.model_dump(exclude={"user_id", "mode", "task"})))
        if cached not in self.cache:
            self.cache[cached] = super().recall(organisation, ask)
        return [Hit(hit.row, hit.matched) for hit in self.cache[cached]]


@breaks(
    "SCOPE-1", name="one-in-eight-leaks", also=f"{SETS} SCOPE-5 SCOPE-8",
    story="One replica in eight still runs the release without the user filter.",
)  # fmt: skip
class OneInEightLeaks(Behaviour):
    def prepare(self) -> None:
        self.served = 0

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        self.served += 1
        if self.served % 8 == 0:
            ask = ask.model_copy(update={"user_id": None})
        return super().recall(organisation, ask)


class _Bleeding(Behaviour):
    """Keeps something of the request where other requests reach it, and awaits before it uses it."""

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
    "SCOPE-7", name="scope-in-a-global", story="The current user sits in a global that an await outlives."
)
class ScopeInAGlobal(_Bleeding):
    def keep(self, visit: Visit) -> None:
        self.current = Behaviour.validate(self, Behaviour.parse(self, visit.call))

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        current = self.current
        axes = ("user_id", "agent_id", "app_id", "group_ids")
        return super().admits(ask.model_copy(update={axis: getattr(current, axis) for axis in axes}), row)


@breaks(
    "SCOPE-7",
    name="rows-in-a-shared-buffer",
    story="One result buffer is reused by all requests of a worker.",
)
class RowsInASharedBuffer(_Bleeding):
    def keep(self, visit: Visit) -> None:
        ask = Behaviour.validate(self, Behaviour.parse(self, visit.call))
        self.buffer = Behaviour.recall(self, self.organisation(self.authenticate(visit.call.headers)), ask)

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        return [Hit(hit.row, hit.matched) for hit in self.buffer]


@breaks(
    "SCOPE-7",
    name="user-per-key-session",
    story="The last user of a key is kept in a session and read after an await.",
)
class UserPerKeySession(_Bleeding):
    def prepare(self) -> None:
        self.sessions: dict[str, str | None] = {}
        self.key = ""

    def keep(self, visit: Visit) -> None:
        ask = Behaviour.validate(self, Behaviour.parse(self, visit.call))
        self.sessions[self.authenticate(visit.call.headers)] = ask.user_id

    def organisation(self, key: str) -> str:
        self.key = key
        return super().organisation(key)

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        return super().admits(ask.model_copy(update={"user_id": self.sessions[self.key]}), row)


# ------------------------------------------------------------------ the context block


class _Gossip(Behaviour):
    """Puts into the block what fired outside the scope; the rows are right."""

    dropped: tuple[str, ...] = ()

    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        if kept.context is not None:
            wider = ask.model_copy(
                update={axis: [] if axis == "group_ids" else None for axis in self.dropped}
            )
            others = [
                hit
                for hit in self.recall(hits[0].row.organisation, wider)
                if hit.row not in {h.row for h in hits}
            ]
            kept.context = "\n".join([kept.context, *(self.bullet(hit) for hit in others)])
        return kept


@breaks("SCOPE-8", name="context-of-all-users", story="The LLM is shown what the whole organisation learnt.")
class ContextOfAllUsers(_Gossip):
    dropped = ("user_id",)


@breaks(
    "SCOPE-8",
    name="context-of-all-groups",
    story="The block is assembled from an index that knows no groups.",
)
class ContextOfAllGroups(_Gossip):
    dropped = ("group_ids",)


@breaks("SCOPE-8", name="context-of-anyone", story="The block is looked up again by entity alone.")
class ContextOfAnyone(_Gossip):
    dropped = ("user_id", "agent_id", "app_id", "group_ids")


@breaks(
    "SCOPE-8", name="context-stale", also="MODE-7 SCOPE-6",
    story="The block is cached by task and types; the scope is not part of the key.",
)  # fmt: skip
class ContextStale(Behaviour):
    def prepare(self) -> None:
        self.blocks: dict[str, str] = {}

    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        return self.blocks.setdefault(repr((ask.task, ask.include)), super().context(ask, hits))
