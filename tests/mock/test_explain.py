"""An explanation tells the story of the answer: the same rows, and of all others why not, and what to do."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mock.conftest import PATH
from tests.mock.stores import ENTITIES, MORE_ENTITIES, ORGANISATIONS, asks, corpora, near, row
from trigger_fixtures import Corpus, Row, default
from trigger_mock import Settings, create_app
from trigger_mock.explain import MOST_IDENTIFIERS, MOST_MISSES, MOST_ROWS, explain, explain_bytes
from trigger_mock.limits import Overrides

UNLIMITED = Settings(limits=Overrides("none", "none"))
TEXTS = near(ENTITIES + MORE_ENTITIES) | st.text(max_size=8)
ACTIONS = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.none() | TEXTS,
        "args": st.dictionaries(
            st.text(max_size=3),
            TEXTS | st.lists(TEXTS | st.integers() | st.booleans(), max_size=3),
            max_size=3,
        ),
        "output": TEXTS,
        "input": st.dictionaries(st.text(max_size=3), TEXTS, max_size=3),
    },
)
TASKS = st.none() | st.sampled_from(("fix the loop", "memory 3", "refund the invoice", ""))
GATES = st.sampled_from(("always", "never", None))


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request that has a signal of either kind and a scope, in either mode."""
    ask = draw(asks())
    if draw(st.booleans()):
        del ask["entities"]
        ask["action"] = draw(ACTIONS)
    return {**ask, "mode": draw(st.sampled_from(("retrieve", "compose"))), "task": draw(TASKS)}


def answered(corpus: Corpus, organisation: str, body: Any) -> Any:
    client = create_app(corpus, settings=UNLIMITED).test_client()
    return client.post(PATH, json=body, headers={"x-api-key": f"xtk_test_{organisation}"})


