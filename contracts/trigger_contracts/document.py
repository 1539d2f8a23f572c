"""The contract: as published, and as it takes effect once its defects are repaired.

`published()` is the file as its owner wrote it, never edited. `effective()` is the published file with the
repairs of `overlay.yaml` applied (D1 to D7, each with its evidence there), generated once and shipped, so
that reading it needs nothing but `json`. The mock, the contract suite and the load tests all judge by it.

After a change of the overlay: `python -m trigger_contracts.regenerate`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from trigger_contracts.endpoint import ENDPOINT
from trigger_contracts.overlay import Action, actions, apply
from trigger_contracts.pointer import pointer, resolve
from trigger_contracts.reading import UnreadableDocument, parse, read, text_of

__all__ = [
    "ENDPOINT",
    "Repair",
    "Repaired",
    "UnreadableDocument",
    "effective",
    "published",
    "published_bytes",
    "read",
    "repair",
    "resolve",
]

_PUBLISHED = "openapi.public.json"
_EFFECTIVE = "openapi.effective.json"
_OVERLAY = "overlay.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A defect that a document had, where it was mended, and why."""

    defect: str
    pointers: tuple[str, ...]
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A document with every defect mended, and the repairs that this took."""

    document: dict[str, Any]
    repairs: tuple[Repair, ...]


def published_bytes() -> bytes:
    """Return the published contract, byte for byte."""
    shipped = files("trigger_contracts") / _PUBLISHED
    if shipped.is_file():
        return shipped.read_bytes()
    # A checkout keeps it at its root; the wheel carries it inside the package.
    return (Path(__file__).resolve().parents[2] / _PUBLISHED).read_bytes()


def judge_by(path: str | Path | None) -> tuple[Repair, ...]:
    """Let another document take effect in this process, once mended (None: the published one again); the
    repairs that this took.
    """
    if path is None:
        _judged_by.clear()
        return ()
    text = text_of(path)
    mended = repair(parse(text, str(path)))
    _judged_by[:] = [(text, json.dumps(mended.document))]
    return mended.repairs


def is_other() -> bool:
    """Whether another document than the published one is in effect."""
    return bool(_judged_by)


def source() -> str:
    """Return the text of the document that is in effect, before its repair."""
    return _judged_by[0][0] if _judged_by else published_bytes().decode()


def published() -> dict[str, Any]:
    """Return the published contract, defects and all."""
    document: dict[str, Any] = json.loads(published_bytes())
    return document


def effective() -> dict[str, Any]:
    """Return a fresh copy of the contract with its defects repaired."""
    document: dict[str, Any] = json.loads(_judged_by[0][1] if _judged_by else _effective_text())
    return document


def repair(document: Mapping[str, Any]) -> Repaired:
    """Mend the defects of a contract document, whether it has all of them, some, or none."""
    mended: dict[str, Any] = copy.deepcopy(dict(document))
    repairs: list[Repair] = []
    for defect, group in _repairs().items():
        before = copy.deepcopy(mended)
        places = [pointer(path) for action in group for path in apply(mended, action)]
        if mended != before:
            repairs.append(
                Repair(
                    defect=defect,
                    pointers=tuple(dict.fromkeys(places)),
                    evidence=" ".join(action.description.removeprefix(f"{defect}. ") for action in group),
                )
            )
    return Repaired(document=mended, repairs=tuple(repairs))


#: The text of another document that is in effect, and the same mended as JSON; empty: the published one.
_judged_by: list[tuple[str, str]] = []


@cache
def _effective_text() -> str:
    return (files("trigger_contracts") / _EFFECTIVE).read_text("utf-8")


@cache
def _repairs() -> dict[str, tuple[Action, ...]]:
    """The overlay's actions by the defect that each description opens with."""
    import yaml  # only a repair needs it: the effective document is shipped as JSON

    found = actions(yaml.safe_load((files("trigger_contracts") / _OVERLAY).read_text("utf-8")))
    groups: dict[str, tuple[Action, ...]] = {}
    for action in found:
        defect = action.description.split(".", 1)[0]
        groups[defect] = (*groups.get(defect, ()), action)
    return groups
