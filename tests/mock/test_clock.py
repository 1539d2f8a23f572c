"""The clock of a bench: it runs, stands still and moves forward, and never goes back by itself."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trigger_mock.clock import Clock


@dataclass
class Source:
    """Time that passes when told to."""

    now: float = 50.0

    def __call__(self) -> float:
        return self.now


def test_it_runs_with_its_source() -> None:
    source = Source()
    clock = Clock(source, epoch=1000.0)
    source.now += 3
    assert (clock(), clock.now, clock.frozen) == (53.0, 1053.0, False)


def test_frozen_it_stands_and_resumed_it_runs_on_from_there() -> None:
    source = Source()
    clock = Clock(source)
    clock.freeze()
    source.now += 100
    assert (clock(), clock.frozen) == (50.0, True)
    clock.resume()
    source.now += 1
    assert (clock(), clock.frozen) == (51.0, False)


def test_it_is_moved_forward_frozen_or_not() -> None:
    source = Source()
    clock = Clock(source)
    clock.advance(86_400)
    assert clock() == 86_450.0
    clock.freeze()
    clock.advance(0.5)
    assert clock() == 86_450.5
    clock.resume()
    assert clock() == 86_450.5


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_it_is_not_moved_back(seconds: float) -> None:
    clock = Clock(Source())
    with pytest.raises(ValueError, match="moves forward"):
        clock.advance(seconds)
    assert clock() == 50.0


def test_a_reset_returns_it_to_real_time() -> None:
    clock = Clock(Source())
    clock.advance(10)
    clock.freeze()
    clock.reset()
    assert (clock(), clock.frozen) == (50.0, False)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["freeze", "resume"]),
            st.floats(0, 1e6, allow_nan=False),
            st.tuples(st.just("pass"), st.floats(0, 1e6, allow_nan=False)),
        )
    )
)
def test_whatever_is_done_to_it_it_never_goes_back(steps: list[str | float | tuple[str, float]]) -> None:
    source = Source()
    clock = Clock(source)
    shown = clock()
    for step in steps:
        if step == "freeze":
            clock.freeze()
        elif step == "resume":
            clock.resume()
        elif isinstance(step, tuple):
            source.now += step[1]
        elif isinstance(step, float):
            clock.advance(step)
        # The difference of two large numbers is rounded; a nanosecond back is none.
        assert clock() >= shown - 1e-9 * max(1.0, shown)
        shown = clock()
