"""The proof of bite: each wrong server is caught by a promise it breaks and accused of nothing it keeps.

Of wrong servers that break the same promises in the same part of the service, every run judges two; all of
them are judged with `TRIGGER_BITE=all` in the environment, which takes some fifteen minutes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers.serving import serving
from tests.servers.variants import BENIGN, VARIANTS, named
from tests.verify.judging import accused, judge

#: It answers as it should, and takes its time over it: the others teach the same in a tenth.
_PATIENT = {"slow"}


@pytest.mark.parametrize("name", [name for name in ("reference", *BENIGN) if name not in _PATIENT])
def test_a_conforming_server_is_accused_of_nothing(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with serving(name) as served:
        verdict = judge(served, tmp_path, "standard", max_wait=15)

    allowed = named(name).also  # a warning, where the contract itself is in two minds
    found = accused(verdict)
    assert found <= allowed, [one.evidence for one in verdict.of("broken") + verdict.of("warned")]
    record_property("accused of", " ".join(sorted(found)) or "nothing")


def judged() -> Iterator[str]:
    """The wrong servers of this run."""
    most = len(VARIANTS) if os.environ.get("TRIGGER_BITE") == "all" else 2
    kinds: Counter[tuple[str, frozenset[str]]] = Counter()
    for name, variant in VARIANTS.items():
        kind = variant.behaviour.__module__, variant.breaks
        kinds[kind] += 1
        if kinds[kind] <= most:
            yield name


@pytest.mark.parametrize("name", list(judged()))
def test_a_wrong_server_is_caught_by_what_it_breaks(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    variant = VARIANTS[name]
    limited = any(one.startswith("RATE-") for one in variant.breaks)
    found: set[str] = set()
    for profile in ("quick", "standard"):  # a quick look may overlook what is wrong in one value of many
        with serving(name, limit_one=limited) as served:
            found = accused(judge(served, tmp_path, profile, exhaust_rate_limit=limited, max_wait=10))
        if found & variant.breaks:
            break
    assert found & variant.breaks, (
        f"{name} breaks {sorted(variant.breaks)} and was accused of {sorted(found)}"
    )
    assert found <= variant.breaks | variant.also, (
        f"{name} was accused of {sorted(found - variant.breaks - variant.also)}"
    )
    note = "" if profile == "quick" else f" (under {profile})"
    record_property("caught by", " ".join(sorted(found)) + note)
