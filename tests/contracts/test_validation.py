"""Requests and responses are judged as the contract says, by pointer, whatever Python value they hold."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trigger_contracts.document import effective, resolve
from trigger_contracts.formats import FORMATS
from trigger_contracts.validation import Violation, request_violations, response_violations

ASK: dict[str, Any] = {"entities": ["tool_loop.py"], "user_id": "user-123"}
ROW: dict[str, Any] = {
    "id": "0fa1c0e6-7f7d-4424-b72b-94b908c810ef",
    "object": "memory",
    "type": "lesson",
    "text": "Abort before finalising.",
    "user_id": "user-123",
    "agent_id": None,
    "conv_id": None,
    "app_id": None,
    "group_ids": [],
    "categories": [],
    "score": None,
    "created_at": "2026-01-02T03:04:05Z",
    "updated_at": None,
    "details": {
        "fact_type": None,
        "trigger_entities": ["tool_loop.py", "AbortError"],
        "matched_on": ["tool_loop.py"],
        "because": None,
        "confidence": None,
        "observation_count": 3,
        "last_confirmed_at": "2026-01-02T03:04:05.678+01:00",
        "steps": None,
    },
}
ANSWER: dict[str, Any] = {
    "object": "search",
    "mode": "retrieve",
    "data": [ROW],
    "context": None,
    "stage_timings": {"recall": 0},
    "context_selection_applied": False,
}
ENVELOPE = {"detail": {"code": "rate_limited", "message": "slow down"}}
JSON = {"Content-Type": "application/json; charset=utf-8"}
REFERENCE_PLACES = {
    "request": "#/components/schemas/TriggerRequest",
    200: "#/components/schemas/SearchResponse",
    422: "#/paths/~1v1~1memories~1trigger/post/responses/422/content/application~1json/schema",
}


def pointers(violations: list[Violation]) -> set[str]:
    return {violation.pointer for violation in violations}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"entities": [""]},
        {"entities": None, "action": {}},
        {"entities": [], "action": {"tool": None, "args": None, "output": None}},
        {"entities": None, "action": {"args": {"deep": [{"er": 10**30}]}, "input": 1}},
        {"user_id": "", "agent_id": "bot"},
        {"user_id": None, "app_id": " "},
        {"user_id": None, "group_ids": ["", "grp"]},
        {"include": []},
        {"include": ["procedure", "lesson"]},
        {"mode": "retrieve"},
        {"task": "😀" * 2000},
        {"task": None},
        {"namespace": {"unknown": [1]}},
    ],
)
def test_a_request_that_the_contract_allows_has_no_violation(change: dict[str, Any]) -> None:
    assert request_violations(ASK | change) == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"entities": None}, "#"),
        ({"entities": []}, "#"),
        ({"entities": [], "action": None}, "#"),
        ({"user_id": None}, "#"),
        ({"user_id": ""}, "#"),
        ({"user_id": None, "group_ids": []}, "#"),
        ({"user_id": None, "group_ids": [""]}, "#"),
        ({"entities": ["x", 3]}, "#/entities/1"),
        ({"action": {"args": []}}, "#/action/args"),
        ({"action": "Edit"}, "#/action"),
        ({"group_ids": None}, "#/group_ids"),
        ({"include": None}, "#/include"),
        ({"include": ["fact"]}, "#/include/0"),
        ({"include": ["lesson", "lesson"]}, "#/include"),
        ({"mode": "COMPOSE"}, "#/mode"),
        ({"mode": None}, "#/mode"),
        ({"task": "é" * 2001}, "#/task"),
        ({"user_id": True, "app_id": "a"}, "#/user_id"),
    ],
)
def test_a_request_that_breaks_one_rule_says_where(change: dict[str, Any], pointer: str) -> None:
    assert pointers(request_violations(ASK | change)) == {pointer}


@pytest.mark.parametrize("body", [None, [], "text", 3, True])
def test_a_request_that_is_no_object_is_refused(body: object) -> None:
    assert pointers(request_violations(body)) == {"#"}


def test_an_empty_request_lacks_both_a_signal_and_a_scope() -> None:
    first, second = request_violations({})

    assert "firing signal" in first.message
    assert "scope axis" in second.message


def test_a_rule_is_a_pointer_into_the_effective_contract() -> None:
    (violation,) = request_violations(ASK | {"task": "x" * 2001})

    assert violation.rule == "#/components/schemas/TriggerRequest/properties/task/anyOf/0/maxLength"
    assert resolve(effective(), violation.rule) == 2000
    assert len(violation.message) < 400


def changed(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    body = copy.deepcopy(document)
    *parents, last = path.split("/")
    here: Any = body
    for step in parents:
        here = here[int(step) if step.isdigit() else step]
    here[last] = value
    return body


def test_a_full_answer_has_no_violation() -> None:
    assert response_violations(200, ANSWER, JSON) == []


def test_an_answer_may_leave_out_what_is_optional() -> None:
    row = {"id": ROW["id"], "type": "procedure", "text": "x"}

    assert response_violations(200, {"mode": "retrieve", "data": [row], "stage_timings": {}}) == []


def test_an_answer_may_carry_more_than_the_contract_names() -> None:
    body = changed(changed(ANSWER, "data/0/details/new", [1]), "trace", {})

    assert response_violations(200, body, {**JSON, "X-New": "1", "X-Request-Id": "r"}) == []


def test_an_answer_to_compose_carries_context_reasons_and_confidence() -> None:
    body = ANSWER | {"mode": "compose", "context": "## Lessons", "context_selection_applied": True}
    body = changed(changed(body, "data/0/details/because", "it helps"), "data/0/details/confidence", 1)

    assert response_violations(200, body) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mode", "other"),
        ("object", "list"),
        ("data", None),
        ("context", "## Lessons"),
        ("context_selection_applied", True),
        ("stage_timings", None),
        ("stage_timings/recall", "0"),
        ("stage_timings/recall", float("nan")),
        ("stage_timings/recall", float("inf")),
        ("data/0/id", "mem_1"),
        ("data/0/object", "row"),
        ("data/0/type", "fact"),
        ("data/0/type", "other"),
        ("data/0/text", None),
        ("data/0/score", 0.5),
        ("data/0/created_at", "2026-01-02 03:04:05"),
        ("data/0/created_at", "2026-02-30T03:04:05Z"),
        ("data/0/updated_at", 1),
        ("data/0/group_ids", None),
        ("data/0/details", None),
        ("data/0/details/matched_on", "tool_loop.py"),
        ("data/0/details/confidence", 1.01),
        ("data/0/details/observation_count", 1.5),
        ("data/0/details/last_confirmed_at", "yesterday"),
        ("data/0/details/steps", [None]),
    ],
)
def test_an_answer_with_one_wrong_value_says_where(path: str, value: object) -> None:
    found = response_violations(200, changed(ANSWER, path, value))

    assert {pointer[: len(path) + 2] for pointer in pointers(found)} == {f"#/{path}"}


@pytest.mark.parametrize("missing", ["mode", "data", "stage_timings"])
def test_an_answer_must_carry_what_the_prose_promises(missing: str) -> None:
    body = {key: value for key, value in ANSWER.items() if key != missing}

    assert [missing in violation.message for violation in response_violations(200, body)] == [True]


@pytest.mark.parametrize(
    ("kind", "details", "pointer"),
    [
        ("fact", {"artifact_ids": [1]}, "#/data/0/details/artifact_ids/0"),
        ("artifact", {"version": "1"}, "#/data/0/details/version"),
        ("episode", {"fact_ids": None}, "#/data/0/details/fact_ids"),
        ("procedure", {"steps": "1"}, "#/data/0/details/steps"),
    ],
)
def test_details_are_judged_by_the_type_of_their_row(
    kind: str, details: dict[str, Any], pointer: str
) -> None:
    body = changed(changed(ANSWER, "data/0/type", kind), "data/0/details", details)

    assert pointer in pointers(response_violations(200, body))


@pytest.mark.parametrize(
    "body",
    [
        ENVELOPE,
        {"detail": []},
        {"detail": [{"loc": ["body", "include", 0], "msg": "m", "type": "t", "input": None, "ctx": {}}]},
    ],
)
def test_a_422_has_either_of_two_shapes(body: object) -> None:
    assert response_violations(422, body, JSON) == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#"),
        ({"detail": "no"}, "#/detail"),
        ({"detail": {"code": "x"}}, "#/detail"),
        ({"detail": [{"loc": [1.5], "msg": "m", "type": "t"}]}, "#/detail/0/loc/0"),
        ({"detail": [{"loc": [], "msg": "m"}]}, "#/detail/0"),
    ],
)
def test_a_422_of_neither_shape_is_explained_by_the_nearer_one(body: object, pointer: str) -> None:
    found = {place.removesuffix("/detail") or "#" for place in pointers(response_violations(422, body))}

    assert found == {pointer.removesuffix("/detail") or "#"}


@pytest.mark.parametrize("status", [401, 429, 500])
def test_other_refusals_have_the_envelope_alone(status: int) -> None:
    assert response_violations(status, ENVELOPE) == []
    assert response_violations(status, {"detail": []})


@pytest.mark.parametrize("status", [204, 307, 404, 503, 0])
def test_a_status_that_the_contract_does_not_document_is_named(status: int) -> None:
    (violation,) = response_violations(status, ENVELOPE)

    assert violation.pointer == "status"
    assert str(status) in violation.message


@pytest.mark.parametrize(
    ("headers", "places"),
    [
        ({**JSON, "Retry-After": "3"}, set[str]()),
        ({**JSON, "retry-after": "0", "RateLimit-Limit": "5", "ratelimit-remaining": "0"}, set[str]()),
        (JSON, {"headers#/retry-after"}),
        ({**JSON, "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {"headers#/retry-after"}),
        ({**JSON, "Retry-After": "-1"}, {"headers#/retry-after"}),
        ({**JSON, "Retry-After": "²"}, {"headers#/retry-after"}),
        (
            {**JSON, "Retry-After": "1.5", "RateLimit-Reset": ""},
            {"headers#/retry-after", "headers#/ratelimit-reset"},
        ),
        ([*JSON.items(), ("Retry-After", "1"), ("retry-after", "1")], {"headers#/retry-after"}),
        ({"Retry-After": "3"}, {"headers#/content-type"}),
        ({"Retry-After": "3", "Content-Type": "text/html"}, {"headers#/content-type"}),
    ],
)
def test_the_headers_of_a_429_are_judged(headers: Any, places: set[str]) -> None:
    assert pointers(response_violations(429, ENVELOPE, headers)) == places


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD = [
    "\ud800",
    "\udfff\ud800",
    "\x00",
    float("nan"),
    float("-inf"),
    10**400,
    -(10**5000),
    nested(900),
    {"\ud800": nested(900)},
    b"bytes",
    {1: 2},
    {1, 2},
    (1, 2),
    object,
]


@pytest.mark.parametrize("odd", ODD, ids=[f"odd-{at}" for at in range(len(ODD))])
@pytest.mark.parametrize("field", [*ASK, "action", "include", "mode", "task", "group_ids", "unknown"])
def test_no_value_makes_the_judgement_of_a_request_fail(field: str, odd: object) -> None:
    for value in (odd, [odd], {"args": odd}, {"args": {"x": odd}}):
        shown = "".join(map(str, request_violations(ASK | {field: value})))
        shown.encode()


@pytest.mark.parametrize("odd", ODD, ids=[f"odd-{at}" for at in range(len(ODD))])
@pytest.mark.parametrize(
    "path", ["mode", "data", "context", "stage_timings/x", "data/0/id", "data/0/details/steps"]
)
def test_no_value_makes_the_judgement_of_a_response_fail(path: str, odd: object) -> None:
    for value in (odd, [odd]):
        "".join(map(str, response_violations(200, changed(ANSWER, path, value)))).encode()


def test_odd_texts_are_judged_by_their_length_and_kind() -> None:
    assert request_violations(ASK | {"task": "\ud800" * 2000, "user_id": "\udfff"}) == []
    assert pointers(request_violations(ASK | {"task": "\ud800" * 2001})) == {"#/task"}
    assert pointers(request_violations(ASK | {"mode": "\ud800"})) == {"#/mode"}


def test_an_action_may_hold_any_json_value() -> None:
    args = {"surrogate": "\ud800", "huge": 10**5000, "deep": nested(900), "nan": float("nan")}

    assert request_violations({"action": {"args": args}, "user_id": "u"}) == []


def test_a_flood_of_mistakes_is_cut_short() -> None:
    assert len(request_violations(ASK | {"entities": [0] * 10_000})) == 50


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
near_texts = st.sampled_from(
    [
        *("", "retrieve", "compose", "lesson", "procedure", "fact", "search", "memory"),
        *(ROW["id"], ROW["id"].upper(), f"{{{ROW['id']}}}"),
        *(ROW["created_at"], "2026-01-02T03:04:60Z", "2016-12-31T23:59:60z"),
    ]
)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places_of(value[key], (*path, key))


@st.composite
def bodies_near(draw: st.DrawFn, valid: dict[str, Any]) -> dict[str, Any]:
    """A valid body with a few values replaced, removed or added."""
    body = copy.deepcopy(valid)
    for _ in range(draw(st.integers(0, 3))):
        *parents, last = draw(st.sampled_from(list(places_of(body)) or [("new",)]))
        here: Any = body
        for step in parents:
            here = here[step]
        if draw(st.booleans()):
            here[last] = draw(near_texts | anything | st.lists(near_texts, max_size=3))
        elif isinstance(here, dict):
            here.pop(last, None)
    return body


def reference(place: str) -> Any:
    checker = jsonschema.FormatChecker(formats=())
    for name, check in FORMATS.items():
        checker.checks(name)(check)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": place, **effective()}
    return jsonschema.Draft202012Validator(schema, format_checker=checker)


REFERENCES = {key: reference(place) for key, place in REFERENCE_PLACES.items()}
FULL_ASK = ASK | {
    "action": {"tool": "Edit", "args": {"a": 1}, "output": None},
    "include": ["lesson"],
    "group_ids": ["g"],
    "agent_id": None,
    "app_id": "a",
    "mode": "retrieve",
    "task": "t",
}
FIELD_ERRORS = {"detail": [{"loc": ["body", 1], "msg": "m", "type": "t", "input": 1, "ctx": {}}]}
near = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(bodies_near(FULL_ASK))
@near
def test_two_implementations_agree_on_requests(body: dict[str, Any]) -> None:
    assert (request_violations(body) == []) == REFERENCES["request"].is_valid(body)


@given(bodies_near(ANSWER) | bodies_near(ANSWER | {"mode": "compose"}))
@near
def test_two_implementations_agree_on_answers(body: dict[str, Any]) -> None:
    assert (response_violations(200, body) == []) == REFERENCES[200].is_valid(body)


@given(bodies_near(ENVELOPE) | bodies_near(FIELD_ERRORS))
@near
def test_two_implementations_agree_on_refusals(body: dict[str, Any]) -> None:
    assert (response_violations(422, body) == []) == REFERENCES[422].is_valid(body)
