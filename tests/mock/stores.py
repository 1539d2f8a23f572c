"""Stores and requests small enough to collide, and the oracle that says what each request must recall.

The oracle is written from the endpoint's rules, the slow way: look at every row, ask every question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from trigger_fixtures import ApiKey, Corpus, Organisation, Row

ORGANISATIONS = ("acme", "globex")
USERS = ("user-1", "user-10", "USER-1", "user-2")
AGENTS = ("bot-7", "bot-70")
APPS = ("app-3", "app-30")
GROUPS = ("grp_a", "grp_b", "grp_ab")
ENTITIES = ("loop.py", "Loop.py", "loop", "a/loop.py", "gh pr view")
MORE_ENTITIES = ("FIN-409", "stripe.refunds", "цикл.py", " loop.py")
TYPES = ("lesson", "procedure", "fact", "artifact", "episode")
COUNTS = (None, 0, 1, 5)
TIMES = ("2025-01-01T00:00:00Z", "2025-06-01T00:00:00Z")
#: How many rows carry an entity that every row carries: more than the index lists plainly.
MANY = 40


def keys(name: str) -> tuple[ApiKey, ...]:
    """The one key of an organisation of these tests."""
    return (ApiKey(key=f"xtk_test_{name}"),)


def row(number: int, drawn: int) -> Row:
    """The row that one drawn integer stands for: a digit a field, so that a store costs Hypothesis one
    draw a row.
    """

    def pick(choices: Sequence[Any]) -> Any:
        nonlocal drawn
        drawn, at = divmod(drawn, len(choices))
        return choices[at]

    def subset(choices: Sequence[str]) -> tuple[str, ...]:
        nonlocal drawn
        drawn, mask = divmod(drawn, 2 ** len(choices))
        return tuple(choice for at, choice in enumerate(choices) if mask >> at & 1)

    kind = pick(TYPES)
    return Row(
        id=f"00000000-0000-4000-8000-{number:012d}",
        organisation=pick(ORGANISATIONS),
        type=kind,
        text=f"memory {number}",
        user_id=pick((None, *USERS)),
        agent_id=pick((None, *AGENTS)),
        app_id=pick((None, *APPS)),
        conv_id=None,
        group_ids=subset(GROUPS),
        categories=(),
        trigger_entities=(pick(ENTITIES), *subset(MORE_ENTITIES)),
        observation_count=pick(COUNTS),
        last_confirmed_at=None,
        steps=("one", "two") if kind == "procedure" else None,
        fact_type=None,
        created_at="2025-01-01T00:00:00Z",
        updated_at=pick(TIMES),
        gate=None,
    )


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """A store of two organisations; sometimes one entity is on so many rows that the index lists it by
    axis.
    """
    numbers = draw(st.lists(st.integers(0, 2**30), max_size=25))
    made = [row(number, drawn) for number, drawn in enumerate(numbers)]
    count = len(made)
    crowded = draw(st.booleans())
    if made and crowded:
        for number in range(count, count + MANY):
            like = made[number % count]
            made.append(
                like._replace(
                    id=f"00000000-0000-4000-8000-{number:012d}",
                    user_id=USERS[number % len(USERS)] if number % 5 else None,
                    organisation=ORGANISATIONS[number % 3 == 0],
                    observation_count=COUNTS[number % 4],
                    updated_at=TIMES[number // 4 % 2],
                    trigger_entities=tuple(dict.fromkeys((ENTITIES[0], *like.trigger_entities))),
                )
            )
    return Corpus(
        organisations={name: Organisation(name=name, keys=keys(name)) for name in ORGANISATIONS},
        rows=tuple(made[:: draw(st.sampled_from((1, -1)))]),
        sources=(),
    )


def near(values: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A value that is known, or nearly."""
    known = st.sampled_from(values)
    nearly = known.flatmap(
        lambda v: st.sampled_from((v.upper(), v[:-1], v + "0", f" {v}", f"{v} ", "%", "*", ""))
    )
    return known | known | known | nearly


@st.composite
def asks(draw: st.DrawFn) -> dict[str, Any]:
    """A request that has a signal and a scope."""
    axes: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "user_id": st.none() | near(USERS),
                "agent_id": st.none() | near(AGENTS),
                "app_id": st.none() | near(APPS),
                "group_ids": st.lists(near(GROUPS), max_size=3),
            },
        )
    )
    if not (
        axes.get("user_id") or axes.get("agent_id") or axes.get("app_id") or any(axes.get("group_ids", ()))
    ):
        axes["user_id"] = draw(st.sampled_from(USERS))
    fired = draw(st.lists(near(ENTITIES + MORE_ENTITIES), min_size=1, max_size=6))
    optional = draw(
        st.fixed_dictionaries(
            {},
            optional={"include": st.lists(st.sampled_from(("lesson", "procedure")), unique=True, max_size=2)},
        )
    )
    return {**axes, **optional, "entities": fired}


def expected(corpus: Corpus, organisation: str, ask: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The ids that must come back, in their order, each with what it matched on."""
    recalled: list[tuple[tuple[Any, ...], str, list[str]]] = []
    for row in corpus.rows:
        if row.organisation != organisation or row.type not in (
            ask.get("include") or ["lesson", "procedure"]
        ):
            continue
        if any(
            ask.get(axis) is not None and ask[axis] != getattr(row, axis)
            for axis in ("user_id", "agent_id", "app_id")
        ):
            continue
        if ask.get("group_ids") and not [group for group in ask["group_ids"] if group in row.group_ids]:
            continue
        matched = [entity for entity in row.trigger_entities if entity in ask["entities"]]
        if not matched:
            continue
        newest_first = tuple(-ord(character) for character in row.updated_at)
        rank = (-len(matched), -max(map(len, matched)), -(row.observation_count or 0), newest_first, row.id)
        recalled.append((rank, row.id, matched))
    return [(id_, matched) for _, id_, matched in sorted(recalled)]
