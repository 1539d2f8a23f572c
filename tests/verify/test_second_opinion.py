"""Schemathesis's own response checks are a second reading: they agree where ours finds nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.servers.serving import serving
from tests.verify.judging import options_for
from trigger_contracts import second_opinion
from trigger_contracts.engine import judge
from trigger_contracts.exchange import Exchange, Reply, Request
from trigger_contracts.promises import catalogue
from trigger_contracts.run import Run
from trigger_contracts.second_opinion import objection

_JSON = (("Content-Type", "application/json"),)
_EMPTY: dict[str, Any] = {
    "object": "search",
    "data": [],
    "mode": "retrieve",
    "context": None,
    "context_selection_applied": False,
    "stage_timings": {},
}


def answered(status: int, body: Any, headers: tuple[tuple[str, str], ...] = _JSON) -> Exchange:
    return Exchange(Request("POST", b"{}", ()), Reply(status, headers, json.dumps(body).encode()))


def test_a_conforming_answer_draws_no_objection() -> None:
    refusal = {"detail": {"code": "invalid_request", "message": "pass a scope"}}

    assert objection([answered(200, _EMPTY)], 200) is None
    assert objection([answered(422, refusal), answered(422, {"detail": []})], 422) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"object": "list"}, "Response violates schema"),
        ({"mode": "search"}, '"search" is not one of'),
        ({"data": [{"object": "memory"}]}, '"id" is a required property'),
        ({"context": "under retrieve"}, "Response violates schema"),
    ],
)
def test_what_the_contract_does_not_allow_is_objected_to(changed: dict[str, Any], said: str) -> None:
    wrong = answered(200, _EMPTY | changed)

    objected = objection([answered(200, _EMPTY), wrong], 200)

    assert objected is not None
    assert said in objected[0]
    assert objected[1] is wrong


def test_another_media_type_is_objected_to() -> None:
    objected = objection([answered(200, _EMPTY, (("Content-Type", "text/html"),))], 200)

    assert objected is not None
    assert "content-type" in objected[0].lower()


def test_answers_of_another_status_and_none_at_all_are_left_alone() -> None:
    silent = Exchange(Request("POST", b"{}", ()), None, "no answer")

    assert objection([silent, answered(500, {"anything": 1})], 200) is None


@pytest.mark.parametrize(("name", "status"), [("SHAPE-1", 200), ("ERR-1", 422)])
def test_an_objection_breaks_the_promise_about_the_form(
    name: str, status: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_opinion, "_objection", lambda _: "Schemathesis: not so")
    promises = {one.id: one for one in catalogue()}
    with serving("reference") as served:
        run = Run(options_for(served, tmp_path, "standard"))
        judge(run, promises["ROB-1"])

        outcome = judge(run, promises[name])
        run.target.close()

    assert outcome.state == "broken"
    assert outcome.evidence is not None
    assert outcome.evidence.message == "Schemathesis: not so"
    assert outcome.evidence.got.startswith(str(status))
