"""The registry tells the truth: each wrong server breaks what it says and nothing that it does not say."""

from __future__ import annotations

import os
from zlib import crc32

import pytest

from tests.servers.variants import BENIGN, REFERENCE, VARIANTS
from tests.servers_test.oracle import CHECKS, keeps

#: How many promises each chapter holds.
CHAPTERS = {
    "AUTH": 5,
    "VAL": 10,
    "ERR": 3,
    "SHAPE": 4,
    "MODE": 8,
    "SCOPE": 8,
    "MATCH": 7,
    "TYPE": 2,
    "ORDER": 1,
    "RATE": 3,
    "HTTP": 1,
    "ROB": 2,
}
PROMISES = {f"{chapter}-{number}" for chapter, count in CHAPTERS.items() for number in range(1, count + 1)}


def test_there_are_enough_of_both_kinds() -> None:
    assert len(VARIANTS) >= 75
    assert len(BENIGN) >= 16


def test_every_promise_has_a_server_that_breaks_it() -> None:
    assert {name for variant in VARIANTS.values() for name in variant.breaks} == PROMISES


def test_nothing_is_said_of_promises_that_do_not_exist() -> None:
    said = {name for variant in (*VARIANTS.values(), *BENIGN.values()) for name in variant.also}
    assert said <= PROMISES


def test_every_variant_tells_how_it_came_to_be() -> None:
    assert all(variant.story.endswith(".") for variant in (*VARIANTS.values(), *BENIGN.values()))


def test_the_oracle_asks_for_every_promise() -> None:
    assert set(CHECKS) == PROMISES


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_the_reference_keeps_every_promise(name: str) -> None:
    assert keeps(REFERENCE, name)


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_wrong_server_breaks_all_that_it_says(name: str) -> None:
    variant = VARIANTS[name]
    assert {promise for promise in variant.breaks if not keeps(variant, promise)} == variant.breaks


def watched(name: str) -> list[str]:
    """A tenth of the promises for each server, another tenth for the next; all of them on demand.

    All pairs take minutes; TRIGGER_KIT_ALL_PAIRS=1 runs them after a change of the registry or the oracle.
    """
    if os.environ.get("TRIGGER_KIT_ALL_PAIRS"):
        return sorted(CHECKS)
    start = crc32(name.encode()) % 10
    return sorted(CHECKS)[start::10]


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_wrong_server_breaks_nothing_else(name: str) -> None:
    variant = VARIANTS[name]
    rest = set(watched(name)) - variant.breaks - variant.also
    assert {promise for promise in rest if not keeps(variant, promise)} == set()


#: What the oracle cannot ask of a server without rows, or that caps them: it wants the very rows of the data.
UNASKABLE = {
    "empty": {"MATCH-1", "MATCH-2", "MATCH-7"},
    "capped": {"MATCH-4", "SCOPE-2", "SCOPE-3", "SCOPE-4", "TYPE-2"},
}


@pytest.mark.parametrize("name", sorted(BENIGN))
def test_an_unusual_server_breaks_nothing(name: str) -> None:
    variant = BENIGN[name]
    asked = set(watched(name)) - variant.also - UNASKABLE.get(name, set())
    assert {promise for promise in asked if not keeps(variant, promise)} == set()
