"""Generators read the effective contract and make bodies that it allows."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from trigger_contracts.document import ENDPOINT, effective, published
from trigger_contracts.generation import BOUNDARIES, shipped
from trigger_contracts.regenerate import boundaries
from trigger_contracts.validation import request_violations

few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def test_schemathesis_makes_only_bodies_that_the_contract_allows() -> None:
    operation = schemathesis.openapi.from_dict(effective())[ENDPOINT]["POST"]
    made: list[Any] = []

    @given(case=operation.as_strategy())
    @few
    def collect(case: Any) -> None:
        made.append(case.body)

    collect()

    assert [(body, found) for body in made if (found := request_violations(body))] == []
    fired = {field for body in made for field in ("entities", "action") if body.get(field)}
    scoped = {field for body in made for field in ("user_id", "group_ids", "agent_id") if body.get(field)}
    assert fired == {"entities", "action"}
    assert scoped == {"user_id", "group_ids", "agent_id"}


def test_the_shipped_boundary_cases_are_on_the_side_that_they_claim() -> None:
    found = shipped()

    assert {one.positive for one in found} == {True, False}
    assert [one.value for one in found if one.positive and request_violations(one.value)] == []
    wrong = [one for one in found if not one.positive]
    # A repeated or unusual value may be allowed all the same; nearly all of these are refused.
    assert sum(bool(request_violations(one.value)) for one in wrong) > 0.9 * len(wrong)


def test_the_shipped_boundary_cases_are_what_their_maker_makes() -> None:
    text = (files("trigger_contracts") / BOUNDARIES).read_text("utf-8")
    if json.loads(text)["made_by"] != f"Schemathesis {version('schemathesis')}":
        pytest.skip("made by another release; `python -m trigger_contracts.regenerate` makes them anew")

    assert text == boundaries(effective())


@pytest.mark.parametrize("name", sorted(effective()["components"]["schemas"]))
def test_every_schema_is_sound(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(effective()["components"]["schemas"][name])


def test_the_published_contract_is_not_sound() -> None:
    with pytest.raises(jsonschema.SchemaError):
        jsonschema.Draft202012Validator.check_schema(published()["components"]["schemas"]["Memory"])
