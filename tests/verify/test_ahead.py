"""Bodies made in another process are those that would be made here, or they are made here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.serving import serving
from tests.verify.commanding import environment
from trigger_contracts import ahead
from trigger_contracts.generation import bodies
from trigger_contracts.validation import request_violations


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    bodies.cache_clear()
    yield
    ahead.forget()
    bodies.cache_clear()


def test_what_was_made_ahead_is_what_the_properties_get(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead.begin(7, 3)
    monkeypatch.setattr("trigger_contracts.generation.generate", _nobody_generates)

    found = bodies(7, 3)

    assert {one.origin for one in found} == {"drawn from the schema", "boundary of the schema"}
    assert [one for one in found if one.positive and request_violations(one.value)] == []
    assert any(request_violations(one.value) for one in found if not one.positive)


def test_the_same_seed_makes_the_same_bodies_ahead() -> None:
    taken = []
    for _ in range(2):
        ahead.begin(7, 3)
        taken.append(ahead.take(7, 3))

    assert taken[0] == taken[1]
    assert taken[0]


def test_bodies_that_nobody_began_are_made_here() -> None:
    assert ahead.take(7, 3) is None
    assert bodies(7, 3)


def test_a_process_that_fails_is_made_up_for_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    ahead.begin(7, 3)

    assert bodies(7, 3)


def test_an_interpreter_that_cannot_be_started_is_made_up_for_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    ahead.begin(7, 3)

    assert ahead.take(7, 3) is None


def test_what_nobody_asks_for_any_more_is_ended() -> None:
    ahead.begin(7, 3)

    ahead.forget()

    assert ahead.take(7, 3) is None


_LOADED_BY_A_QUICK_LOOK = """
import os, sys
from pathlib import Path
from trigger_contracts import probes
from trigger_contracts.engine import verify
from trigger_contracts.options import PROFILES, Options

known = probes.load(Path(sys.argv[2]))
options = Options(
    base_url=sys.argv[1], api_key=os.environ["KEY_ONE"], probes=known, profile=PROFILES["quick"]
)
held = {one.id for one in verify(options).outcomes if one.state == "held"}
print(*sorted({"SCOPE-1", "MATCH-4", "VAL-6"} & held), *{"hypothesis", "schemathesis"} & {*sys.modules})
"""


def test_a_quick_look_waits_for_no_generator_to_load(tmp_path: Path) -> None:
    with serving() as served:
        ended = subprocess.run(
            [sys.executable, "-c", _LOADED_BY_A_QUICK_LOOK, served.url, served.write_probes(tmp_path)],
            env=environment(served),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert ended.stdout.split() == ["MATCH-4", "SCOPE-1", "VAL-6"], ended.stderr


def _nobody_generates(*_: object) -> tuple[()]:
    raise AssertionError("the bodies were made twice")
