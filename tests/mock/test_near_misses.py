"""Which triggers are near to what was fired, in which way, and that finding them is quick."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trigger_mock.near_misses import KINDS, MOST_COMPARED, near_misses


@pytest.mark.parametrize(
    ("fired", "trigger", "kind"),
    [
        ("Tool_Loop.py", "tool_loop.py", "case"),
        ("ЦИКЛ.py", "цикл.py", "case"),
        (" loop.py", "loop.py", "blanks"),
        ("gh  pr view", "gh pr view", "blanks"),
        ("GH pr  view", "gh pr view", "case and blanks"),
        (r"src\app\loop.py", "src/app/loop.py", "slashes"),
        ("src/app/loop.py", "loop.py", "path tail"),
        ("loop.py", "app/loop.py", "path tail"),
        (r"src\app\loop.py", "app/loop.py", "path tail"),
        ("AbortErorr", "AbortError", "one edit"),
        ("AbortErro", "AbortError", "one edit"),
        ("AbortErrors", "AbortError", "one edit"),
        ("AbortErrar", "AbortError", "one edit"),
        ("raise AbortError", "AbortError", "substring"),
        ("refunds", "stripe.refunds.create", "superstring"),
    ],
)
def test_a_trigger_is_near_in_one_way(fired: str, trigger: str, kind: str) -> None:
    assert [tuple(miss) for miss in near_misses([fired], [trigger])] == [(kind, fired, trigger)]


@pytest.mark.parametrize(
    ("fired", "trigger"),
    [("loop.py", "loop.py"), ("ab", "abacus"), ("one", "ode"), ("FIN-409", "FIN-590"), ("", "x"), ("x", "")],
)
def test_what_is_the_same_or_too_short_or_too_different_is_not_near(fired: str, trigger: str) -> None:
    assert near_misses([fired], [trigger]) == []


def test_the_nearest_come_first() -> None:
    triggers = ["my_loop.py_old", "loop.py", "Loop.py", "loops.py", "a/LOOP.py"]
    kinds = [miss.kind for miss in near_misses(["LOOP.py"], triggers)]
    assert kinds == ["case", "case", "path tail"]
    places = [list(KINDS).index(kind) for kind in kinds]
    assert places == sorted(places)


def damerau(one: str, other: str) -> int:
    """The distance in letters, two neighbours changed about being one."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        rows.append([i])
        for j, b in enumerate(other, 1):
            best = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[i - 2][j - 2] + 1)
            rows[i].append(best)
    return rows[-1][-1]


WORDS = st.text("abc", min_size=4, max_size=7)


@given(fired=WORDS, trigger=WORDS)
@example(fired="abcb", trigger="abbc")
@example(fired="aaaa", trigger="aaaaa")
def test_one_edit_is_an_edit_distance_of_one(fired: str, trigger: str) -> None:
    kinds = [miss.kind for miss in near_misses([fired], [trigger])]
    assert (kinds == ["one edit"]) == (damerau(fired, trigger) == 1)


TEXTS = st.lists(st.text("aB/\\ .é", max_size=8), max_size=6)


@given(fired=TEXTS, triggers=TEXTS)
def test_each_trigger_is_told_once_and_never_when_it_fired(fired: list[str], triggers: list[str]) -> None:
    misses = near_misses(fired, dict.fromkeys(triggers))
    told = [miss.trigger for miss in misses]
    assert len(told) == len(set(told))
    assert set(told) <= set(triggers) - set(fired)
    assert {miss.fired for miss in misses} <= set(fired)


def test_identifiers_beyond_the_first_ones_are_not_compared() -> None:
    fired = [f"{number:x}" for number in range(MOST_COMPARED)] + ["LOOP.py"]
    assert near_misses(fired, ["loop.py"]) == []
