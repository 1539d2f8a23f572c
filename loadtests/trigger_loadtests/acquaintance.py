"""The key of a run and the rows that its agents know: from the environment, fixtures or probes.

A key is only ever read from an environment variable and handed on in memory or in a child's environment.
Without one, a target on this machine is taken for the mock, and the first key of its shipped fixtures
(invented, public) is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trigger_loadtests.population import Known, Population, invented, known

#: Where the key is looked for when the command line names no variable.
USUAL_VARIABLES = ("TRIGGER_LOAD_API_KEY", "TRIGGER_API_KEY")
#: How the parent of a run hands its key to worker processes on the same machine.
HANDED_DOWN = "TRIGGER_LOAD_WORKER_KEY"


class UnknownError(ValueError):
    """A key or a file of known rows that is not there or cannot be read."""


class Key(NamedTuple):
    """A key, and where it came from in words that may be shown."""

    secret: str
    source: str
    demo: bool = False

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


def key_from(variables: Mapping[str, str], named: str | None, *, loopback: bool) -> Key:
    """Find the key."""
    found = _find_key(variables, named, loopback=loopback)
    if not (found.secret.isascii() and found.secret.isprintable()) or found.secret != found.secret.strip():
        raise UnknownError(
            f"the key from {found.source} cannot be sent in a header: it holds blanks or control characters"
        )
    return found


def _find_key(variables: Mapping[str, str], named: str | None, *, loopback: bool) -> Key:
    if named is not None:
        if not variables.get(named):
            raise UnknownError(f"the environment variable {named} (--api-key-env) is empty or not set")
        return Key(variables[named], f"${named}")
    for name in (HANDED_DOWN, *USUAL_VARIABLES):
        if variables.get(name):
            return Key(variables[name], f"${name}")
    if loopback and (demo := _demo_key()):
        return Key(demo, "the demo key of the mock's shipped fixtures, as none was given", demo=True)
    raise UnknownError(
        f"no key: set {USUAL_VARIABLES[1]}, or name the variable that holds it with --api-key-env NAME"
    )


def population_from(fixtures: Sequence[str], probes: str | None, key: Key, seed: int) -> Population:
    """Return the rows that agents draw from."""
    if probes:
        return _of_probes(Path(probes))
    if fixtures or key.demo:
        found = _of_fixtures(fixtures, key.secret)
        if found.rows:
            return found
        if fixtures:
            raise UnknownError(f"{', '.join(fixtures)}: no lesson or procedure that this key could see")
    return invented(seed)


def _corpus(paths: Sequence[str]) -> Any:
    import trigger_fixtures

    return trigger_fixtures.load(*paths) if paths else trigger_fixtures.default()


def _demo_key() -> str | None:
    """Return the shipped key with the most generous rate."""
    best: tuple[float, str] | None = None
    for organisation in _corpus(()).organisations.values():
        for key in organisation.keys:
            rate = key.rate_limit or organisation.rate_limit
            generous = rate.amount / rate.seconds if rate else float("inf")
            if key.daily_cap is None and (best is None or generous > best[0]):
                best = (generous, key.key)
    return best[1] if best else None


def _of_fixtures(paths: Sequence[str], secret: str) -> Population:
    try:
        corpus = _corpus(paths)
    except Exception as error:
        if type(error).__name__ != "FixtureErrors" and not isinstance(error, OSError):
            raise
        raise UnknownError(str(error)) from error
    owners = [
        name for name, owner in corpus.organisations.items() if any(key.key == secret for key in owner.keys)
    ]
    rows = [
        Known(row.user_id, row.agent_id, row.app_id, row.group_ids, row.trigger_entities)
        for row in corpus.rows
        if row.type in ("lesson", "procedure") and (not owners or row.organisation in owners)
    ]
    return known(rows, f"fixtures ({', '.join(paths) or 'the shipped set'})")


def _of_probes(path: Path) -> Population:
    from trigger_contracts import probes

    try:
        written = probes.load(path)
    except probes.ProbeMistake as error:
        raise UnknownError(str(error)) from error
    rows = [
        Known(one.user_id, one.agent_id, one.app_id, one.group_ids, one.trigger_entities) for one in written
    ]
    found = known(rows, f"probes ({path.name})")
    if not found.rows:
        raise UnknownError(f"{path}: no probe has names that a request can carry")
    return found


def handed_down(secret: str) -> dict[str, str]:
    """Return the environment of a worker process on this machine."""
    return {**os.environ, HANDED_DOWN: secret}
