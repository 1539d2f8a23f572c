"""Every server that is deliberately wrong, and every one that only looks it.

`VARIANTS` breaks promises; `BENIGN` keeps them all in an unusual way.
"""

from __future__ import annotations

from tests.servers.variants import (  # noqa: F401  (each registers its variants)
    bodies,
    conditional,
    fields,
    lawful,
    likeness,
    matches,
    methods,
    modes,
    orders,
    rates,
    refusals,
    remembered,
    scopes,
    shapes,
    spellings,
    unusual,
    who,
)
from tests.servers.variants.registry import Variant, benign, wrong

__all__ = ["BENIGN", "REFERENCE", "VARIANTS", "Variant", "named"]

REFERENCE = Variant("reference", "The conforming service itself.")
VARIANTS: dict[str, Variant] = wrong
BENIGN: dict[str, Variant] = benign


def named(name: str) -> Variant:
    """The variant of that name; `reference` is the conforming service."""
    if name == REFERENCE.name:
        return REFERENCE
    return VARIANTS[name] if name in VARIANTS else BENIGN[name]
