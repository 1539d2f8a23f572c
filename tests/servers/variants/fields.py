"""Wrong about the request: signal, scope, enums, the task, types, null, undeclared fields, bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, create_model, field_validator

from tests.servers.behaviour import Behaviour, Hit, Kept, Visit
from tests.servers.messages import Action, Call, DirectiveType, Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import breaks

# ------------------------------------------------------------------ signal and scope


@breaks("VAL-1", name="signal-optional", story="The check for a firing signal was lost in a refactoring.")
class SignalOptional(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        return


@breaks("VAL-1", name="signal-empty-list", story="`entities is not None` stands where `entities` was meant.")
class SignalEmptyList(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        if ask.action is None and ask.entities is None:
            super().require_signal(ask)


@breaks("VAL-1", name="signal-null", story="A field that was sent counts as given, even if it is null.")
class SignalNull(Behaviour):
    def require_signal(self, ask: TriggerRequest) -> None:
        sent_null = (
            {"action", "entities"} & ask.model_fields_set and ask.action is None and ask.entities is None
        )
        if not sent_null:
            super().require_signal(ask)


@breaks("VAL-2", name="scope-optional", story="No axis at all reads the whole organisation.")
class ScopeOptional(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        return


@breaks("VAL-2", name="scope-empty-groups", story="An empty group list counts as a scope.")
class ScopeEmptyGroups(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        if "group_ids" not in ask.model_fields_set:
            super().require_scope(ask)


@breaks("VAL-2", name="scope-null", story="A scope field that was sent counts as given, even if it is null.")
class ScopeNull(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        if not {"user_id", "agent_id", "app_id"} & ask.model_fields_set:
            super().require_scope(ask)


@breaks("VAL-1", "VAL-2", name="rules-400", also="ERR-3", story="Cross-field rules answer 400 by old habit.")
class Rules400(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.status == 422 and refusal.fields is None:
            refusal.status = 400
        return super().refuse(refusal)


# ------------------------------------------------------------------ enums and the task


def _known_types(values: Any) -> Any:
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return [value for value in values if value in ("lesson", "procedure")]
    return values


def _lower(value: Any) -> Any:
    if isinstance(value, list):
        return [_lower(each) for each in value]
    return value.lower() if isinstance(value, str) else value


class IncludeAny(TriggerRequest):
    include: Annotated[list[DirectiveType], BeforeValidator(_known_types)] = Field(default_factory=list)


@breaks(
    "VAL-3", name="include-unknown-ignored", also="VAL-10", story="Unknown types are dropped from the list."
)
class IncludeUnknownIgnored(Behaviour):
    model = IncludeAny


class IncludeLower(TriggerRequest):
    include: Annotated[list[DirectiveType], BeforeValidator(_lower)] = Field(default_factory=list)


@breaks(
    "VAL-3",
    name="include-any-case",
    also="VAL-10",
    story="Type names are lower-cased before they are checked.",
)
class IncludeAnyCase(Behaviour):
    model = IncludeLower


class IncludeStored(TriggerRequest):
    include: list[Literal["lesson", "procedure", "fact", "artifact", "episode"]] = Field(  # type: ignore[assignment]
        default_factory=list
    )


@breaks(
    "VAL-3", name="include-stored-types", also="VAL-10 TYPE-1",
    story="The enum of the search endpoint is used, so facts can be asked for.",
)  # fmt: skip
class IncludeStoredTypes(Behaviour):
    model = IncludeStored


class IncludeRepeated(TriggerRequest):
    include: list[DirectiveType] = Field(default_factory=list)


@breaks(
    "VAL-10", name="include-repeated", story="pydantic has no uniqueItems for lists; nobody wrote the check."
)
class IncludeRepeatedAccepted(Behaviour):
    model = IncludeRepeated


def _known_mode(value: Any) -> Any:
    return "compose" if isinstance(value, str) and value not in ("compose", "retrieve") else value


class ModeFallback(TriggerRequest):
    mode: Annotated[Literal["retrieve", "compose"], BeforeValidator(_known_mode)] = "compose"


@breaks("VAL-4", name="mode-falls-back", story="A mode that is not known falls back to the default.")
class ModeFallsBack(Behaviour):
    model = ModeFallback


class ModeLower(TriggerRequest):
    mode: Annotated[Literal["retrieve", "compose"], BeforeValidator(_lower)] = "compose"


@breaks("VAL-4", name="mode-any-case", story="The mode is lower-cased before it is checked.")
class ModeAnyCase(Behaviour):
    model = ModeLower


def _task(**rules: Any) -> type[TriggerRequest]:
    return create_model("TaskRequest", __base__=TriggerRequest, task=(str | None, Field(None, **rules)))


@breaks("VAL-5", name="task-1999", story="The limit is checked with >= in place of >.")
class Task1999(Behaviour):
    model = _task(max_length=1999)


@breaks("VAL-5", name="task-2001", story="The limit is checked one character late.")
class Task2001(Behaviour):
    model = _task(max_length=2001)


@breaks("VAL-5", name="task-unlimited", story="The limit is in the document and not in the code.")
class TaskUnlimited(Behaviour):
    model = _task()


def _measured(unit: str, width: int) -> AfterValidator:
    def check(task: str | None) -> str | None:
        if task is not None and len(task.encode(unit)) // width > 2000:
            raise ValueError("task is too long")
        return task

    return AfterValidator(check)


class TaskInBytes(TriggerRequest):
    task: Annotated[str | None, _measured("utf-8", 1)] = None


@breaks("VAL-5", name="task-bytes", story="The limit is the width of a column, which counts bytes.")
class TaskBytes(Behaviour):
    model = TaskInBytes


class TaskInUnits(TriggerRequest):
    task: Annotated[str | None, _measured("utf-16-le", 2)] = None


@breaks("VAL-5", name="task-utf16", story="The limit is checked where a character is a UTF-16 unit.")
class TaskUtf16(Behaviour):
    model = TaskInUnits


class TaskCut(TriggerRequest):
    task: Annotated[str | None, AfterValidator(lambda task: task and task[:2000])] = None


@breaks("VAL-5", name="task-truncated", story="Too long a task is cut silently.")
class TaskTruncated(Behaviour):
    model = TaskCut


# ------------------------------------------------------------------ types


class Numbers(TriggerRequest):
    model_config = ConfigDict(coerce_numbers_to_str=True)


@breaks("VAL-6", name="numbers-to-strings", story="Numbers are turned into strings where strings are wanted.")
class NumbersToStrings(Behaviour):
    model = Numbers


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Listed(TriggerRequest):
    entities: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    group_ids: Annotated[list[str], BeforeValidator(_listed)] = Field(default_factory=list)


@breaks("VAL-6", name="string-to-list", story="A lone string is taken for a list of one, to be friendly.")
class StringToList(Behaviour):
    model = Listed


def _object(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


class ActionText(TriggerRequest):
    action: Annotated[Action | None, BeforeValidator(_object)] = None


@breaks("VAL-6", name="action-as-string", story="An action that is a string is taken for the tool's name.")
class ActionAsString(Behaviour):
    model = ActionText


def _stringified(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else json.dumps(value)


class LooseAction(Action):
    output: Annotated[str | None, BeforeValidator(_stringified)] = None


class OutputAny(TriggerRequest):
    action: LooseAction | None = None


@breaks("VAL-6", name="output-any-type", story="Tool output is dumped to a string, whatever it was.")
class OutputAnyType(Behaviour):
    model = OutputAny


class ArgsAny(Action):
    args: Any = None


class AnyArgs(TriggerRequest):
    action: ArgsAny | None = None


@breaks("VAL-6", name="args-any-type", story="args is annotated Any, so a list or a string passes.")
class ArgsAnyType(Behaviour):
    model = AnyArgs


def _no_objects(value: Any) -> Any:
    return None if isinstance(value, bool | dict) else value


class Dropped(TriggerRequest):
    user_id: Annotated[str | None, BeforeValidator(_no_objects)] = None
    agent_id: Annotated[str | None, BeforeValidator(_no_objects)] = None
    app_id: Annotated[str | None, BeforeValidator(_no_objects)] = None
    task: Annotated[Annotated[str, Field(max_length=2000)] | None, BeforeValidator(_no_objects)] = None


@breaks("VAL-6", name="wrong-type-ignored", story="A value of a wrong type is treated as absent.")
class WrongTypeIgnored(Behaviour):
    model = Dropped


def _strings(values: Any) -> Any:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else values


class FilteredItems(TriggerRequest):
    entities: Annotated[list[str] | None, BeforeValidator(_strings)] = None
    group_ids: Annotated[list[str], BeforeValidator(_strings)] = Field(default_factory=list)


@breaks("VAL-6", name="wrong-items-dropped", story="Items of a list that are no strings are skipped.")
class WrongItemsDropped(Behaviour):
    model = FilteredItems


@breaks(
    "VAL-6",
    name="types-500",
    also="VAL-2 VAL-3 VAL-4 VAL-5 VAL-7 VAL-10 ERR-3 ROB-1",
    story="A validation error is not caught.",
)
class Types500(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        try:
            return super().validate(value)
        except Refusal:
            raise Refusal(500, "trigger_failed", "internal error") from None


@breaks(
    "VAL-6", "ERR-3", name="types-400", also="VAL-2 VAL-3 VAL-4 VAL-5 VAL-10 ERR-1",
    story="The handler of field errors still answers 400, as the service before it did.",
)  # fmt: skip
class Types400(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.fields is not None:
            refusal.status = 400
        return super().refuse(refusal)


# ------------------------------------------------------------------ null


def _not_null(base: type[TriggerRequest | Action], name: str) -> Any:
    """The same model, in which one nullable field refuses an explicit null."""

    def refuse(value: Any) -> Any:
        if value is None:
            raise ValueError(f"{name} must not be null")
        return value

    validators: dict[str, Any] = {"refuse": field_validator(name, mode="before")(refuse)}
    return create_model(f"{base.__name__}Without{name}", __base__=base, __validators__=validators)


def _null_refused(name: str, model: Any) -> None:
    """Register a server that answers 422 to an explicit null in this field."""
    variant: Any = type(f"NullRefused_{name}", (Behaviour,), {"model": model})
    story = f"`{name}` is optional and not nullable: it may be left out and may not be null."
    breaks("VAL-8", name=f"null-{name.replace('_', '-').replace('.', '-')}", story=story)(variant)


for _field in ("entities", "action", "task", "user_id", "agent_id", "app_id"):
    _null_refused(_field, _not_null(TriggerRequest, _field))

for _field in ("tool", "args", "output"):
    _fields: dict[str, Any] = {"action": (_not_null(Action, _field) | None, None)}
    _null_refused(f"action.{_field}", create_model("NullActionRequest", __base__=TriggerRequest, **_fields))


# ------------------------------------------------------------------ undeclared fields


class Closed(TriggerRequest):
    model_config = ConfigDict(extra="forbid")


@breaks("VAL-9", name="extra-forbidden", story="extra=forbid was set to catch typing errors of clients.")
class ExtraForbidden(Behaviour):
    model = Closed


class ClosedAction(Action):
    model_config = ConfigDict(extra="forbid")


class ClosedInside(TriggerRequest):
    action: ClosedAction | None = None


@breaks("VAL-9", name="extra-forbidden-in-action", story="extra=forbid was set on the nested model.")
class ExtraForbiddenInAction(Behaviour):
    model = ClosedInside


class Limited(TriggerRequest):
    limit: Annotated[Any, Field()] = None


@breaks("VAL-9", name="extra-limit", story="`limit` of the search endpoint is honoured here too.")
class ExtraLimit(Behaviour):
    model = Limited

    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        limit = getattr(ask, "limit", None)
        if isinstance(limit, int):
            hits = hits[: max(0, limit)]
        return super().select(ask, hits)


class Spaced(TriggerRequest):
    namespace: Any = None


@breaks("VAL-9", name="extra-namespace", story="`namespace` of a newer release already filters.")
class ExtraNamespace(Behaviour):
    model = Spaced

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        return super().recall(organisation, ask) if getattr(ask, "namespace", None) is None else []


class AliasedAction(Action):
    input: Any = None


class Aliased(TriggerRequest):
    action: AliasedAction | None = None


@breaks(
    "VAL-9",
    name="extra-action-input",
    story="`action.input` of other agents' hooks is searched as well as `args`.",
)
class ExtraActionInput(Behaviour):
    model = Aliased

    def texts(self, ask: TriggerRequest) -> Any:
        yield from super().texts(ask)
        yield from self.leaves(getattr(ask.action, "input", None))


# ------------------------------------------------------------------ bodies


def nothing_recalled() -> dict[str, Any]:
    return {
        "object": "search",
        "mode": "compose",
        "data": [],
        "context": None,
        "stage_timings": {},
        "context_selection_applied": False,
    }


class _Unread(Behaviour):
    """Answers bodies that cannot be read in its own way."""

    def unreadable(self, call: Call) -> bool:
        raise NotImplementedError

    async def serve(self, visit: Visit) -> Reply:
        self.authenticate(visit.call.headers)
        return self.shrug() if self.unreadable(visit.call) else await super().serve(visit)

    def shrug(self) -> Reply:
        return Reply(200, nothing_recalled())


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


@breaks(
    "VAL-7",
    name="malformed-200",
    story="A hook must never fail, so a body that is no JSON draws nothing: 200.",
)
class Malformed200(_Unread):
    def unreadable(self, call: Call) -> bool:
        return bool(call.body) and not _is_json(call.body)


@breaks("VAL-7", "ROB-1", name="malformed-500", story="The JSON parser's exception is not caught.")
class Malformed500(Malformed200):
    def shrug(self) -> Reply:
        raise Refusal(500, "trigger_failed", "internal error")


@breaks("VAL-7", "ROB-1", name="empty-body-500", story="The body is indexed before it is looked at.")
class EmptyBody500(_Unread):
    def unreadable(self, call: Call) -> bool:
        return not call.body

    def shrug(self) -> Reply:
        raise Refusal(500, "trigger_failed", "internal error")


@breaks("VAL-7", name="empty-body-200", story="An empty body is taken for a health check.")
class EmptyBody200(_Unread):
    def unreadable(self, call: Call) -> bool:
        return not call.body


@breaks("VAL-7", name="no-object-200", story="A body that is no object has no fields, so nothing fires: 200.")
class NoObject200(_Unread):
    def unreadable(self, call: Call) -> bool:
        return _is_json(call.body) and not isinstance(json.loads(call.body), dict)


@breaks("VAL-7", "ROB-1", name="no-object-500", story="`body.get` is called on a list.")
class NoObject500(NoObject200):
    def shrug(self) -> Reply:
        raise Refusal(500, "trigger_failed", "'list' object has no attribute 'get'")


@breaks("VAL-7", name="text-plain-read", story="The body is parsed whatever Content-Type says.")
class TextPlainRead(Behaviour):
    def reads_as_json(self, media_type: str) -> bool:
        return True


@breaks("VAL-7", name="form-read", story="The framework's form parser is left on beside the JSON one.")
class FormRead(Behaviour):
    def reads_as_json(self, media_type: str) -> bool:
        return super().reads_as_json(media_type) or media_type == "application/x-www-form-urlencoded"

    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except ValueError:
            form: Mapping[str, Sequence[str]] = parse_qs(body.decode("utf-8"))
            if not form:
                raise
            many = ("entities", "include", "group_ids")
            return {name: list(values) if name in many else values[0] for name, values in form.items()}


@breaks(
    "VAL-7",
    name="text-plain-500",
    also="ROB-1",
    story="No parser is found for text/plain, and None is called.",
)
class TextPlain500(_Unread):
    def unreadable(self, call: Call) -> bool:
        return call.headers.get("content-type", "").startswith("text/")

    def shrug(self) -> Reply:
        raise Refusal(500, "trigger_failed", "internal error")
