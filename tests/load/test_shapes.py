from __future__ import annotations

from itertools import pairwise

import pytest

from trigger_loadtests import shapes
from trigger_loadtests.shapes import PROFILES, USUAL, Stage


@pytest.mark.parametrize("profile", [profile for profile in PROFILES if profile != "capacity"])
def test_a_profile_lasts_as_long_as_it_was_asked_to(profile: shapes.Profile) -> None:
    assert sum(stage.seconds for stage in shapes.stages(profile, 20, 37)) == pytest.approx(37)


def test_every_profile_is_bounded_by_default() -> None:
    assert set(USUAL) == set(PROFILES)
    assert all(0 < usual.seconds <= 3600 for usual in USUAL.values())


def test_capacity_has_no_stages_of_its_own() -> None:
    assert shapes.stages("capacity", 10, 60) == ()


def test_a_level_is_held_after_the_rise_and_nothing_comes_after_the_end() -> None:
    ramp = shapes.stages("ramp", 100, 10)

    assert [shapes.level_at(ramp, moment) for moment in (0, 4, 9, 10)] == [10, 55, 100, None]


def test_a_spike_rises_above_the_level_and_falls_back() -> None:
    spike = shapes.stages("spike", 10, 10)

    assert [shapes.level_at(spike, moment) for moment in (0, 4, 5.9, 6)] == [10, 50, 50, 10]


def test_even_arrivals_come_at_the_rate_and_at_equal_distances() -> None:
    moments = [moment for _, moment in shapes.arrivals([Stage("s", 10, 5, 5)], shapes.even())]

    assert len(moments) == 50
    assert all(later - earlier == pytest.approx(0.2) for earlier, later in pairwise(moments))


@pytest.mark.parametrize("row", [shapes.stages("ramp", 40, 20), shapes.stages("spike", 10, 20)])
def test_arrivals_follow_the_area_under_the_shape(row: tuple[Stage, ...]) -> None:
    moments = [moment for _, moment in shapes.arrivals(row, shapes.even())]

    for until in (3.0, 9.5, 14.0, 20.0):
        due = sum(moment < until for moment in moments)
        assert due == pytest.approx(shapes.area_until(row, until), abs=1)
    assert moments == sorted(moments)


def test_an_arrival_belongs_to_the_stage_in_which_it_is_due() -> None:
    row = (Stage("slow", 2, 1, 1), Stage("fast", 1, 10, 10))

    for number, moment in shapes.arrivals(row, shapes.even()):
        assert number == (0 if moment < 2 else 1)


def test_independent_arrivals_have_the_rate_of_the_shape_and_the_seed_decides_them() -> None:
    row = (Stage("s", 1000, 10, 10),)
    once, again = (list(shapes.arrivals(row, shapes.poisson(7))) for _ in range(2))
    gaps = [later[1] - earlier[1] for earlier, later in pairwise(once)]
    mean = sum(gaps) / len(gaps)

    assert once == again
    assert mean == pytest.approx(0.1, rel=0.05)
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(mean**2, rel=0.15)


def test_a_stage_without_level_asks_for_nothing() -> None:
    assert list(shapes.arrivals([Stage("none", 5, 0, 0)], shapes.even())) == []
