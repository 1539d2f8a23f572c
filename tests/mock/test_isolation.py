"""No request ever shows a row outside its organisation or its scope, and every row inside comes back, in
order.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.mock.stores import ORGANISATIONS, asks, corpora, expected
from trigger_fixtures import Corpus
from trigger_mock import Settings, create_app
from trigger_mock.limits import Overrides

PATH = "/v1/memories/trigger"
UNLIMITED = Settings(limits=Overrides("none", "none"))


@given(
    corpus=corpora(),
    requests=st.lists(st.tuples(st.sampled_from(ORGANISATIONS), asks()), min_size=1, max_size=4),
)
def test_recall_equals_the_oracle_for_any_store_and_request(
    corpus: Corpus, requests: list[tuple[str, dict[str, Any]]]
) -> None:
    client = create_app(corpus, settings=UNLIMITED).test_client()
    for organisation, ask in requests:
        headers = {"x-api-key": f"xtk_test_{organisation}"}
        answer = client.post(PATH, json={**ask, "mode": "retrieve"}, headers=headers).get_json()
        got = [(row["id"], row["details"]["matched_on"]) for row in answer["data"]]
        assert got == expected(corpus, organisation, ask)


@given(
    corpus=corpora(), ask=asks(), task=st.none() | st.sampled_from(("fix the loop", "refund", "", "memory 3"))
)
def test_compose_shows_nothing_that_retrieve_does_not(
    corpus: Corpus, ask: dict[str, Any], task: str | None
) -> None:
    client = create_app(corpus, settings=UNLIMITED).test_client()
    body = {**ask, "mode": "compose", "task": task}
    answer = client.post(PATH, json=body, headers={"x-api-key": "xtk_test_acme"}).get_json()
    allowed = {id_ for id_, _ in expected(corpus, "acme", ask)}
    kept = {row["id"] for row in answer["data"]}
    texts = {row.text for row in corpus.rows if row.id in kept}
    assert kept <= allowed
    shown = {
        line.split("** ")[1].split(" (")[0]
        for line in (answer["context"] or "").splitlines()
        if line[:2] == "- "
    }
    assert shown == texts


@given(corpus=corpora(), ask=asks(), task=st.sampled_from(("fix the loop", "memory", "refund the invoice")))
def test_rows_outside_the_scope_change_no_byte_of_an_answer(
    corpus: Corpus, ask: dict[str, Any], task: str
) -> None:
    body = {**ask, "mode": "compose", "task": task}
    visible = {id_ for id_, _ in expected(corpus, "acme", ask)}
    alone = Corpus(
        organisations=corpus.organisations,
        rows=tuple(row for row in corpus.rows if row.id in visible),
        sources=(),
    )
    answers = {
        create_app(store, settings=UNLIMITED)
        .test_client()
        .post(PATH, json=body, headers={"x-api-key": "xtk_test_acme"})
        .data
        for store in (corpus, alone)
    }
    assert len(answers) == 1


@given(corpus=corpora(), ask=asks())
def test_the_order_of_a_store_changes_no_byte_of_an_answer(corpus: Corpus, ask: dict[str, Any]) -> None:
    turned = Corpus(organisations=corpus.organisations, rows=corpus.rows[::-1], sources=())
    answers = {
        create_app(store, settings=UNLIMITED)
        .test_client()
        .post(PATH, json=ask, headers={"x-api-key": "xtk_test_acme"})
        .data
        for store in (corpus, turned)
    }
    assert len(answers) == 1
