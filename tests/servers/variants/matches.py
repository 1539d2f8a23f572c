"""Wrong about what fires: comparison, entities, extraction from an action, `matched_on`, types."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept
from tests.servers.data import Row
from tests.servers.messages import TriggerRequest
from tests.servers.variants.registry import SETS, breaks

# ------------------------------------------------------------------ comparison


@breaks(
    "MATCH-3",
    name="match-substring",
    also="MATCH-5",
    story="Entities are searched in text: a part is enough.",
)
class MatchSubstring(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return bool(name.strip()) and name in entity


@breaks("MATCH-3", name="match-superstring", also="MATCH-5", story="A trigger is searched in what was sent.")
class MatchSuperstring(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return entity in name


@breaks("MATCH-3", name="match-any-case", also="MATCH-5", story="The entity index folds case.")
class MatchAnyCase(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return name.lower() == entity.lower()


@breaks(
    "MATCH-3",
    name="match-prefix",
    also="MATCH-5",
    story="Autocompletion's index is used: a beginning is enough.",
)
class MatchPrefix(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return len(name) >= 3 and entity.startswith(name)


@breaks(
    "MATCH-3", name="match-trimmed", also="MATCH-5", story="Entities are trimmed before they are looked up."
)
class MatchTrimmed(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return name.strip() == entity


@breaks(
    "MATCH-3",
    name="match-tokens",
    also="MATCH-5",
    story="`entities` go through the extractor of actions as well.",
)
class MatchTokens(Behaviour):
    def fired(self, ask: TriggerRequest) -> list[str]:
        names = super().fired(ask)
        return [piece for name in names for piece in self.identifiers(name)]


# ------------------------------------------------------------------ the entities of a request


class _Names(Behaviour):
    """Looks up other names than were sent."""

    def names(self, sent: list[str]) -> list[str]:
        raise NotImplementedError

    def fired(self, ask: TriggerRequest) -> list[str]:
        return self.names(ask.entities) if ask.entities else super().fired(ask)


@breaks("MATCH-4", name="entities-first-only", story="Only the first entity is looked up.")
class EntitiesFirstOnly(_Names):
    def names(self, sent: list[str]) -> list[str]:
        return sent[:1]


@breaks("MATCH-4", name="entities-last-only", story="The loop overwrites its result.")
class EntitiesLastOnly(_Names):
    def names(self, sent: list[str]) -> list[str]:
        return sent[-1:]


@breaks("MATCH-4", name="entities-first-eight", story="The IN clause is cut to eight parameters.")
class EntitiesFirstEight(_Names):
    def names(self, sent: list[str]) -> list[str]:
        return sent[:8]


@breaks("MATCH-4", name="entities-need-order", story="A merge of sorted lists is fed with an unsorted one.")
class EntitiesNeedOrder(_Names):
    def names(self, sent: list[str]) -> list[str]:
        wanted = sorted({entity for row in self.rows for entity in row.entities} & set(sent))
        return [name for name in wanted if sent[bisect.bisect_left(sent, name) % len(sent)] == name]


@breaks("MATCH-4", name="entities-all-of", story="All entities must be on the row, not one of them.")
class EntitiesAllOf(Behaviour):
    def matched(self, row: Row, fired: Sequence[str]) -> list[str]:
        explicit = getattr(self, "explicit", False)
        return [] if explicit and not set(fired) <= set(row.entities) else super().matched(row, fired)

    def fired(self, ask: TriggerRequest) -> list[str]:
        self.explicit = bool(ask.entities)
        return super().fired(ask)


@breaks(
    "MATCH-4",
    "SHAPE-2",
    name="repeats-repeat-rows",
    story="Each entity that was sent is looked up and appended.",
)
class RepeatsRepeatRows(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        sent = ask.entities or []
        repeated = [hit for hit in hits if any(sent.count(entity) > 1 for entity in hit.matched)]
        return super().select(ask, hits + repeated)


@breaks("MATCH-4", name="repeats-cancel", story="Entities are counted by XOR: twice is none.")
class RepeatsCancel(_Names):
    def names(self, sent: list[str]) -> list[str]:
        return [name for name in sent if sent.count(name) % 2]


@breaks(
    "MATCH-1", name="first-trigger-only", also="MATCH-2 MATCH-7",
    story="Only the first trigger of a directive is indexed.",
)  # fmt: skip
class FirstTriggerOnly(Behaviour):
    def matched(self, row: Row, fired: Sequence[str]) -> list[str]:
        return super().matched(row._replace(entities=row.entities[:1]), fired)


@breaks(
    "MATCH-1", name="upper-case-never-fires", also="MATCH-2 MATCH-7",
    story="Triggers are lower-cased when they are stored, requests are not.",
)  # fmt: skip
class UpperCaseNeverFires(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return name == entity and entity == entity.lower()


@breaks(
    "MATCH-1", name="dots-never-fire", also="MATCH-2 MATCH-7",
    story="What is sent is split at dots before it is looked up.",
)  # fmt: skip
class DotsNeverFire(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return "." not in name and name == entity


# ------------------------------------------------------------------ extraction from an action


class _Texts(Behaviour):
    """Looks at other parts of an action."""

    def texts(self, ask: TriggerRequest) -> Iterator[str]:
        if ask.action is not None:
            yield from self.tool(ask.action.tool)
            yield from self.args(ask.action.args)
            yield from self.output(ask.action.output)

    def tool(self, tool: str | None) -> Iterator[str]:
        yield from self.leaves(tool)

    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        yield from self.leaves(args)

    def output(self, output: str | None) -> Iterator[str]:
        yield from self.leaves(output)


@breaks("MATCH-2", name="tool-ignored", story="The tool's name is logged and not searched.")
class ToolIgnored(_Texts):
    def tool(self, tool: str | None) -> Iterator[str]:
        yield from ()


@breaks("MATCH-2", "MATCH-7", name="args-ignored", story="Arguments are held back for fear of secrets.")
class ArgsIgnored(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        yield from ()


@breaks("MATCH-2", name="output-ignored", story="The hook after the call was never wired.")
class OutputIgnored(_Texts):
    def output(self, output: str | None) -> Iterator[str]:
        yield from ()


@breaks(
    "MATCH-2",
    name="args-need-a-tool",
    also="MATCH-7",
    story="An action without a tool's name is skipped as incomplete.",
)
class ArgsNeedATool(_Texts):
    def texts(self, ask: TriggerRequest) -> Iterator[str]:
        if ask.action is not None and ask.action.tool is not None:
            yield from super().texts(ask)


@breaks(
    "MATCH-2",
    name="args-file-path-only",
    also="MATCH-7",
    story="Only the argument called file_path is looked at.",
)
class ArgsFilePathOnly(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        yield from self.leaves((args or {}).get("file_path"))


@breaks(
    "MATCH-2",
    name="output-hides-args",
    also="MATCH-7",
    story="With an output given, the arguments count as old news.",
)
class OutputHidesArgs(_Texts):
    def texts(self, ask: TriggerRequest) -> Iterator[str]:
        if ask.action is not None:
            part = ask.action
            yield from self.leaves(part.output if part.output is not None else [part.tool, part.args])


@breaks("MATCH-7", name="args-flat", story="Only strings right under `args` are looked at.")
class ArgsFlat(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        yield from (value for value in (args or {}).values() if isinstance(value, str))


@breaks("MATCH-7", name="args-without-arrays", story="The walk descends into objects and forgets arrays.")
class ArgsWithoutArrays(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        waiting: list[Any] = [args or {}]
        while waiting:
            for value in waiting.pop().values():
                if isinstance(value, dict):
                    waiting.append(value)
                elif isinstance(value, str):
                    yield value


@breaks(
    "MATCH-7",
    name="args-without-objects",
    story="Arrays of strings are read, objects are not descended into.",
)
class ArgsWithoutObjects(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        waiting: list[Any] = [value for value in (args or {}).values() if not isinstance(value, dict)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting.extend(each for each in value if not isinstance(each, dict))
            elif isinstance(value, str):
                yield value


@breaks("MATCH-2", "MATCH-7", name="args-keys-only", story="`for value in args` walks over the keys.")
class ArgsKeysOnly(_Texts):
    def args(self, args: dict[str, Any] | None) -> Iterator[str]:
        yield from args or {}


# ------------------------------------------------------------------ matched_on, and what nothing carries


class _MatchedOn(Behaviour):
    """Reports something else as what fired."""

    def reported(self, ask: TriggerRequest, hit: Hit) -> list[str]:
        raise NotImplementedError

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().details(ask, hit), "matched_on": self.reported(ask, hit)}


@breaks(
    "MATCH-5",
    name="matched-on-empty",
    also="SHAPE-1",
    story="The field is filled by a later stage that was removed.",
)
class MatchedOnEmpty(_MatchedOn):
    def reported(self, ask: TriggerRequest, hit: Hit) -> list[str]:
        return []


@breaks("MATCH-5", name="matched-on-all", story="All triggers of the row are reported.")
class MatchedOnAll(_MatchedOn):
    def reported(self, ask: TriggerRequest, hit: Hit) -> list[str]:
        return list(hit.row.entities)


@breaks("MATCH-5", name="matched-on-sent", story="All that was sent is reported.")
class MatchedOnSent(_MatchedOn):
    def reported(self, ask: TriggerRequest, hit: Hit) -> list[str]:
        return self.fired(ask)


@breaks("MATCH-5", name="matched-on-folded", story="The folded form of the index is reported.")
class MatchedOnFolded(_MatchedOn):
    def reported(self, ask: TriggerRequest, hit: Hit) -> list[str]:
        return [entity.lower() for entity in hit.matched]


@breaks(
    "MATCH-5",
    name="matched-on-absent",
    also="SHAPE-1",
    story="The field was dropped from the response model.",
)
class MatchedOnAbsent(Behaviour):
    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        details = super().details(ask, hit)
        del details["matched_on"]
        return details


@breaks(
    "MATCH-6", name="unknown-gets-latest", also=f"{SETS} MATCH-3 MATCH-5 SHAPE-1 SCOPE-5",
    story="When nothing fires, the latest directives of the scope are offered.",
)  # fmt: skip
class UnknownGetsLatest(Behaviour):
    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        hits = super().recall(organisation, ask)
        if hits or not ask.entities:
            return hits
        rows = [
            row
            for row in self.rows
            if self.owned(organisation, row, ask) and self.admits(ask, row) and self.included(ask, row)
        ]
        return [Hit(row, []) for row in sorted(rows, key=lambda row: row.updated)[-3:]]


@breaks(
    "MATCH-6", name="unknown-gets-nearest", also=f"{SETS} MATCH-3 MATCH-5 SCOPE-5",
    story="When nothing fires, the vector index is asked, and it always knows somebody.",
)  # fmt: skip
class UnknownGetsNearest(UnknownGetsLatest):
    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        return [
            Hit(hit.row, hit.matched or list(hit.row.entities[:1]))
            for hit in super().recall(organisation, ask)
        ]


# ------------------------------------------------------------------ types


@breaks(
    "TYPE-1",
    name="facts-too",
    also="TYPE-2 SHAPE-1",
    story="Facts with triggers are recalled by default.",
)
class FactsToo(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        return row.type in (ask.include or ("lesson", "procedure", "fact"))


@breaks(
    "TYPE-1",
    name="types-upper-case",
    also="TYPE-2 SHAPE-1 SHAPE-2",
    story="The enum's name is sent, not its value.",
)
class TypesUpperCase(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().render(ask, hit), "type": hit.row.type.upper()}


@breaks("TYPE-2", name="include-ignored", story="`include` is validated and never used.")
class IncludeIgnored(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        return row.type in ("lesson", "procedure")


@breaks("TYPE-2", name="include-lesson-means-both", story="Procedures count as a kind of lesson.")
class IncludeLessonMeansBoth(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        types = {"procedure", *ask.include} if "lesson" in ask.include else ask.include
        return row.type in (types or ("lesson", "procedure"))


@breaks(
    "TYPE-2", name="default-lessons-only", also="MATCH-1 MATCH-2 MATCH-7",
    story="The default of `include` was written before procedures existed.",
)  # fmt: skip
class DefaultLessonsOnly(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        return row.type in (ask.include or ("lesson",))


@breaks("TYPE-2", name="include-swapped", story="A migration swapped the two values.")
class IncludeSwapped(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        other = {"lesson": "procedure", "procedure": "lesson"}
        return row.type in ([other[kind] for kind in ask.include] or ("lesson", "procedure"))
