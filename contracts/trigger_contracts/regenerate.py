"""Writes `openapi.effective.json` anew after a change of the overlay, and `boundaries.json`, the cases that
Schemathesis's coverage phase makes of it.

Run it as `python -m trigger_contracts.regenerate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trigger_contracts.document import published, repair


def rendered(document: Mapping[str, Any]) -> str:
    """Write a document as the shipped effective one is written."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def boundaries(contract: Mapping[str, Any]) -> str:
    """The boundary cases of a contract, as the shipped ones are written: one a line."""
    from trigger_contracts.generation import generate

    bodies = [json.dumps(asdict(one), sort_keys=True) for one in generate(contract, seed=0, amount=0)]
    maker = json.dumps(f"Schemathesis {version('schemathesis')}")
    return f'{{"made_by": {maker}, "bodies": [\n' + ",\n".join(bodies) + "\n]}\n"


def main() -> None:
    """Write both beside this module."""
    here = Path(__file__).resolve()
    document = repair(published()).document
    here.with_name("openapi.effective.json").write_text(rendered(document), encoding="utf-8")
    here.with_name("boundaries.json").write_text(boundaries(document), encoding="utf-8")


if __name__ == "__main__":
    main()
