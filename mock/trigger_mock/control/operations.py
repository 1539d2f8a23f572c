"""What a route takes and what it answers, said once: requests are judged by it, and the OpenAPI document is
written from it, so that neither can say what the other does not.

Knows no room in particular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

import orjson
from flask import Response, request
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from trigger_fixtures.mistakes import printable, shown

JSON = "application/json"
#: A message tells of so many mistakes.
MOST_TOLD = 5
_JSON = re.compile(r"\s*application/(?:[^;,\s/]+\+)?json\s*(?:;|$)", re.IGNORECASE)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
#: Fields whose value no message repeats.
_SECRET = frozenset({"api_key", "api_keys", "key", "keys", "fixtures"})

View = Callable[..., Any]


class Strict(BaseModel):
    """A value that comes in or goes out: unknown fields are refused, and no type stands for another."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def whole(value: Any) -> Any:
    """An integer as JSON means it: 600 and 600.0 are the same. For a `BeforeValidator`."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Declined(Exception):
    """The control plane declines: the status, a word for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one path. `query`: its parameters; `body`: what it takes, any pydantic type; `raw`: it
    takes a body of any kind; `answer`: the type of what it answers (None: nothing, as 204); `errors`: the
    statuses that it may decline with, besides those that every route may; `media`: of the answer.
    """

    summary: str
    query: type[BaseModel] | None = None
    body: Any = None
    body_required: bool = True
    raw: bool = False
    answer: Any = None
    status: int = 200
    errors: tuple[int, ...] = ()
    media: str = JSON
    open: bool = False

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """What judges a body."""
        return TypeAdapter(self.body)

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The schemas of the query's parameters, by name."""
        if self.query is None:
            return {}
        return {
            name: _without_null(schema)
            for name, schema in self.query.model_json_schema().get("properties", {}).items()
        }


def operation(
    summary: str,
    *,
    query: type[BaseModel] | None = None,
    body: Any = None,
    body_required: bool = True,
    raw: bool = False,
    answer: Any = None,
    status: int | None = None,
    errors: tuple[int, ...] = (),
    media: str = JSON,
    open_to_all: bool = False,
) -> Callable[[View], Callable[..., Response]]:
    """Say what a view takes and answers. The view is given `query` and `body` where it takes them, and
    returns a response or what becomes JSON.
    """
    told = Operation(
        summary=summary, query=query, body=body, body_required=body_required, raw=raw, answer=answer,
        status=status or (200 if answer is not None else 204), errors=errors, media=media, open=open_to_all,
    )  # fmt: skip

    def told_of(view: View) -> Callable[..., Response]:
        @wraps(view)
        def judged(**arguments: Any) -> Response:
            asked = _query(told)
            if told.query is not None:
                arguments["query"] = asked
            if told.body is not None:
                arguments["body"] = _body(told)
            result = view(**arguments)
            if isinstance(result, Response):
                return result
            if result is None:
                return Response(status=204)
            return Response(orjson.dumps(result), told.status, content_type=JSON)

        judged.operation = told  # type: ignore[attr-defined]
        return judged

    return told_of


def _query(told: Operation) -> BaseModel | None:
    values: dict[str, Any] = {}
    for name, texts in request.args.lists():
        if name not in told.parameters:
            raise Declined(422, "invalid_request", unknown(name, told.parameters, "parameter"))
        if len(texts) > 1:
            raise Declined(422, "invalid_request", f"{name}: given {len(texts)} times; expected once")
        values[name] = _typed(texts[0], told.parameters[name].get("type"))
    if told.query is None:
        return None
    try:
        return told.query.model_validate(values, strict=True)
    except ValidationError as error:
        raise Declined(422, "invalid_request", in_words(error, told.query)) from None


def _typed(text: str, kind: object) -> Any:
    """A parameter's text as the type that its schema names; as it is where it cannot be read so."""
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text)
    return text


def _body(told: Operation) -> Any:
    raw = request.get_data(cache=False)
    if not raw and not told.body_required:
        raw = b"{}"
    elif not _JSON.match(request.content_type or ""):
        seen = printable(request.content_type or "nothing")
        raise Declined(415, "unsupported_media_type", f"Content-Type: seen {seen}; expected application/json")
    try:
        orjson.loads(raw)
        return told.adapter.validate_json(raw)
    except orjson.JSONDecodeError as error:
        raise Declined(422, "invalid_json", f"the body is no JSON: {error}") from None
    except ValidationError as error:
        raise Declined(422, "invalid_request", in_words(error, told.body)) from None


def in_words(error: ValidationError, model: Any = None) -> str:
    """What is wrong: where, what was seen, what would be right. Never shows a key."""
    told = [_mistake(dict(each), model) for each in error.errors(include_url=False)]
    more = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return "; ".join(told[:MOST_TOLD]) + more


def _mistake(detail: dict[str, Any], model: Any) -> str:
    place = ".".join(printable(str(part), 40) for part in detail["loc"]) or "the body"
    if detail["type"] == "extra_forbidden":
        fields: Iterable[str] = ()
        if isinstance(model, type) and issubclass(model, BaseModel) and len(detail["loc"]) == 1:
            fields = [field.alias or name for name, field in model.model_fields.items()]
        return unknown(place, fields, "field")
    if detail["type"] == "missing":
        return f"{place}: missing"
    hidden = not _SECRET.isdisjoint(map(str, detail["loc"]))
    seen = "" if hidden else f" (seen {shown(detail['input'])})"
    return f"{place}: {detail['msg']}{seen}"


def unknown(name: str, known: Iterable[str], kind: str) -> str:
    """That nothing of this name is known, and what is."""
    names = ", ".join(known)
    return f"{printable(name, 40)}: an unknown {kind}; expected {names or 'none'}"


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is absent where a field is null."""
    schema = {name: value for name, value in schema.items() if name not in ("title", "default")}
    options = [option for option in schema.pop("anyOf", ()) if option != {"type": "null"}]
    return {**options[0], **schema} if options else schema
