"""Overlay actions select and change what OpenAPI Overlay 1.0.0 says."""

from __future__ import annotations

from typing import Any

import pytest

from trigger_contracts.overlay import Action, OverlayError, actions, apply, select

DOCUMENT: dict[str, Any] = {"a": {"b c": [1, "two", {"d": 3}], "é": 4}, "list": ["x", 5, "y"]}


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("$", [()]),
        ("$.a", [("a",)]),
        ("$['a']['b c'][0]", [("a", "b c", 0)]),
        ("$.a.é", [("a", "é")]),
        ("$.list[-1]", [("list", 2)]),
        ("$.list[9]", []),
        ("$.list.x", []),
        ("$.missing.further", []),
        ("$.*", [("a",), ("list",)]),
        ("$.list[*]", [("list", 0), ("list", 1), ("list", 2)]),
        ("$['list', 'a', 'none']", [("list",), ("a",)]),
        ("$.list[?match(@, '[xz]')]", [("list", 0)]),
    ],
)
def test_a_target_selects(target: str, paths: list[tuple[str | int, ...]]) -> None:
    assert list(select(DOCUMENT, target)) == paths


@pytest.mark.parametrize("target", ["a", "$..a", "$.list[?@.x == 1]", "$.list[0:1]", "$.", "$['a'"])
def test_a_target_that_is_not_understood_is_refused_by_name(target: str) -> None:
    with pytest.raises(OverlayError, match="target"):
        list(select(DOCUMENT, target))


def test_an_update_merges_objects_extends_arrays_and_replaces_the_rest() -> None:
    document: dict[str, Any] = {"x": {"keep": 1, "list": [1], "text": "old", "deep": {"a": 1}}}

    apply(
        document,
        Action(target="$.x", description="", update={"list": [2], "text": None, "deep": {"b": 2}, "new": []}),
    )

    assert document == {"x": {"keep": 1, "list": [1, 2], "text": None, "deep": {"a": 1, "b": 2}, "new": []}}


def test_an_update_of_the_root_merges_into_the_document() -> None:
    document: dict[str, Any] = {"a": {"b": 1}}

    apply(document, Action(target="$", description="", update={"a": {"c": 2}}))

    assert document == {"a": {"b": 1, "c": 2}}


def test_removing_several_entries_of_an_array_removes_just_those() -> None:
    document: dict[str, Any] = {"list": ["x", 5, "y", "z", 6]}

    apply(document, Action(target="$.list[?match(@, '.*')]", description="", remove=True))

    assert document == {"list": [5, 6]}


def test_two_targets_of_one_update_do_not_share_what_they_got() -> None:
    document: dict[str, Any] = {"a": {}, "b": {}}

    apply(document, Action(target="$.*", description="", update={"new": {"x": []}}))
    document["a"]["new"]["x"].append(1)

    assert document["b"] == {"new": {"x": []}}


def test_the_document_itself_cannot_be_removed() -> None:
    with pytest.raises(OverlayError):
        apply({}, Action(target="$", description="", remove=True))


def test_an_overlay_of_another_version_is_refused() -> None:
    with pytest.raises(OverlayError, match=r"2\.0\.0"):
        actions({"overlay": "2.0.0", "actions": []})
