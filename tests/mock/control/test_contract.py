"""The control plane's document: every route is in it, it is valid, and the routes do what it says."""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, settings
from jsonschema import Draft202012Validator

from tests.mock.conftest import KEY, PATH
from trigger_fixtures import default
from trigger_mock import Settings, create_app
from trigger_mock.control.app import create_control

#: For people; and the document itself.
UNTOLD = re.compile(r"/_mock/(?:page/.*|openapi.json)?")

mock = create_app(default(), settings=Settings())
bench = mock.extensions["trigger_mock"].default
schema = schemathesis.openapi.from_wsgi("/_mock/openapi.json", mock)


@schema.hook
def map_query(context: Any, query: Any) -> Any:
    """Let no test wait for calls that nobody sends."""
    if query and isinstance(query.get("timeout"), int | float) and query["timeout"] > 0.01:
        query["timeout"] = 0.01
    return query


@schema.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Look at what is there, where a name or number could be one."""
    if path_parameters:
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", str(path_parameters.get("bench", ""))):
            path_parameters["bench"] = "default"
        if isinstance(path_parameters.get("number"), int):
            path_parameters["number"] = next((call.number for call in bench.journal), 1)
    return path_parameters


def control() -> Flask:
    return create_control(mock.extensions["trigger_mock"], Settings())


@pytest.mark.filterwarnings("ignore")  # what the generator thinks of its own speed
@schema.parametrize()
@settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_route_does_what_its_document_says(case: Any) -> None:
    mock.test_client().post(PATH, json={"user_id": "user-123", "entities": ["tool_loop.py"]}, headers=KEY)
    case.call_and_validate()


def test_the_document_and_the_routes_are_the_same() -> None:
    app = control()
    document: Any = app.test_client().get("/_mock/openapi.json").get_json()
    documented = {
        (method.upper(), re.sub(r"{(\w+)}", r"<\1>", path))
        for path, item in document["paths"].items()
        for method in item
    }
    served = {
        (method, re.sub(r"<\w+:", "<", rule.rule))
        for rule in app.url_map.iter_rules()
        if not UNTOLD.fullmatch(rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert documented == served
    assert len(served) > 15


def test_each_operation_has_a_name_and_says_how_it_declines() -> None:
    document: Any = control().test_client().get("/_mock/openapi.json").get_json()
    operations = [each for item in document["paths"].values() for each in item.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for each in operations:
        schema = each["responses"]["default"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Error"}


def test_all_references_lead_somewhere_and_all_schemas_are_schemas() -> None:
    answer = control().test_client().get("/_mock/openapi.json")
    document: Any = answer.get_json()
    components = document["components"]["schemas"]
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', answer.text))
    assert referred <= components.keys()
    for component in components.values():
        Draft202012Validator.check_schema(component)
