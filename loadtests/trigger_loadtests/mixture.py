"""How scenarios are mixed: their weights, each agent's sessions, and the open model's long row of asks.

All of it is written from a seed before the run. Knows what a session is, not what one says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from trigger_loadtests.population import Draw, Population
from trigger_loadtests.scenarios import WRITERS, Ask, Session

#: Shares of the scenarios, as weights. Misses are what hooks mostly meet.
USUAL_MIX: dict[str, int] = {
    "coding": 6,
    "first-touch": 2,
    "support": 3,
    "groups": 2,
    "entities": 2,
    "miss": 6,
    "careless": 1,
}


def sessions(
    scenario: str, population: Population, seed: int, compose: float, asks: int = 400
) -> tuple[Session, ...]:
    """Write sessions of one scenario until they hold at least so many asks."""
    draw, written, count = Draw(population, f"{seed}-{scenario}"), list[Session](), 0
    while count < asks:
        session = WRITERS[scenario](draw, compose)
        written.append(session)
        count += len(session)
    return tuple(written)


def deal(
    mix: Mapping[str, int], population: Population, seed: int, compose: float, asks: int = 4096
) -> Session:
    """Return a long row of asks for the open model: scenarios mixed by weight, each in its own order."""
    rows = {
        scenario: [ask for session in sessions(scenario, population, seed, compose) for ask in session]
        for scenario, weight in mix.items()
        if weight > 0
    }
    names, weights = list(rows), [mix[name] for name in rows]
    draw, given = random.Random(f"{seed}-deal"), dict.fromkeys(rows, 0)
    dealt: list[Ask] = []
    for name in draw.choices(names, weights, k=asks):
        dealt.append(rows[name][given[name] % len(rows[name])])
        given[name] += 1
    return tuple(dealt)
