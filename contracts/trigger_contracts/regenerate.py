"""Writes `openapi.effective.json` anew after a change of the overlay.

Run it as `python -m trigger_contracts.regenerate`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trigger_contracts.document import published, repair


def rendered(document: Mapping[str, Any]) -> str:
    """Write a document as the shipped effective one is written."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the effective document beside this module."""
    target = Path(__file__).resolve().with_name("openapi.effective.json")
    target.write_text(rendered(repair(published()).document), encoding="utf-8")


if __name__ == "__main__":
    main()
