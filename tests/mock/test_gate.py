"""The relevance gate: deterministic, pinned where fixtures say so, and blind to rows that were not
recalled.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mock.stores import row
from trigger_fixtures import Keywords
from trigger_fixtures.model import Gate
from trigger_mock.gate import judge, terms
from trigger_mock.recall import Hit


def hit(
    text: str, gate: Gate = None, entities: tuple[str, ...] = ("x",), categories: tuple[str, ...] = ()
) -> Hit:
    return Hit(
        row(1, 0)._replace(text=text, gate=gate, trigger_entities=entities, categories=categories), entities
    )


@pytest.mark.parametrize("task", [None, "", "  \n "])
@pytest.mark.parametrize("gate", [None, "always", "never", Keywords(("refund",))])
def test_without_a_task_every_row_stays_pinned_or_not(task: str | None, gate: Gate) -> None:
    (verdict,) = judge(task, [hit("anything", gate)])
    assert verdict.kept
    assert verdict.because


@pytest.mark.parametrize(
    ("gate", "task", "kept"),
    [
        ("always", "unrelated", True),
        ("never", "anything at all", False),
        (Keywords(("refund",)), "Refund the customer", True),
        (Keywords(("refund", "credit note")), "write a CREDIT NOTE", True),
        (Keywords(("refund",)), "anything at all", False),
    ],
)
def test_a_fixture_pins_the_verdict(gate: Gate, task: str, kept: bool) -> None:
    (verdict,) = judge(task, [hit("anything at all", gate)])
    assert verdict.kept is kept


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("fix finalize-on-abort in the tool loop", "Call finalize() before the loop returns"),
        ("add a retry to the upload", "Retries of uploads must be idempotent"),
        ("handle FinalizeOnAbort", "finalize_on_abort is called twice"),
        ("設定ファイルを直す", "設定が壊れると起動しない"),
        ("почини цикл", "Цикл не завершается"),
    ],
)
def test_a_row_that_shares_a_telling_term_stays(task: str, text: str) -> None:
    (verdict,) = judge(task, [hit(text)])
    assert verdict.kept
    assert 0.4 <= verdict.confidence <= 1


@pytest.mark.parametrize("task", ["paint the shed", "the and of to", "!!!", "x" * 2000])
def test_a_row_that_shares_none_is_dropped(task: str) -> None:
    (verdict,) = judge(task, [hit("Annual invoices are refunded by credit note", entities=("FIN-409",))])
    assert not verdict.kept


def test_categories_and_trigger_entities_count_too() -> None:
    by_category, by_entity = judge(
        "billing of FIN-409", [hit("a", categories=("billing",)), hit("b", entities=("FIN-409",))]
    )
    assert by_category.kept
    assert by_entity.kept


def test_a_rare_term_weighs_more_than_one_that_every_row_holds() -> None:
    rare, common, _ = judge("invoice rounding", [hit("invoice rounding"), hit("invoice"), hit("invoice")])
    assert rare.confidence > common.confidence


def test_terms_split_identifiers_and_drop_stop_words() -> None:
    assert terms("the toolLoop HTTPServer in snake_case of a/b.py, refunds") == {
        "tool", "loop", "http", "server", "snake", "case", "py", "refund",
    }  # fmt: skip


@pytest.mark.parametrize("task", ["what's this", "does it", "the customer's", "don't", "t s d", "isn’t it"])
def test_words_that_say_nothing_keep_no_row(task: str) -> None:
    (verdict,) = judge(task, [hit("What's this? It does its customer's job, doesn't it: t, s, d. Isn’t it")])
    assert verdict.kept is ("customer" in task)


def test_the_reason_says_words_as_the_task_does() -> None:
    (verdict,) = judge(
        "check Redis status of kubernetes", [hit("kubernetes and redis", entities=("status",))]
    )
    assert verdict.because == "shares Redis, kubernetes, status with the task" or sorted(
        verdict.because.removeprefix("shares ").removesuffix(" with the task").split(", ")
    ) == ["Redis", "kubernetes", "status"]


@given(st.text(max_size=2000), st.lists(st.text(), min_size=1, max_size=5))
def test_any_task_and_texts_give_a_confidence_between_0_and_1_and_a_reason(
    task: str, texts: list[str]
) -> None:
    verdicts = judge(task, [hit(text) for text in texts])
    assert len(verdicts) == len(texts)
    assert all(0 <= verdict.confidence <= 1 and verdict.because for verdict in verdicts)


def test_hash_order_does_not_show() -> None:
    program = (
        "from tests.mock.test_gate import hit; from trigger_mock.gate import judge;"
        "hits = [hit('zeta epsilon beta'), hit('alpha gamma delta zeta')];"
        "print(judge('alpha beta gamma delta epsilon zeta', hits))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(printed) == 1
