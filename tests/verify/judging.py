"""Judging one server of `tests.servers` in this process, with everything that a verifier may be given."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.servers.serving import Served
from trigger_contracts import probes
from trigger_contracts.engine import verify
from trigger_contracts.options import PROFILES, Options
from trigger_contracts.verdict import Verdict


def options_for(served: Served, folder: Path, profile: str = "quick", **changes: object) -> Options:
    """Both organisations' keys, the probe file, a fixed seed."""
    given = Options(
        base_url=served.url,
        api_key=served.key,
        other_api_key=served.other_key,
        limited_api_key=served.keys[1],
        probes=probes.load(served.write_probes(folder)),
        profile=PROFILES[profile],
        seed=1,
        max_wait=30,
    )
    return dataclasses.replace(given, **changes)  # type: ignore[arg-type]


def judge(served: Served, folder: Path, profile: str = "quick", **changes: object) -> Verdict:
    return verify(options_for(served, folder, profile, **changes))


def accused(verdict: Verdict) -> set[str]:
    """Every promise that the verdict calls broken or warns of."""
    return {one.id for one in verdict.outcomes if one.state in ("broken", "warned")}
