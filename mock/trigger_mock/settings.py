"""What a server can be told, apart from its data: one frozen value that the command line, the environment
and tests make.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trigger_mock.journal import SIZE
from trigger_mock.limits import Overrides

MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All defaults are those of the bare command.

    `limits`: what overrides the fixtures' rates and caps. `storage`: where requests are counted, `memory://`
    or `redis://…`. `body_limit`: bytes. `latency`: seconds, or `"realistic"`. `seed`: of the realistic
    latency. `allow_token_scheme`: whether `Authorization: Token <key>` counts as `Bearer`. `journal`: how
    many calls a bench's journal keeps; 0 keeps none. `fault_header`: whether a request of the bench `default`
    may ask for a fault by itself. `control`: whether the control plane is served;
    `control_token`: what it wants to hear, or empty to answer on this machine alone.
    """

    limits: Overrides = field(default_factory=Overrides)
    storage: str = "memory://"
    body_limit: int = MEBIBYTE
    latency: float | str = 0.0
    seed: int = 0
    allow_token_scheme: bool = False
    journal: int = SIZE
    fault_header: bool = False
    control: bool = True
    control_token: str = field(default="", repr=False)
