"""A room of the control plane: its routes, and what each takes and gives, said once.

What an operation takes is a pydantic model, which reads requests and describes itself; what it gives is a
`TypedDict`, which the type checker holds views to. The OpenAPI document is made of both, so it cannot say
anything else than the code does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import orjson
from flask import Blueprint, Response, current_app, request
from pydantic import BaseModel, TypeAdapter, ValidationError
from werkzeug.exceptions import UnsupportedMediaType

from trigger_mock.benches import Benches
from trigger_mock.json_values import is_array
from trigger_mock.seen import shown

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
#: Mistakes that one answer tells of.
MOST_TOLD = 10
#: Fields that no message repeats: keys, or whatever stands in their place.
_SECRET = frozenset({"api_key", "fixtures"})
_PARAMETER = re.compile(r"\{(\w+)\}")
#: Parameters of paths: what Flask reads, and their schema.
PATH_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bench": ("bench", {"type": "string", "minLength": 1, "description": "A bench's name, or `default`."}),
    "number": ("int:number", {"type": "integer", "minimum": 0, "description": "A call's number."}),
    "row": ("row", {"type": "string", "format": "uuid", "description": "A memory's id."}),
    "fault": ("fault", {"type": "string", "minLength": 1, "description": "A fault rule's id."}),
}

View = TypeVar("View", bound=Callable[..., Any])


class Declined(Exception):
    """The control plane does not do what was asked: `code` for programs, the message for people, `details`
    for both.
    """

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details


class JsonBody(NamedTuple):
    """A body that is JSON and whose reading is the view's own: how it is described."""

    schema: dict[str, Any]


class RawBody(NamedTuple):
    """A body of any kind, which the view reads as it came."""

    schema: dict[str, Any] = {}  # noqa: RUF012 - never changed: anything goes


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method on one path. `body`: the type of what it takes, or None; `answer`: of what it gives, or None
    for no content; `media`: what it gives apart from JSON.
    """

    method: str
    path: str
    summary: str
    view: Callable[..., Any]
    query: type[BaseModel] | None
    body: Any
    answer: Any
    status: int
    media: tuple[str, ...]
    room: str


class Room:
    """Operations on one subject."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.routes = Blueprint(name, __name__)
        self.operations: list[Operation] = []

    def serve(
        self,
        method: str,
        path: str,
        *,
        query: type[BaseModel] | None = None,
        body: Any = None,
        answer: Any = None,
        status: int | None = None,
        media: tuple[str, ...] = (),
    ) -> Callable[[View], View]:
        """Serve a view. It gets the path's parameters (`bench` as the `Bench`), and `query` and `body` where
        those are declared, read and valid; what it returns is encoded as JSON, unless it is a `Response`.
        """

        def register(view: View) -> View:
            summary = (view.__doc__ or "").strip().partition("\n")[0]
            operation = Operation(
                method=method, path=path, summary=summary, view=view, query=query, body=body, answer=answer,
                status=status or (204 if answer is None and not media else 200), media=media, room=self.name,
            )  # fmt: skip
            self.operations.append(operation)
            self.routes.add_url_rule(
                _PARAMETER.sub(lambda found: f"<{PATH_PARAMETERS[found[1]][0]}>", path),
                endpoint=view.__name__,
                view_func=partial(_carry_out, operation),
                methods=[method],
                provide_automatic_options=False,
            )
            return view

        return register


def benches() -> Benches:
    """The benches of the server that is asked."""
    return cast("Benches", current_app.extensions["trigger_mock"])


def json_response(value: object, status: int = 200) -> Response:
    """A value as a response."""
    return Response(orjson.dumps(value), status, content_type="application/json")


def rfc3339(seconds: float) -> str:
    """A moment (seconds since 1970) as the control plane writes it, to the millisecond."""
    return (
        datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    )


def _carry_out(operation: Operation, **parameters: Any) -> Response:
    if "bench" in parameters:
        parameters["bench"] = benches().named(parameters["bench"])
    if operation.query is not None:
        parameters["query"] = _query(operation.query)
    elif request.args:
        raise Declined(
            422, "invalid_request", f"{next(iter(request.args))} is not read here; expected no query"
        )
    if operation.body is not None and not isinstance(operation.body, RawBody):
        parameters["body"] = read_body(operation.body)
    result = operation.view(**parameters)
    if isinstance(result, Response):
        return result
    return Response(status=204) if operation.answer is None else json_response(result, operation.status)


def read_body(kind: Any) -> Any:
    """The request's JSON as a value of this type. Raises `Declined` with every field that is wrong."""
    if request.mimetype != "application/json":
        raise UnsupportedMediaType(f"Content-Type is {request.content_type!r}; expected application/json")
    try:
        value = orjson.loads(request.get_data(cache=False))
        # As it is kept and shown: pydantic by itself reads NaN, and integers that no answer could carry.
        readable = orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise Declined(422, "invalid_request", f"the body is no JSON, or nests too deeply: {error}") from None
    if isinstance(kind, JsonBody):
        return value
    try:
        return _adapter(kind).validate_json(readable, strict=True)
    except ValidationError as error:
        raise invalid(error) from None


def _query(model: type[BaseModel]) -> BaseModel:
    values: dict[str, Any] = {}
    for name, given in request.args.to_dict(flat=False).items():
        if is_array(given) and len(given) > 1:
            raise Declined(422, "invalid_request", f"{name} is given {len(given)} times; expected once")
        values[name] = _value(given[0], _kinds(model).get(name, frozenset()))
    try:
        return model.model_validate(values, strict=True)
    except ValidationError as error:
        raise invalid(error) from None


def _value(text: str, kinds: frozenset[str]) -> Any:
    """A parameter as the type that its field has: all of them come as text."""
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    if "integer" in kinds and _WHOLE.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return float(text)
    return text


def invalid(error: ValidationError) -> Declined:
    """What a model refused, each field with what was seen, unless that may be a key."""
    said: list[str] = []
    for each in error.errors(include_url=False)[:MOST_TOLD]:
        place = ".".join(map(str, map(shown, each["loc"]))) or "the body"
        if each["type"] == "extra_forbidden":
            said.append(f"{place}: nothing of this name is read")
        elif each["type"] == "missing" or not _SECRET.isdisjoint(map(str, each["loc"])):
            said.append(f"{place}: {_lowered(each['msg'])}")
        else:
            said.append(f"{place}: {_lowered(each['msg'])}, seen {shown(each['input'])!r}")
    return Declined(422, "invalid_request", "; ".join(said))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@cache
def _kinds(model: type[BaseModel]) -> Mapping[str, frozenset[str]]:
    """The JSON types that each parameter may have."""
    properties = model.model_json_schema()["properties"]
    return {
        name: frozenset(str(each.get("type")) for each in [schema, *schema.get("anyOf", ())])
        for name, schema in properties.items()
    }