def patched(body: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The body with a merge patch (RFC 7396) of plain values applied, seen before the gate."""
    merged = {**body, "mode": "retrieve", **patch}
    return {field: value for field, value in merged.items() if value is not None}


def lesson(**fields: Any) -> Row:
    plain: dict[str, Any] = {
        "type": "lesson", "organisation": "acme", "user_id": "u-1", "agent_id": None, "app_id": None,
        "group_ids": (), "trigger_entities": ("loop.py",),
    }  # fmt: skip
    return row(fields.pop("number", 1), 0)._replace(**{**plain, **fields})


@given(
    corpus=corpora(),
    gate=GATES,
    organisation=st.sampled_from(ORGANISATIONS),
    body=requests(),
    seen=st.booleans(),
)
def test_what_is_explained_as_recalled_is_what_comes_back(
    corpus: Corpus, gate: Any, organisation: str, body: dict[str, Any], seen: bool
) -> None:
    pinned = tuple(each._replace(gate=gate if at % 2 else None) for at, each in enumerate(corpus.rows))
    store = Corpus(organisations=corpus.organisations, rows=pinned, sources=())
    rows = answered(store, organisation, body).get_json()["data"]
    explanation = explain(body, organisation, store.rows, operator=seen)
    assert explanation.recalled == tuple(each["id"] for each in rows)
    told = [fate for fate in explanation.rows if fate.outcome == "recalled"]
    got = [(each["id"], each["details"]) for each in rows[: len(told)]]
    assert [fate.rank for fate in told] == list(range(1, len(told) + 1))
    assert [(fate.row.id, list(fate.matched_on), fate.because, fate.confidence) for fate in told] == [
        (id_, details["matched_on"], details["because"], details["confidence"]) for id_, details in got
    ]


@given(corpus=corpora(), organisation=st.sampled_from(ORGANISATIONS), body=requests())
def test_retrieve_brings_back_what_the_gate_is_said_to_drop(
    corpus: Corpus, organisation: str, body: dict[str, Any]
) -> None:
    composed = explain({**body, "mode": "compose"}, organisation, corpus.rows)
    rows = answered(corpus, organisation, {**body, "mode": "retrieve"}).get_json()["data"]
    assert {*composed.recalled, *composed.dropped} == {each["id"] for each in rows}
    assert not {*composed.recalled} & {*composed.dropped}


@given(corpus=corpora(), organisation=st.sampled_from(ORGANISATIONS), body=requests())
def test_every_row_that_carries_what_fired_has_a_fate_and_a_reason(
    corpus: Corpus, organisation: str, body: dict[str, Any]
) -> None:
    explanation = explain(body, organisation, corpus.rows, operator=True)
    carriers = [each.rows_count + each.elsewhere for each in explanation.identifiers]
    assert (
        len(explanation.rows) + explanation.rows_left_out
        == len({*explanation.recalled, *explanation.dropped}) + explanation.kept_out
    )
    assert bool(explanation.rows) == any(carriers)
    for fate in explanation.rows:
        assert fate.matched_on
        assert fate.outcome != "kept out" or (fate.reasons and fate.change)


@given(corpus=corpora(), body=requests())
def test_what_an_explanation_says_to_change_brings_the_row_back(corpus: Corpus, body: dict[str, Any]) -> None:
    explanation = explain(body, "acme", corpus.rows)
    for fate in explanation.rows[:4]:
        if fate.patch is not None:
            rows = answered(corpus, "acme", patched(body, fate.patch)).get_json()["data"]
            assert fate.row.id in {each["id"] for each in rows}
    for miss in explanation.near_misses[:3]:
        if miss.patch is not None:
            rows = answered(corpus, "acme", patched(body, miss.patch)).get_json()["data"]
            assert rows
            assert all(each["details"]["matched_on"] == [miss.trigger] for each in rows)


@given(corpus=corpora(), body=requests(), organisation=st.sampled_from(ORGANISATIONS))
def test_rows_of_others_are_counted_and_never_shown(
    corpus: Corpus, body: dict[str, Any], organisation: str
) -> None:
    explanation = explain(body, organisation, corpus.rows)
    others = [each for each in corpus.rows if each.organisation != organisation]
    alone = explain(body, organisation, [each for each in corpus.rows if each.organisation == organisation])
    assert {each.id for each in others}.isdisjoint(fate.row.id for fate in explanation.rows)
    assert (explanation.rows, explanation.near_misses, explanation.unread, explanation.summary) == (
        alone.rows, alone.near_misses, alone.unread, alone.summary,
    )  # fmt: skip
    assert alone.elsewhere == 0


def test_an_operator_sees_which_organisation_a_row_belongs_to() -> None:
    (fate,) = explain(
        {"user_id": "u-1", "entities": ["loop.py"]}, "acme", [lesson(organisation="globex")], operator=True
    ).rows
    assert (fate.outcome, fate.change, fate.patch) == ("kept out", "needs a key of globex", None)
    assert fate.reasons == ("organisation is globex; the key is one of acme",)


NAMES = st.sampled_from(("action", "tool", "args", "input", "user_id", "entities", "task", "mode"))
BODIES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4)
    ),
)


@given(body=BODIES)
def test_any_json_is_explained_with_the_status_that_it_draws(body: Any) -> None:
    corpus = default()
    client = create_app(corpus, settings=UNLIMITED).test_client()
    raw = json.dumps(body).encode()
    answer = client.post(
        PATH, data=raw, content_type="application/json", headers={"x-api-key": "xtk_demo_acme"}
    )
    explanation = explain_bytes(raw, "application/json", "acme", corpus.rows)
    assert explanation.status == answer.status_code
    if explanation.refusal is not None:
        assert explanation.refusal.body == answer.get_json()
        assert explanation.refusal.lines
    assert orjson.dumps(explanation.as_dict())


ACCEPTANCE = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}


def test_a_field_that_is_not_read_is_explained_by_what_it_would_have_fired() -> None:
    explanation = explain(ACCEPTANCE, "acme", default().rows)
    read = {
        "user_id": "user-123",
        "action": {"tool": "x", "args": {"file_path": "tool_loop.py"}},
        "mode": "retrieve",
    }
    (missed,) = explanation.unread
    assert explanation.status == 200
    assert not explanation.recalled
    assert (missed.field, missed.meant, missed.identifiers[0]) == (
        "action.input",
        "action.args",
        "tool_loop.py",
    )
    assert missed.rows_count == len(explain(read, "acme", default().rows).recalled) > 0
    assert missed.sentence.startswith("action.input is not read; action.args would have fired tool_loop.py")
    assert missed.change == "send it as action.args"
    assert "action.input is not part of the contract; did you mean action.args?" in explanation.hints


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"tool_input": {"command": "vi loop.py"}},
         "tool_input is not read; action.args would have fired loop.py (1 row)"),
        ({"action": {"params": ["loop.py"]}},
         "action.params is not read; action.args would have fired loop.py (1 row)"),
        ({"action": {"stdout": "in loop.py"}},
         "action.stdout is not read; action.output would have fired loop.py (1 row)"),
        ({"action": {"response": {"file": "loop.py"}}},
         "action.response is not read; action.output would have fired loop.py (1 row)"),
        ({"action": {"name": "loop.py"}},
         "action.name is not read; action.tool would have fired loop.py (1 row)"),
        ({"symbols": ["loop.py", 7]}, "symbols is not read; entities would have fired loop.py (1 row)"),
        ({"user_id": "u-2", "symbols": ["loop.py"]},
         "symbols is not read; entities would have fired loop.py (1 row, none of them in this scope)"),
        ({"symbols": ["other.py"]}, "symbols is not read; entities would have fired other.py (no row)"),
        ({"symbols": ["a\nb"]}, r"symbols is not read; entities would have fired 'a\nb' (no row)"),
    ],
)  # fmt: skip
def test_each_likely_mistake_is_named_with_where_it_belongs(body: dict[str, Any], sentence: str) -> None:
    explanation = explain({"user_id": "u-1", "action": {}, **body}, "acme", [lesson()])
    assert [missed.sentence for missed in explanation.unread] == [sentence]


@pytest.mark.parametrize(
    ("stored", "body", "reasons", "change", "patch"),
    [
        ({}, {"user_id": "u-2"}, ('user_id is "u-1"; the request asks for "u-2"',),
         'would be recalled with user_id="u-1"', {"user_id": "u-1"}),
        ({}, {"user_id": "u-1", "agent_id": ""}, ('the row carries no agent_id; the request asks for ""',),
         "would be recalled without agent_id", {"agent_id": None}),
        ({"user_id": None, "app_id": "app"}, {"user_id": "u-1"},
         ('the row carries no user_id; the request asks for "u-1"',),
         'would be recalled with app_id="app" and without user_id', {"user_id": None, "app_id": "app"}),
        ({"group_ids": ("g1", "g2")}, {"group_ids": ["g3", "g4"]},
         ('group_ids is ["g1", "g2"]; the request asks for ["g3", "g4"]',),
         'would be recalled with group_ids=["g1"]', {"group_ids": ["g1"]}),
        ({"user_id": None}, {"user_id": "u-1"}, ('the row carries no user_id; the request asks for "u-1"',),
         "no request recalls it: the row carries no scope", None),
        ({"type": "procedure"}, {"user_id": "u-1", "include": ["lesson"]},
         ("type is procedure; include asks for lesson",),
         "would be recalled without include", {"include": None}),
        ({"type": "fact"}, {"user_id": "u-1"},
         ("type is fact; the endpoint recalls lessons and procedures only",),
         "no request recalls it: the endpoint answers with lessons and procedures only", None),
    ],
)  # fmt: skip
def test_a_row_kept_out_says_by_what_and_what_to_change(
    stored: dict[str, Any], body: dict[str, Any], reasons: tuple[str, ...], change: str, patch: Any
) -> None:
    (fate,) = explain({"entities": ["loop.py"], **body}, "acme", [lesson(**stored)]).rows
    assert (fate.outcome, fate.reasons, fate.change, fate.patch) == ("kept out", reasons, change, patch)


def test_a_row_that_the_gate_drops_says_why() -> None:
    body = {"entities": ["loop.py"], "user_id": "u-1", "task": "anything"}
    explanation = explain(body, "acme", [lesson(gate="never")])
    (fate,) = explanation.rows
    assert (fate.outcome, fate.because, fate.confidence) == (
        "dropped",
        "pinned: never kept under a task",
        1.0,
    )
    assert fate.patch == {"mode": "retrieve"}
    assert explanation.summary == "200 with no rows: the gate dropped all it was given, 1 row"


def test_an_identifier_is_told_with_every_place_it_came_from() -> None:
    body = {
        "user_id": "u-1",
        "action": {"tool": "vi", "args": {"edits": [{"path": "src/loop.py"}]}, "output": "loop.py"},
    }
    explanation = explain(body, "acme", [lesson()])
    first = explanation.identifiers[0]
    assert (first.text, first.places) == ("loop.py", ("action.args.edits[0].path", "action.output"))
    assert first.rows == (lesson().id,)
    assert [each.rows_count for each in explanation.identifiers[1:]] == [0] * (
        len(explanation.identifiers) - 1
    )


@pytest.mark.parametrize(
    ("trigger", "change"),
    [
        ("loop.py", "send loop.py in action.args.path, or in entities"),
        (" Loop.py", "send ' Loop.py' in entities"),
    ],
)
def test_a_near_miss_says_where_its_trigger_would_fire(trigger: str, change: str) -> None:
    body = {"user_id": "u-1", "action": {"args": {"path": "LOOP.py"}}}
    (miss,) = explain(body, "acme", [lesson(trigger_entities=(trigger,))]).near_misses
    assert (miss.fired, miss.trigger, miss.in_scope, miss.change) == ("LOOP.py", trigger, 1, change)
    assert miss.patch == {"entities": [trigger]}


def test_a_trigger_of_another_scope_is_no_near_miss_of_one_that_is_a_trigger_itself() -> None:
    rows = [lesson(), lesson(number=2, trigger_entities=("LOOP.py",))]
    elsewhere = explain({"user_id": "u-2", "entities": ["loop.py"]}, "acme", rows)
    here = explain({"user_id": "u-2", "entities": ["loop.py"]}, "acme", [*rows, lesson(
        number=3, user_id="u-2", trigger_entities=("Loop.py",))])  # fmt: skip
    assert elsewhere.near_misses == ()
    assert [miss.trigger for miss in here.near_misses] == ["Loop.py"]


def test_a_request_without_a_scope_is_refused_and_its_rows_are_still_found() -> None:
    explanation = explain({"action": {"args": {"path": "src/loop.py"}}}, "acme", [lesson()])
    (fate,) = explanation.rows
    assert explanation.status == 422
    assert explanation.recalled == ()
    assert (fate.reasons, fate.patch) == (("the request names no scope",), {"user_id": "u-1"})


NO_OBJECT = "Input should be a valid dictionary or object to extract fields from"


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b'{"user_id":', "the body, at 11: Expecting value; send valid JSON in UTF-8"),
        (b"[]",
         f"the body: {NO_OBJECT}; send a JSON object, with Content-Type: application/json"),
        (b"", "the body: Field required; send a JSON object"),
        (b'{"user_id": 7}', "user_id: Input should be a valid string; send a string, in quotes"),
        (b'{"entities": "x"}', "entities: Input should be a valid list; send an array of strings"),
        (b'{"include": ["fact"]}',
         "include[0] is 'fact'; expected 'lesson' or 'procedure'; leave include out to ask for both"),
        (b'{"user_id": "u"}', "a firing signal is required: pass action, or entities with at least one item"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_would_be_right(raw: bytes, line: str) -> None:
    explanation = explain_bytes(raw, "application/json", "acme", ())
    assert explanation.refusal is not None
    assert line in explanation.refusal.lines


def test_an_explanation_of_a_large_store_is_bounded_and_says_what_it_leaves_out() -> None:
    rows = [
        lesson(number=number, trigger_entities=("loop.py", f"x{number}loop.py")) for number in range(3000)
    ]
    kept_out = explain({"user_id": "u-2", "entities": ["loop.py"]}, "acme", rows)
    recalled = explain({"user_id": "u-1", "entities": ["loop.py"], "mode": "retrieve"}, "acme", rows)
    nearly = explain({"user_id": "u-2", "entities": ["xloop.py"]}, "acme", rows)
    many = explain({"user_id": "u-1", "entities": [f"e{number}" for number in range(3000)]}, "acme", rows)
    assert (len(kept_out.rows), kept_out.rows_left_out) == (MOST_ROWS, 3000 - MOST_ROWS)
    assert (len(recalled.rows), len(recalled.recalled)) == (MOST_ROWS, 3000)
    assert len(nearly.near_misses) == MOST_MISSES
    assert nearly.near_misses_left_out > 0
    assert (len(many.identifiers), many.identifiers_left_out) == (MOST_IDENTIFIERS, 3000 - MOST_IDENTIFIERS)
    assert all(len(orjson.dumps(each.as_dict())) < 100_000 for each in (kept_out, recalled, nearly, many))


def test_hostile_nesting_and_length_are_explained_within_bounds() -> None:
    nested: Any = "loop.py"
    for _ in range(900):
        nested = {"k": nested}
    body = {"user_id": "u" * 100_000, "action": {"args": nested, "output": "word " * 20_000}}
    assert len(orjson.dumps(explain(body, "acme", [lesson()]).as_dict())) < 100_000
