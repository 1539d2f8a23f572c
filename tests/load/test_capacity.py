from __future__ import annotations

from collections.abc import Callable

import pytest

from trigger_loadtests.capacity import Search


def explore(search: Search, holds: Callable[[float, int], bool]) -> list[float]:
    tried: list[float] = []
    while (rate := search.next_rate()) is not None:
        assert len(tried) < 60, "a search must end"
        tried.append(rate)
        search.tell(rate, "met" if holds(rate, len(tried)) else "broken")
    return tried


@pytest.mark.parametrize("ceiling", [0.9, 3, 17, 60, 512, 1999])
def test_the_search_ends_within_five_percent_below_a_true_ceiling(ceiling: float) -> None:
    search = Search(first=10, top=2000)

    explore(search, lambda rate, _: rate <= ceiling)

    assert search.ended == "found"
    assert ceiling / 1.06 <= search.met <= ceiling


def test_one_noisy_stage_does_not_set_the_ceiling() -> None:
    search = Search(first=10, top=2000)

    explore(search, lambda rate, count: rate <= 500 and count != 3)

    assert search.met >= 500 / 1.06


def test_a_target_that_dies_after_it_met_a_rate_has_no_capacity() -> None:
    search = Search(first=10, top=2000)

    explore(search, lambda rate, count: rate <= 40 and count < 5)

    assert search.ended == "not-held"


def test_a_best_rate_that_was_luck_gives_way_to_the_next_lower_one_that_holds() -> None:
    search = Search(first=10, top=2000)

    explore(search, lambda rate, _: rate <= (56 if search.confirming else 60))

    assert search.ended == "found"
    assert 40 <= search.met <= 56


def test_one_noisy_stage_at_the_very_end_does_not_condemn_the_target() -> None:
    search, noise = Search(first=10, top=2000), iter([False, True])

    explore(search, lambda rate, _: next(noise) if search.confirming else rate <= 60)

    assert search.ended == "found"


def test_a_target_without_a_ceiling_is_tried_up_to_the_top_and_no_further() -> None:
    search = Search(first=10, top=300)

    tried = explore(search, lambda *_: True)

    assert (search.ended, search.met, max(tried)) == ("top-reached", 300, 300)


def test_a_target_that_meets_nothing_is_given_up() -> None:
    search = Search(first=10, top=300)

    tried = explore(search, lambda *_: False)

    assert (search.ended, search.met) == ("nothing-met", 0)
    assert min(tried) >= 0.5
