"""Recall alone.

Whether its cost grows with the store, and what an entity on every row costs under a narrow scope.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

from benchmarks.mock import stores
from benchmarks.mock.measure import Measure, interleaved, seconds
from trigger_fixtures import DIRECTIVES
from trigger_mock.recall import Memories, Scope

SIZES = (10**3, 10**4, 10**5, 10**6)
IDENTIFIERS = (5, 50, 200)
HOT_ROWS = 10**5
FLAT = 1.5
HOT = 5.0
#: Different requests in one figure.
BATCH = 60

Asked = tuple[frozenset[str], Scope]


def run(*, quick: bool) -> Iterator[Measure]:
    """Flatness for each number of identifiers, then the hot entity."""
    sizes = SIZES[:3] if quick else SIZES
    rounds = 30 if quick else 60
    memories = {count: Memories(stores.rows(count)) for count in sizes}
    for identifiers in IDENTIFIERS:
        sides = [
            _batch(memories[count], [_ordinary(at, identifiers, count) for at in range(BATCH)])
            for count in sizes
        ]
        timed = interleaved(sides, rounds)
        ratios = [timed.ratio(side) for side in range(len(sizes))]
        spent = " · ".join(
            f"{count:,}: {1e6 * timed.median(at) / BATCH:.1f}" for at, count in enumerate(sizes)
        )
        yield Measure(
            what=f"recall of {identifiers} identifiers, {sizes[0]:,} to {sizes[-1]:,} rows",
            value=max(ratios),
            at_most=FLAT,
            detail=f"{_found(memories[sizes[0]], identifiers)} rows back; µs by rows {spent}",
        )
    del memories
    gc.collect()
    yield from _hot(rounds)


def _hot(rounds: int) -> Iterator[Measure]:
    memories = Memories(stores.rows(HOT_ROWS, hot=True))
    ordinary = [_ordinary(at, 5, HOT_ROWS) for at in range(BATCH)]
    for name, scope in {
        "user": Scope(user_id="user-rare"),
        "group": Scope(group_ids=frozenset({"grp_rare", "grp_none"})),
        "user in a broad agent": Scope(user_id="user-rare", agent_id="bot-0"),
        "two broad axes": Scope(agent_id="bot-0", app_id="app-0"),
    }.items():
        hot = [
            (frozenset({stores.HOT, *(f"unknown-{at}-{each}" for each in range(4))}), scope)
            for at in range(BATCH)
        ]
        found = len(memories.recall(*hot[0], DIRECTIVES))
        # Where two axes are broad the shorter list is read: milliseconds a request, so a few requests tell.
        batch = 2 if "two" in name else BATCH
        sides = [_batch(memories, ordinary[:batch]), _batch(memories, hot[:batch])]
        timed = interleaved(sides, rounds // 3 if "two" in name else rounds)
        yield Measure(
            what=f"recall of an entity on {HOT_ROWS:,} rows, scope of {name}",
            value=timed.ratio(),
            at_most=HOT,
            detail=f"{found} rows back; {1e6 * timed.median(1) / batch:.1f} µs "
            f"against {1e6 * timed.median(0) / batch:.1f}",
        )


def _ordinary(at: int, identifiers: int, count: int) -> Asked:
    names, user = stores.fired(at, identifiers, count)
    return names, Scope(user_id=user)


def _batch(memories: Memories, asked: list[Asked]) -> Callable[[], float]:
    def work() -> None:
        for fired, scope in asked:
            memories.recall(fired, scope, DIRECTIVES)

    return lambda: seconds(work)


def _found(memories: Memories, identifiers: int) -> int:
    return len(memories.recall(*_ordinary(0, identifiers, len(memories)), DIRECTIVES))
