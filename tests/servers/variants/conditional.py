"""Wrong on one condition only: in one mode, for one kind of signal, header, row or length of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Visit
from tests.servers.data import Row
from tests.servers.messages import Call, Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import breaks

# ------------------------------------------------------------------ who is let in


class _OpenDoor(Behaviour):
    """Lets anybody in as the first organisation, on a condition."""

    def open(self, body: dict[str, Any]) -> bool:
        raise NotImplementedError

    async def serve(self, visit: Visit) -> Reply:
        try:
            body = super().decode(visit.call.body)
        except (ValueError, RecursionError):
            body = None
        self.opened = isinstance(body, dict) and self.open(body)
        return await super().serve(visit)

    def authenticate(self, headers: Any) -> str:
        try:
            return super().authenticate(headers)
        except Refusal:
            if not self.opened:
                raise
            return "rk_North-4Hq8Zt2m"


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-off-for-compose", also="AUTH-5",
    story="The route of compose was split off, and its dependency on the key forgotten.",
)  # fmt: skip
class AuthOffForCompose(_OpenDoor):
    def open(self, body: dict[str, Any]) -> bool:
        return bool(body.get("mode", "compose") == "compose")


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-off-for-actions", also="AUTH-5",
    story="Hooks send actions from inside the network, so actions need no key.",
)  # fmt: skip
class AuthOffForActions(_OpenDoor):
    def open(self, body: dict[str, Any]) -> bool:
        return body.get("action") is not None


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-off-for-groups", also="AUTH-5",
    story="Group handles are unguessable, so they are taken for a credential.",
)  # fmt: skip
class AuthOffForGroups(_OpenDoor):
    def open(self, body: dict[str, Any]) -> bool:
        return bool(body.get("group_ids"))


# ------------------------------------------------------------------ signal, scope, fields


@breaks(
    "VAL-1", name="task-is-a-signal", story="A task is taken for a signal: something can be searched for."
)
class TaskIsASignal(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        if not ask.task:
            super().require_signal(ask)


@breaks("VAL-1", name="include-is-a-signal", story="With `include` given, all rows of a type may be listed.")
class IncludeIsASignal(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        if not ask.include:
            super().require_signal(ask)


class _ByOrganisation(TriggerRequest):
    org_id: Any = None
    conv_id: Any = None


@breaks("VAL-2", name="org-is-a-scope", story="`org_id` of the internal API still counts as a scope.")
class OrgIsAScope(Behaviour):
    model = _ByOrganisation

    def require_scope(self, ask: TriggerRequest) -> None:
        if getattr(ask, "org_id", None) is None:
            super().require_scope(ask)


@breaks("VAL-2", name="conversation-is-a-scope", story="`conv_id` of the search endpoint counts as a scope.")
class ConversationIsAScope(Behaviour):
    model = _ByOrganisation

    def require_scope(self, ask: TriggerRequest) -> None:
        if getattr(ask, "conv_id", None) is None:
            super().require_scope(ask)


@breaks(
    "VAL-2", name="scope-optional-for-actions", story="The check for a scope sits in the entities branch."
)
class ScopeOptionalForActions(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        if ask.action is None:
            super().require_scope(ask)


class _Unchecked(Behaviour):
    """Mends one field before it is validated when the request is an action."""

    def mend(self, value: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and value.get("action") is not None:
            value = self.mend(value)
        return super().validate(value)


@breaks(
    "VAL-3",
    name="include-unchecked-for-actions",
    also="VAL-10",
    story="Actions have a model of their own, without the enum.",
)
class IncludeUncheckedForActions(_Unchecked):
    def mend(self, value: dict[str, Any]) -> dict[str, Any]:
        include = value.get("include")
        if not isinstance(include, list) or not all(isinstance(one, str) for one in include):
            return value
        known = [one for one in dict.fromkeys(include) if one in ("lesson", "procedure")]
        return {**value, "include": known}


@breaks(
    "VAL-4",
    name="mode-unchecked-for-actions",
    story="Actions have a model of their own, in which `mode` is a string.",
)
class ModeUncheckedForActions(_Unchecked):
    def mend(self, value: dict[str, Any]) -> dict[str, Any]:
        known = value.get("mode", "compose") in ("compose", "retrieve")
        return value if known or not isinstance(value["mode"], str) else {**value, "mode": "compose"}


@breaks(
    "VAL-5", name="task-unchecked-for-actions", story="The limit of `task` was added to one of two models."
)
class TaskUncheckedForActions(_Unchecked):
    def mend(self, value: dict[str, Any]) -> dict[str, Any]:
        task = value.get("task")
        return {**value, "task": task[:2000]} if isinstance(task, str) else value


# ------------------------------------------------------------------ leaks on a condition


class _Leaking(Behaviour):
    """Forgets a part of the scope on a condition."""

    forgotten: tuple[str, ...] = ("user_id",)

    def leaks(self, ask: TriggerRequest) -> bool:
        raise NotImplementedError

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        if self.leaks(ask):
            ask = ask.model_copy(
                update={axis: [] if axis == "group_ids" else None for axis in self.forgotten}
            )
        return super().admits(ask, row)


@breaks(
    "SCOPE-1", name="leak-under-compose", also="MODE-5 SCOPE-8 SCOPE-5",
    story="Compose has a query of its own, from before there were users.",
)  # fmt: skip
class LeakUnderCompose(_Leaking):
    def leaks(self, ask: TriggerRequest) -> bool:
        return ask.mode == "compose"


@breaks(
    "SCOPE-1", name="leak-for-actions", also="SCOPE-2 SCOPE-3 SCOPE-5",
    story="The extractor's query has no user filter.",
)  # fmt: skip
class LeakForActions(_Leaking):
    def leaks(self, ask: TriggerRequest) -> bool:
        return ask.action is not None


@breaks(
    "SCOPE-1", name="leak-with-include", also="TYPE-2 SCOPE-8 MODE-5",
    story="With `include` given another index is read, which has no agents.",
)  # fmt: skip
class LeakWithInclude(_Leaking):
    forgotten = ("agent_id",)

    def leaks(self, ask: TriggerRequest) -> bool:
        return bool(ask.include)


@breaks(
    "SCOPE-1", name="leak-with-task", also="SCOPE-8 MODE-5 SCOPE-2",
    story="The task is the key of a prefetch that knows no apps.",
)  # fmt: skip
class LeakWithTask(_Leaking):
    forgotten = ("app_id",)

    def leaks(self, ask: TriggerRequest) -> bool:
        return bool(ask.task)


@breaks(
    "SCOPE-1", name="leak-beyond-three-axes", also="SCOPE-2 SCOPE-5 SCOPE-8",
    story="The query builder takes three filters and drops what comes after.",
)  # fmt: skip
class LeakBeyondThreeAxes(_Leaking):
    forgotten = ("user_id",)

    def leaks(self, ask: TriggerRequest) -> bool:
        given = (ask.user_id, ask.agent_id, ask.app_id)
        return sum(one is not None for one in given) + bool(ask.group_ids) >= 3


@breaks(
    "SCOPE-1", "SCOPE-4", name="leak-of-many-groups", also="SCOPE-5",
    story="Beyond sixteen groups the filter is left out, as the query would be too long.",
)  # fmt: skip
class LeakOfManyGroups(_Leaking):
    forgotten = ("group_ids",)

    def leaks(self, ask: TriggerRequest) -> bool:
        return len(ask.group_ids) > 16


@breaks("SCOPE-4", name="groups-first-ten", story="Only the first ten groups are bound to the query.")
class GroupsFirstTen(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return super().shares(wanted[:10], actual)


@breaks("SCOPE-4", name="groups-repeated-cancel", story="Groups are toggled in a set: twice is none.")
class GroupsRepeatedCancel(Behaviour):
    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        odd = [one for one, times in Counter(wanted).items() if times % 2]
        return not wanted or super().shares(odd or [""], actual)


@breaks(
    "SCOPE-1", name="apps-null-visible", also="SCOPE-2 SCOPE-3 SCOPE-5 SCOPE-8",
    story="Rows of no app are taken to belong to every app of the same user.",
)  # fmt: skip
class AppsNullVisible(Behaviour):
    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        if row.app is None and row.user is not None and ask.user_id == row.user:
            ask = ask.model_copy(update={"app_id": None})
        return super().admits(ask, row)


class _Widening(Behaviour):
    """Takes some values of an axis for none."""

    def none(self, value: str) -> bool:
        raise NotImplementedError

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        given = {axis: getattr(ask, axis) for axis in ("user_id", "agent_id", "app_id")}
        gone = {axis: None for axis, value in given.items() if value is not None and self.none(value)}
        return super().recall(organisation, ask.model_copy(update=gone))


@breaks(
    "SCOPE-5", name="blanks-widen", also="SCOPE-1 SCOPE-8",
    story="Blanks are stripped from a scope value, and what is empty then is not filtered by.",
)  # fmt: skip
class BlanksWiden(_Widening):
    def none(self, value: str) -> bool:
        return bool(value) and not value.strip()


@breaks(
    "SCOPE-5", name="null-word-widens", also="SCOPE-1 SCOPE-8",
    story="A client once sent the word null, so it is taken for null.",
)  # fmt: skip
class NullWordWidens(_Widening):
    def none(self, value: str) -> bool:
        return value.lower() in ("null", "none", "undefined")


@breaks(
    "SCOPE-5", name="all-word-widens", also="SCOPE-1 SCOPE-8",
    story="The console's selector sends `all` for no filter.",
)  # fmt: skip
class AllWordWidens(_Widening):
    def none(self, value: str) -> bool:
        return value.lower() in ("all", "any")


@breaks(
    "SCOPE-6", name="org-ignored-under-compose", also="MODE-5 SCOPE-8",
    story="Compose reads a replica without row-level security.",
)  # fmt: skip
class OrgIgnoredUnderCompose(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return ask.mode == "compose" or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-6", name="org-ignored-for-actions", also="MATCH-2 MATCH-7",
    story="The extractor's query was written for one tenant.",
)  # fmt: skip
class OrgIgnoredForActions(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return ask.action is not None or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-6", name="org-ignored-for-one-type", also="TYPE-2",
    story="Procedures moved to a new table, whose policy is missing.",
)  # fmt: skip
class OrgIgnoredForOneType(Behaviour):
    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return row.type == "procedure" or super().owned(organisation, row, ask)


@breaks(
    "SCOPE-8", "SCOPE-6", name="context-of-both-organisations",
    story="The model is shown every tenant's lessons about the symbol, and quotes them.",
)  # fmt: skip
class ContextOfBothOrganisations(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        fired = set(self.fired(ask))
        foreign = [
            Hit(row, list(row.entities))
            for row in self.rows
            if fired & set(row.entities) and row.type != "fact" and self.admits(ask, row)
        ]
        shown = {hit.row.id for hit in hits}
        return super().context(ask, hits + [hit for hit in foreign if hit.row.id not in shown])


# ------------------------------------------------------------------ what fires, on a condition


@breaks(
    "MATCH-6", name="task-fires", also="MATCH-3 MATCH-5 SHAPE-1 MODE-5 MODE-8",
    story="Symbols named in the task fire as well as those of the signal.",
)  # fmt: skip
class TaskFires(Behaviour):
    def fired(self, ask: TriggerRequest) -> list[str]:
        return [*super().fired(ask), *self.identifiers(ask.task or "")]


@breaks(
    "MATCH-6", "MODE-5", name="compose-searches-the-task", also="MATCH-5 SHAPE-1",
    story="When nothing fires under compose, the task is searched for semantically.",
)  # fmt: skip
class ComposeSearchesTheTask(Behaviour):
    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        hits = super().recall(organisation, ask)
        if hits or ask.mode != "compose" or not ask.task:
            return hits
        words = set(ask.task.lower().split())
        return [
            Hit(row, list(row.entities[:1]))
            for row in self.rows
            if self.owned(organisation, row, ask)
            and self.admits(ask, row)
            and self.included(ask, row)
            and words & {entity.lower() for entity in row.entities}
        ]


@breaks("MATCH-4", name="entities-first-hundred", story="Only the first hundred entities are looked up.")
class EntitiesFirstHundred(Behaviour):
    def fired(self, ask: TriggerRequest) -> list[str]:
        return super().fired(ask)[:100] if ask.entities else super().fired(ask)


@breaks(
    "MATCH-4",
    name="entities-many-refused",
    story="More than ten entities are refused, which nobody wrote down.",
)
class EntitiesManyRefused(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        super().require_signal(ask)
        if ask.entities and len(ask.entities) > 10:
            raise Refusal(422, "invalid_request", "too many entities")


class _Leaves(Behaviour):
    """Looks at fewer values of `args`."""

    def texts(self, ask: TriggerRequest) -> Iterator[str]:
        if ask.action is not None:
            yield from self.leaves(ask.action.tool)
            yield from self.chosen(ask.action.args or {})
            yield from self.leaves(ask.action.output)

    def chosen(self, args: dict[str, Any]) -> Iterator[str]:
        raise NotImplementedError


@breaks("MATCH-7", name="args-eight-deep", story="The walk through args ends at a depth of eight.")
class ArgsEightDeep(_Leaves):
    def chosen(self, args: dict[str, Any]) -> Iterator[str]:
        waiting: list[tuple[Any, int]] = [(args, 0)]
        while waiting:
            value, depth = waiting.pop()
            if isinstance(value, str):
                yield value
            elif depth < 8 and isinstance(value, dict | list):
                inner = value.values() if isinstance(value, dict) else value
                waiting.extend((each, depth + 1) for each in inner)


@breaks(
    "MATCH-7",
    "MATCH-2",
    name="args-first-twenty",
    story="Only the first twenty values of args are looked at.",
)
class ArgsFirstTwenty(_Leaves):
    def chosen(self, args: dict[str, Any]) -> Iterator[str]:
        for number, text in enumerate(self.leaves(args)):
            if number < 20:
                yield text


@breaks(
    "MATCH-7",
    name="args-long-arrays",
    also="MATCH-2",
    story="Arrays of more than sixteen items are taken for data and skipped.",
)
class ArgsLongArrays(_Leaves):
    def chosen(self, args: dict[str, Any]) -> Iterator[str]:
        waiting: list[Any] = [args]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                waiting.extend(value.values())
            elif isinstance(value, list) and len(value) <= 16:
                waiting.extend(value)


# ------------------------------------------------------------------ compose on a condition


@breaks(
    "MODE-4",
    name="context-null-for-one-row",
    also="MODE-7",
    story="One row needs no block: context stays null.",
)
class ContextNullForOneRow(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        if len(kept.hits) == 1:
            kept.context = None
        return kept


@breaks(
    "MODE-4",
    name="context-null-for-actions",
    also="MODE-7",
    story="The hook shows rows itself, so actions get no block.",
)
class ContextNullForActions(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        if ask.action is not None:
            kept.context = None
        return kept


@breaks(
    "MODE-2",
    name="context-under-retrieve-for-actions",
    also="SHAPE-1",
    story="The hook wants a block whatever the mode.",
)
class ContextUnderRetrieveForActions(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        if ask.action is not None and kept.hits and kept.context is None:
            kept.context = self.context(ask, kept.hits)
        return kept


@breaks(
    "MODE-6",
    name="confidence-above-for-many",
    also="SHAPE-1",
    story="Each shared word adds a fifth, without an upper bound.",
)
class ConfidenceAboveForMany(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        kept = super().gate(ask, hits)
        for hit in kept:
            shared = len(hit.because.split(", ")) if hit.because and ask.task else 0
            hit.confidence = 0.5 + 0.2 * shared
        return kept


# ------------------------------------------------------------------ 5xx on a condition


class _Failing(Behaviour):
    """Fails on some valid requests."""

    def fails(self, ask: TriggerRequest) -> bool:
        raise NotImplementedError

    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if self.fails(ask):
            raise Refusal(500, "trigger_failed", "internal error")


@breaks(
    "ERR-3",
    name="four-axes-500",
    also="ROB-1 SCOPE-1 SCOPE-2 SCOPE-5 MATCH-6",
    story="Four filters need an index that was never built.",
)
class FourAxes500(_Failing):
    def fails(self, ask: TriggerRequest) -> bool:
        return None not in (ask.user_id, ask.agent_id, ask.app_id) and bool(ask.group_ids)


@breaks(
    "ERR-3",
    name="action-and-entities-500",
    also="ROB-1 VAL-8",
    story="Both signals at once reach a branch that was never written.",
)
class ActionAndEntities500(_Failing):
    def fails(self, ask: TriggerRequest) -> bool:
        return ask.action is not None and bool(ask.entities)


@breaks(
    "ERR-3",
    name="include-with-action-500",
    also="ROB-1 MATCH-6",
    story="`include` meets the extractor's query, and a join is missing.",
)
class IncludeWithAction500(_Failing):
    def fails(self, ask: TriggerRequest) -> bool:
        return ask.action is not None and ask.include == ["procedure"]


@breaks(
    "ERR-3",
    name="groups-without-user-under-compose-500",
    also="ROB-1 MODE-4",
    story="The prompt names the user, who may be absent.",
)
class GroupsWithoutUser500(_Failing):
    def fails(self, ask: TriggerRequest) -> bool:
        return ask.mode == "compose" and ask.user_id is None and bool(ask.group_ids)


@breaks(
    "ROB-1",
    name="gate-500-on-odd-task",
    also="ERR-3",
    story="The prompt is a template, and braces in the task are taken for its fields.",
)
class Gate500OnOddTask(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        if "{" in (ask.task or ""):
            raise Refusal(500, "trigger_failed", "internal error")
        return super().gate(ask, hits)


@breaks(
    "ROB-1", name="app-nul-500", also="ERR-3 SCOPE-5", story="Only the app column is text that refuses NUL."
)
class AppNul500(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if "\0" in (ask.app_id or ""):
            raise Refusal(500, "trigger_failed", "internal error")


@breaks(
    "ROB-1",
    name="output-surrogate-500",
    also="ERR-3",
    story="The tool's output is hashed as UTF-8, which a lone surrogate is not.",
)
class OutputSurrogate500(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        output = (ask.action.output if ask.action else None) or ""
        if any("\ud800" <= each <= "\udfff" for each in output):
            raise Refusal(500, "trigger_failed", "internal error")


@breaks(
    "ROB-1",
    name="rows-beside-odd-entities-500",
    also="ERR-3",
    story="With rows found, all that was sent is logged, and a surrogate breaks the log.",
)
class RowsBesideOddEntities500(Behaviour):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        if hits and any("\ud800" <= each <= "\udfff" for name in ask.entities or () for each in name):
            raise Refusal(500, "trigger_failed", "internal error")
        return super().rank(hits, ask)


@breaks("ROB-1", name="agent-long-500", also="ERR-3", story="The agent column is a varchar(255).")
class AgentLong500(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if len(ask.agent_id or "") > 255:
            raise Refusal(500, "trigger_failed", "internal error")


@breaks(
    "VAL-7",
    name="text-plain-with-charset-read",
    story="The media type is compared before its parameters are cut off.",
)
class TextPlainWithCharsetRead(Behaviour):
    def parse(self, call: Call) -> Any:
        if call.headers.get("content-type", "").lower().startswith("text/plain;"):
            call = Call(
                call.method,
                {**call.headers, "content-type": "application/json"},
                call.body,
                call.query,
                call.connection,
            )
        return super().parse(call)
