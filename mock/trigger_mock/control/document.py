"""The OpenAPI document of the control plane: written from the routes that are there and from the types that
judge what they take, when somebody first asks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, current_app
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

import trigger_fixtures
from trigger_mock.control import PREFIX
from trigger_mock.control.operations import JSON, Operation, Strict, operation

routes = Blueprint("document", __name__)

REFERENCE = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
#: What every route may decline with.
_ALWAYS = (401, 403)
_MEANT = {
    401: "The control plane has a token, and this is not it.",
    403: "Asked from elsewhere than this machine without a token, or by a page of another site.",
    404: "Nothing of this name or number is there.",
    409: "It does not go together with what is there.",
    413: "The body is larger than this server accepts.",
    415: "The body does not say that it is JSON.",
    422: "Something of the request is not right; the message says what, and what would be.",
}
_PATH: dict[str, dict[str, Any]] = {
    "bench": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
    "number": {"type": "integer", "minimum": 1, "maximum": 2**53},
}
_ANY_NAME: dict[str, Any] = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,100}$"}


class ErrorDetail(Strict):
    """Why the control plane declines: a word for programs, a sentence for people."""

    code: str
    message: str


class Error(Strict):
    """What every refusal of the control plane holds."""

    error: ErrorDetail = Field(description="Named so that none is taken for one of the endpoint's.")


class OpenApi(BaseModel):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


@routes.get("/openapi.json")
@operation("Read this document.", answer=OpenApi)
def read() -> dict[str, Any]:
    """What is served here, with what each route takes and answers."""
    app = current_app
    if "trigger_mock.document" not in app.extensions:
        app.extensions["trigger_mock.document"] = document_of(app)
    document: dict[str, Any] = app.extensions["trigger_mock.document"]
    return document


def operations(app: Flask) -> Iterator[tuple[str, str, Operation]]:
    """(method, path as OpenAPI writes it, what it takes and answers) of every route; the pages, which are for
    people, are left out.
    """
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        told: Operation | None = getattr(app.view_functions[rule.endpoint], "operation", None)
        if told is None:
            continue
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield method, _PARAMETER.sub(r"{\1}", rule.rule), told


def document_of(app: Flask) -> dict[str, Any]:
    """Write the document of this application."""
    told = list(operations(app))
    schemas, components = _schemas([each for _, _, each in told])
    paths: dict[str, dict[str, Any]] = {}
    for method, path, each in told:
        paths.setdefault(path, {})[method.lower()] = _operation(method, path, each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Control plane of trigger-mock",
            "version": _version(),
            "description": "See, steer and explain every call to the mock. `default` is the bench of the "
            "fixtures that the server was started with.",
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}, {"password": []}],
        "paths": paths,
        "components": {
            "schemas": components | _fixtures_schema(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {
                    "type": "http", "scheme": "basic",
                    "description": "Any name, and the token as the password: for browsers.",
                },
            },
        },
    }  # fmt: skip


def _operation(
    method: str, path: str, told: Operation, schemas: dict[tuple[int, str], dict[str, Any]]
) -> dict[str, Any]:
    takes = told.body is not None or told.raw
    declines = {*told.errors, *(() if told.open else _ALWAYS), *((413,) if takes else ())}
    declines |= {422} | ({415} if told.body is not None else set())
    written: dict[str, Any] = {
        "operationId": f"{method.lower()}{re.sub(r'[^a-z]+', '_', path.removeprefix(PREFIX))}".rstrip("_"),
        "summary": told.summary,
        "parameters": [*_in_path(path), *_in_query(told)],
        "responses": {
            str(told.status): _answer(told, schemas),
            **{str(status): _declined(status) for status in sorted(declines)},
        },
    }
    if told.open:
        written["security"] = []
    if takes:
        content = {"schema": {} if told.raw else schemas[id(told), "validation"]}
        written["requestBody"] = {
            "required": told.body_required and not told.raw, "content": {JSON: content}
        }  # fmt: skip
    return written


def _in_path(path: str) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", path):
        yield {"name": name, "in": "path", "required": True, "schema": _PATH.get(name, _ANY_NAME)}


def _in_query(told: Operation) -> Iterator[dict[str, Any]]:
    required: set[str] = set()
    if told.query is not None:
        required = {name for name, field in told.query.model_fields.items() if field.is_required()}
    for name, schema in told.parameters.items():
        yield {"name": name, "in": "query", "required": name in required, "schema": schema}


def _answer(told: Operation, schemas: dict[tuple[int, str], dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": told.summary}
    if told.answer is not None:
        answer["content"] = {told.media: {"schema": schemas[id(told), "serialization"]}}
    return answer


def _declined(status: int) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(model="Error")}
    return {"description": _MEANT[status], "content": {JSON: {"schema": schema}}}


def _schemas(
    told: list[Operation],
) -> tuple[dict[tuple[int, str], dict[str, Any]], dict[str, Any]]:
    """The schemas of all bodies and answers, by operation and side, and what they refer to."""
    coming: JsonSchemaMode = "validation"
    going: JsonSchemaMode = "serialization"
    inputs: list[tuple[int, JsonSchemaMode, TypeAdapter[Any]]] = [(-1, going, TypeAdapter(Error))]
    for each in told:
        if each.body is not None:
            inputs.append((id(each), coming, each.adapter))
        if each.answer is not None:
            inputs.append((id(each), going, TypeAdapter(each.answer)))
    schemas, head = TypeAdapter.json_schemas(inputs, ref_template=REFERENCE)
    by_side: dict[tuple[int, str], dict[str, Any]] = {
        (key, side): dict(schema) for (key, side), schema in schemas.items()
    }
    return by_side, head.get("$defs", {})


@cache
def _fixtures_schema() -> dict[str, Any]:
    """The schema of fixtures, as editors have it, at its place in the document."""
    text = Path(trigger_fixtures.__file__).with_name("fixtures.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text.replace('"#/$defs/', '"#/components/schemas/Fixtures.'))
    parts: dict[str, Any] = schema.pop("$defs")
    schema.pop("$schema")
    return {"Fixtures": schema, **{f"Fixtures.{name}": part for name, part in parts.items()}}


def _version() -> str:
    try:
        return metadata.version("trigger-kit")
    except metadata.PackageNotFoundError:  # run from a checkout
        return "0"
