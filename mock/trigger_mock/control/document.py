"""The control plane's own OpenAPI document, made of its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import Blueprint, Response
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from trigger_mock.control import PREFIX
from trigger_mock.control.fixture_schema import COMPONENT, definitions
from trigger_mock.control.room import PATH_PARAMETERS, JsonBody, Operation, RawBody, json_response
from trigger_mock.json_values import is_array, is_object

_SCHEMAS = "#/components/schemas/"
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string", "description": "What was seen, and what would be right."},
            },
        }
    },
}


def document_of(operations: Iterable[Operation], *, token: bool) -> dict[str, Any]:
    """The document. `token`: whether callers must show one."""
    schemas: dict[str, Any] = {"Error": _ERROR} | definitions()
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(PREFIX + operation.path, {})[operation.method.lower()] = _described(
            operation, schemas
        )
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "trigger-mock: control plane",
            "version": "1",
            "description": "What a developer or a test says to the mock about itself. "
            "Answers on this machine alone, or to whoever has the token.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token:
        document["components"]["securitySchemes"] = {
            "Token": {"type": "http", "scheme": "bearer"},
            "Password": {"type": "http", "scheme": "basic", "description": "The token as the password."},
        }
        document["security"] = [{"Token": []}, {"Password": []}]
    return document


def routes_of(operations: Iterable[Operation], *, token: bool) -> Blueprint:
    """The route that serves it. It does not describe itself."""
    routes = Blueprint("document", __name__)
    document = document_of(operations, token=token)

    @routes.get("/openapi.json")
    def openapi() -> Response:  # pyright: ignore[reportUnusedFunction] - Flask uses it
        return json_response(document)

    return routes


def _described(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.view.__name__,
        "summary": operation.summary,
        "tags": [operation.room],
        "parameters": [*_in_path(operation.path), *_in_query(operation)],
        "responses": {
            str(operation.status): _answer(operation, schemas),
            "default": {
                "description": "Declined, and why.",
                "content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}Error"}}},
            },
        },
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": not isinstance(operation.body, RawBody),
            "content": {"application/json": {"schema": _schema(operation.body, "validation", schemas)}},
        }
    return described


def _answer(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    if operation.answer is None and not operation.media:
        return {"description": "Done."}
    answer: dict[str, Any] = {"description": operation.summary, "content": {}}
    if operation.answer is not None:
        answer["content"]["application/json"] = {
            "schema": _schema(operation.answer, "serialization", schemas)
        }
    for media in operation.media:
        # Only what is text alone is a string to whoever reads it.
        schema = {"type": "string"} if media.startswith("text/") else {}
        answer["content"].setdefault(media, {"schema": schema})
    return answer


def _in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, (_, schema) in PATH_PARAMETERS.items()
        if f"{{{name}}}" in path
    ]


def _in_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema()
    wanted = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in wanted, "schema": _without_null(field)}
        for name, field in schema["properties"].items()
    ]


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """A parameter is sent or not; it is never null."""
    kept = {name: value for name, value in field.items() if name not in ("anyOf", "default", "title")}
    kinds = [each for each in field.get("anyOf", ()) if each.get("type") != "null"]
    return kept | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


def _schema(kind: Any, mode: JsonSchemaMode, schemas: dict[str, Any]) -> dict[str, Any]:
    if isinstance(kind, JsonBody | RawBody):
        return kind.schema
    schema: dict[str, Any] = _referring(
        TypeAdapter(kind).json_schema(mode=mode, ref_template=_SCHEMAS + "{model}")
    )
    schemas.update(schema.pop("$defs", {}))
    title = schema.get("title")
    if isinstance(title, str) and "properties" in schema:
        schemas[title] = schema
        return {"$ref": _SCHEMAS + title}
    return schema


def _referring(schema: Any) -> Any:
    """The same schema, with references where a field names a component."""
    if is_array(schema):
        return [_referring(each) for each in schema]
    if not is_object(schema):
        return schema
    if COMPONENT in schema:
        return {"$ref": _SCHEMAS + schema[COMPONENT]}
    return {name: _referring(value) for name, value in schema.items()}
