"""Every defect of the published contract is found where it stands; no document makes the search fail."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trigger_contracts.document import effective, published, published_bytes
from trigger_contracts.lint import lint

SCHEMAS = "#/components/schemas"
RESPONSES = "#/paths/~1v1~1memories~1trigger/post/responses"


@pytest.mark.parametrize(
    ("defect", "pointer"),
    [
        ("D1", f"{SCHEMAS}/Memory/properties/details/oneOf/3"),
        ("D2", f"{SCHEMAS}/Memory/properties/type/description"),
        ("D3", f"{SCHEMAS}/Memory/properties/details/oneOf"),
        ("D4", f"{RESPONSES}/422/content/application~1json/schema"),
        ("D5", f"{RESPONSES}/429"),
        ("D6", f"{SCHEMAS}/TriggerRequest/description"),
        ("D6", f"{SCHEMAS}/TriggerRequest/properties/action/description"),
        ("D7", f"{SCHEMAS}/SearchResponse/properties/context"),
        ("D7", f"{SCHEMAS}/SearchResponse/required"),
        ("D7", f"{SCHEMAS}/Memory/properties/id"),
        ("D8", f"{RESPONSES}/500/description"),
    ],
)
def test_a_defect_of_the_published_contract_is_found(defect: str, pointer: str) -> None:
    assert (defect, pointer) in {(found.defect, found.pointer) for found in lint(published())}


def test_the_stray_entry_is_found_once_with_its_line() -> None:
    source = published_bytes().decode()
    stray = [found for found in lint(published(), source) if found.defect == "D1"]

    assert [found.pointer for found in stray] == [f"{SCHEMAS}/Memory/properties/details/oneOf/3"]
    assert source.splitlines()[(stray[0].line or 0) - 1].strip() == '"0dc16cfe-7f7d-4424-b72b-94b908c810ef"'


def test_lines_are_those_of_a_yaml_text_too() -> None:
    source = yaml.safe_dump(published(), allow_unicode=True)
    stray = next(found for found in lint(yaml.safe_load(source), source) if found.defect == "D1")

    assert source.splitlines()[(stray.line or 0) - 1].strip() == "- 0dc16cfe-7f7d-4424-b72b-94b908c810ef"


def test_the_effective_contract_has_only_the_defect_that_is_left_alone() -> None:
    assert {found.defect for found in lint(effective())} == {"D8"}


def test_a_dangling_reference_is_found() -> None:
    document = effective()
    del document["components"]["schemas"]["ErrorDetail"]

    assert ("D2", f"{SCHEMAS}/ErrorEnvelope/properties/detail/$ref") in {
        (found.defect, found.pointer) for found in lint(document)
    }


@pytest.mark.parametrize(
    ("branches", "exclusive"),
    [
        ([{"type": "string"}, {"type": "null"}], True),
        ([{"type": "number"}, {"type": "integer"}], False),
        ([{"enum": [1]}, {"const": 2}], True),
        ([{"type": "object"}, {"type": "object", "properties": {"a": {}}}], False),
        ([{"required": ["t"], "properties": {"t": {"const": c}}} for c in "ab"], True),
        ([{"properties": {"t": {"const": c}}} for c in "ab"], False),
        ([{"additionalProperties": False}, {"required": ["a"]}], True),
    ],
)
def test_branches_of_a_choice_are_told_apart(branches: list[Any], *, exclusive: bool) -> None:
    document = {"components": {"schemas": {"A": {"oneOf": branches}}}}

    assert [found.defect for found in lint(document)] == ([] if exclusive else ["D3"])


def test_a_property_called_like_a_keyword_is_a_schema() -> None:
    document = {"components": {"schemas": {"A": {"properties": {"default": "no schema", "enum": {}}}}}}

    assert [found.pointer for found in lint(document)] == [f"{SCHEMAS}/A/properties/default"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(seed=st.integers(0, 2**32), values=st.lists(json_values, min_size=1, max_size=8))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_mutation_of_the_document_makes_the_search_fail(seed: int, values: list[Any]) -> None:
    document = mutated(published(), random.Random(seed), values)

    assert all(found.pointer.startswith("#") for found in lint(document))


@given(json_values, st.text())
@settings(max_examples=60, deadline=None)
def test_no_value_and_no_text_makes_the_search_fail(value: Any, source: str) -> None:
    lint(value, source)


def test_references_in_a_circle_are_followed_once() -> None:
    circle = {"A": {"$ref": f"{SCHEMAS}/B"}, "B": {"$ref": f"{SCHEMAS}/A"}}
    document = {"components": {"schemas": {**circle, "C": {"oneOf": [circle["A"], circle["B"]]}}}}

    assert [found.defect for found in lint(document)] == ["D3"]


def test_a_deeply_nested_document_is_searched() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"items": schema, "anyOf": ["stray"]}

    assert lint({"components": {"schemas": {"A": schema}}})


def mutated(document: Any, chance: random.Random, values: list[Any]) -> Any:
    """Put each value in the place of some node of the document."""
    for value in values:
        parent, here = None, document
        key: Any = None
        while isinstance(here, dict | list) and here and (parent is None or chance.random() < 0.85):
            parent, key = here, chance.choice(list(here) if isinstance(here, dict) else range(len(here)))
            here = here[key]
        if parent is not None:
            parent[key] = copy.deepcopy(value)
    return document
