"""The rows of a bench as they change: what is answered from, what a reset returns to, who sees what."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mock.stores import asks, corpora, expected, keys, row
from trigger_fixtures import Corpus, Organisation, Row
from trigger_mock.recall import Scope
from trigger_mock.store import Store

ACME = Organisation(name="acme", keys=keys("acme"))
GLOBEX = Organisation(name="globex", keys=keys("globex"))


def lesson(number: int, text: str = "", organisation: str = "acme") -> Row:
    return row(number, 0)._replace(
        organisation=organisation, type="lesson", text=text, user_id="user-1", trigger_entities=("loop.py",)
    )


def of(*rows: Row) -> Corpus:
    return Corpus(organisations={"acme": ACME, "globex": GLOBEX}, rows=rows, sources=("files",))


def texts(store: Store, organisation: str = "acme") -> list[str]:
    hits = store.of(organisation).recall(frozenset({"loop.py"}), Scope("user-1"), ("lesson",))
    return [hit.row.text for hit in hits]


def test_a_row_takes_the_place_of_the_one_of_its_id() -> None:
    store = Store(of(lesson(1, "one"), lesson(2, "two")))
    store.put([lesson(2, "changed"), lesson(3, "three")])
    assert sorted(texts(store)) == ["changed", "one", "three"]


def test_a_row_may_move_to_another_organisation() -> None:
    store = Store(of(lesson(1, "one")))
    store.put([lesson(1, "moved", "globex")])
    assert (texts(store), texts(store, "globex")) == ([], ["moved"])


def test_removing_tells_how_many_there_were() -> None:
    store = Store(of(lesson(1, "one"), lesson(2, "two")))
    gone = lesson(1).id
    assert (store.remove([gone, "nobody"]), store.remove([gone])) == (1, 0)
    assert texts(store) == ["two"]


def test_what_was_is_returned_to_as_it_was() -> None:
    origin = of(lesson(1, "one"))
    store = Store(origin)
    store.have([lesson(2, "two")])
    store.replace(replace(origin, organisations={"acme": ACME}, rows=(lesson(3, "three"),)))
    assert (texts(store), store.origin) == (["three"], origin)
    store.replace(store.origin)
    assert (texts(store), store.corpus) == (["one"], origin)


def test_a_new_beginning_wins_and_keeps_what_was_added() -> None:
    store = Store(of(lesson(1, "one"), lesson(2, "two"), lesson(3, "three")))
    store.put([lesson(2, "changed"), lesson(4, "added"), lesson(5, "added", "globex")])
    store.remove([lesson(3).id])
    origin = replace(of(lesson(2, "new two"), lesson(3, "three")), organisations={"acme": ACME})
    store.rebase(origin)
    assert sorted(texts(store)) == ["added", "new two", "three"]
    assert (texts(store, "globex"), store.origin) == ([], origin)


def test_only_what_changed_is_indexed_anew() -> None:
    store = Store(of(lesson(1, "one"), lesson(2, "two", "globex")))
    acme, globex = store.of("acme"), store.of("globex")
    store.put([lesson(3, "three", "globex")])
    assert store.of("acme") is acme
    assert store.of("globex") is not globex


def test_an_organisation_that_has_gone_recalls_nothing() -> None:
    store = Store(of(lesson(1, "one")))
    store.replace(Corpus(organisations={"globex": GLOBEX}, rows=(), sources=()))
    assert texts(store) == []


@given(corpus=corpora(), order=st.randoms(use_true_random=False), ask=asks())
def test_how_rows_came_does_not_show_in_an_answer(
    corpus: Corpus, order: random.Random, ask: dict[str, Any]
) -> None:
    """One by one, in any order, some of them twice: the answer is that of the rows that there are."""
    rows = list(corpus.rows)
    order.shuffle(rows)
    store = Store(replace(corpus, rows=()))
    for each in rows[: len(rows) // 2]:
        store.put([each._replace(text="before", trigger_entities=("before",))])
    store.put(rows[::2])
    store.remove([each.id for each in rows[::3]])
    store.put(rows[1::2])
    store.put(rows[::3])
    axes = (ask.get("user_id"), ask.get("agent_id"), ask.get("app_id"))
    scope = Scope(*axes, frozenset(ask.get("group_ids") or ()))
    types = ask.get("include") or ("lesson", "procedure")
    for organisation in corpus.organisations:
        hits = store.of(organisation).recall(frozenset(ask["entities"]), scope, types)
        assert [(hit.row.id, list(hit.matched_on)) for hit in hits] == expected(corpus, organisation, ask)


Change = Callable[[Store, list[Row]], None]


def by_adding(store: Store, rows: list[Row]) -> None:
    store.put(rows)


def by_replacing_rows(store: Store, rows: list[Row]) -> None:
    store.have(rows)


def by_replacing_all(store: Store, rows: list[Row]) -> None:
    store.replace(of(*rows))


def by_a_new_beginning(store: Store, rows: list[Row]) -> None:
    store.rebase(of(*rows))


@pytest.mark.parametrize("change", [by_adding, by_replacing_rows, by_replacing_all, by_a_new_beginning])
def test_whoever_reads_during_a_change_sees_all_of_it_or_nothing(change: Change) -> None:
    """Generations of forty rows each: an answer of two generations is a torn one."""
    rounds, size, readers = 60, 40, 4
    generations = [
        [lesson(number, str(generation)) for number in range(size)] for generation in range(rounds)
    ]
    store = Store(of(*generations[0]))
    done = threading.Event()
    seen: list[list[tuple[int, frozenset[str]]]] = [[] for _ in range(readers)]

    def read(into: list[tuple[int, frozenset[str]]]) -> None:
        while not done.is_set():
            found = texts(store)
            into.append((len(found), frozenset(found)))

    threads = [threading.Thread(target=read, args=(into,)) for into in seen]
    for thread in threads:
        thread.start()
    for generation in generations:
        change(store, generation)
    done.set()
    for thread in threads:
        thread.join()
    answers = [answer for into in seen for answer in into]
    assert answers
    assert {(count, len(texts)) for count, texts in answers} == {(size, 1)}
    for into in seen:
        order = [int(next(iter(texts))) for _, texts in into]
        assert order == sorted(order)


def test_changes_of_many_threads_are_all_kept() -> None:
    store = Store(of())
    start = threading.Barrier(8)

    def add(numbers: Iterable[int]) -> None:
        start.wait()
        for number in numbers:
            store.put([lesson(number, str(number))])

    threads = [threading.Thread(target=add, args=(range(at, 200, 8),)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, texts(store))) == list(range(200))


def test_a_row_that_is_added_while_files_are_read_again_is_not_lost() -> None:
    store = Store(of(lesson(0, "0")))
    start = threading.Barrier(2)

    def rebase() -> None:
        start.wait()
        for _ in range(200):
            store.rebase(of(lesson(0, "0")))

    thread = threading.Thread(target=rebase)
    thread.start()
    start.wait()
    for number in range(1, 200):
        store.put([lesson(number, str(number))])
    thread.join()
    assert sorted(map(int, texts(store))) == list(range(200))
