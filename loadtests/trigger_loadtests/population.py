"""Whom the agents speak for and what they touch: identities and identifiers, drawn with a skew.

Real traffic is uneven: a few users and a few files see most calls. Draws follow a Zipf-like law over the
rows of a population, which are real when probes or fixtures are given and invented (so that nothing
matches) otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

#: More rows than this add nothing but weight to the plan that travels to each worker.
LARGEST = 400


class Known(NamedTuple):
    """One directive as a client could know it: its scope, and what fires it."""

    user_id: str | None
    agent_id: str | None
    app_id: str | None
    group_ids: tuple[str, ...]
    entities: tuple[str, ...]


class Population(NamedTuple):
    """Rows to draw from; `source` says where they come from, for the report."""

    rows: tuple[Known, ...]
    source: str


class Draw:
    """Seeded, skewed draws from a population."""

    def __init__(self, population: Population, seed: str) -> None:
        self.random = random.Random(seed)
        self._rows = population.rows
        self._weights = list(accumulate(1.0 / rank for rank in range(1, len(self._rows) + 1)))
        self._grouped = [row for row in self._rows if row.group_ids]

    def row(self) -> Known:
        """Draw a row: the first ones often, the last ones rarely."""
        return self.random.choices(self._rows, cum_weights=self._weights)[0]

    def groups(self, most: int) -> tuple[str, ...]:
        """Draw some groups; invented ones when the population has none."""
        pool = sorted({group for row in self._grouped for group in row.group_ids})
        pool = pool or [f"grp_{number:032x}" for number in range(8)]
        return tuple(self.random.sample(pool, min(len(pool), self.random.randint(1, most))))

    def one_of(self, *choices: str) -> str:
        """Draw one of these."""
        return self.random.choice(choices)


def invented(seed: int, size: int = 200) -> Population:
    """Invent a population; no row of it exists at any target."""
    draw = random.Random(f"population-{seed}")
    words = (
        "ledger",
        "parser",
        "queue",
        "session",
        "cache",
        "router",
        "billing",
        "export",
        "planner",
        "token",
    )
    rows = tuple(
        Known(
            user_id=f"load-user-{draw.randint(1, 60)}",
            agent_id=f"load-agent-{draw.randint(1, 8)}" if draw.random() < 0.4 else None,
            app_id=f"load-app-{draw.randint(1, 4)}" if draw.random() < 0.3 else None,
            group_ids=(f"grp_{draw.getrandbits(128):032x}",) if draw.random() < 0.4 else (),
            entities=(
                f"{draw.choice(words)}_{draw.choice(words)}_{number}.py",
                f"{draw.choice(words)}.{draw.choice(words)}.update{number}",
                f"ERR-{1000 + number}",
            ),
        )
        for number in range(size)
    )
    return Population(rows, "invented (nothing is expected to match)")


def known(rows: Iterable[Known], source: str) -> Population:
    """Make a population of real rows; those that no request can fire or carry are left out."""
    kept = [row for row in rows if row.entities and any(row[:4]) and _can_be_sent(row)]
    return Population(tuple(kept[:LARGEST]), source)


def _can_be_sent(row: Known) -> bool:
    """Return whether the row's names can be written as UTF-8: lone surrogates cannot."""
    names = (row.user_id or "", row.agent_id or "", row.app_id or "", *row.group_ids, *row.entities)
    try:
        return bool("".join(names).encode())
    except UnicodeEncodeError:
        return False
