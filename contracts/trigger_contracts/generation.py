"""Generated requests: by Schemathesis from the effective contract, by Hypothesis for everything by
construction.

The bodies depend on the contract and the seed, never on the target, so a process generates them once; those
of Schemathesis's coverage phase depend on the contract alone, and are shipped beside it (`boundaries.json`),
which spares a quick look the time that drawing takes. Error feedback plays no part: constraints learnt from
a target's own messages are not the contract's.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from trigger_contracts import ahead
from trigger_contracts.document import ENDPOINT, effective, is_other
from trigger_contracts.promises import Broken, NotExercised
from trigger_contracts.run import smaller

#: The shipped boundary cases.
BOUNDARIES = "boundaries.json"
#: After a first failure so many more examples are spent on finding a smaller one.
_SHRINKING = 60


@dataclass(frozen=True, slots=True)
class Generated:
    """One body drawn from the contract's request schema."""

    value: Any
    positive: bool
    origin: str


def drive(strategy: Any, check: Callable[[Any], None], *, examples: int, seed: int) -> None:
    """Run a check over generated values; raise its smallest `Broken`, or why it could not judge."""
    hypothesis = _hypothesis()
    worst: Broken | None = None
    stopped: NotExercised | None = None
    failures = 0

    def run(value: Any) -> None:
        nonlocal worst, stopped, failures
        if stopped is not None or failures > _SHRINKING:
            return
        failures += worst is not None
        try:
            check(value)
        except NotExercised as reason:
            stopped = reason
        except Broken as broken:
            worst = smaller(worst, broken)
            raise

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        print_blob=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
    )
    try:
        hypothesis.seed(seed)(settings(hypothesis.given(strategy)(run)))()
    except (Broken, hypothesis.errors.HypothesisException, BaseExceptionGroup):
        # A failure that does not repeat is still one: what was seen is kept in `worst`.
        if worst is None:
            raise
    if worst is not None:
        raise worst
    if stopped is not None:
        raise stopped


@functools.cache
def _hypothesis() -> Any:
    """Hypothesis, told to keep its files out of the working directory unless the user chose a place."""
    import os

    import hypothesis
    from hypothesis import configuration

    if "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ and not Path(".hypothesis").exists():
        configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "trigger-verify-hypothesis")
    return hypothesis


@functools.lru_cache(maxsize=4)
def bodies(seed: int, amount: int) -> tuple[Generated, ...]:
    """Bodies valid and invalid by the schema (so many of each are drawn), and the boundary cases of
    Schemathesis's coverage phase.
    """
    known = () if is_other() else shipped()
    if known and not amount:
        return known
    made = ahead.take(seed, amount)
    if made is not None:
        return (*(Generated(**one) for one in made), *known)
    return (*generate(effective(), seed, amount, boundaries=not known), *known)


@functools.cache
def shipped() -> tuple[Generated, ...]:
    """The boundary cases of the effective contract, as they were made when it was."""
    text = (files("trigger_contracts") / BOUNDARIES).read_text("utf-8")
    return tuple(Generated(**one) for one in json.loads(text)["bodies"])


def generate(
    contract: Mapping[str, Any], seed: int, amount: int, *, boundaries: bool = True
) -> tuple[Generated, ...]:
    """Make these bodies from a contract, here and now; `boundaries` says whether with its boundary cases."""
    import schemathesis
    from schemathesis.config import SchemathesisConfig

    hypothesis = _hypothesis()
    from schemathesis.generation import GenerationMode

    schema = schemathesis.openapi.from_dict(dict(contract), config=SchemathesisConfig())
    operation = cast("Any", schema[ENDPOINT]["POST"])  # generic over what Schemathesis leaves unsaid
    found: dict[str, Generated] = {}

    def keep(case: Any, origin: str, *, positive: bool) -> None:
        body = _plain(case.body)
        if body is None:
            return
        text = json.dumps(body, sort_keys=True, default=str)
        if len(text) < 200_000:
            found.setdefault(text, Generated(body[0], positive, origin))

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        positive = mode is GenerationMode.POSITIVE
        if amount:
            settings = hypothesis.settings(
                max_examples=amount,
                database=None,
                deadline=None,
                phases=(hypothesis.Phase.generate,),
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            strategy = operation.as_strategy(generation_mode=mode)
            hypothesis.seed(seed)(settings(hypothesis.given(strategy)(_into(keep, positive=positive))))()
        if boundaries:
            for case in operation.schema.iter_coverage_cases(
                operation, generation_modes=[mode], generation_config=operation.schema.config.generation
            ):
                keep(case, "boundary of the schema", positive=positive)
    return tuple(found.values())


def _into(keep: Callable[..., None], *, positive: bool) -> Callable[[Any], None]:
    def collect(case: Any) -> None:
        keep(case, "drawn from the schema", positive=positive)

    return collect


def _plain(body: Any) -> tuple[Any] | None:
    """A case's body as a JSON value in a box, or None when it has none that JSON can carry."""
    from schemathesis.core import NOT_SET

    if body is NOT_SET or isinstance(body, bytes):
        return None
    value = getattr(body, "value", body)
    try:
        return (json.loads(json.dumps(value, allow_nan=False)),)
    except (TypeError, ValueError, RecursionError):
        return None
