"""The published contract is left alone, and every state of it leads to one effective contract."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import trigger_contracts
from trigger_contracts.document import effective, published, published_bytes, repair, resolve
from trigger_contracts.regenerate import rendered

PUBLISHED_SHA256 = "b7f91b51a87af408fd1febebcf5ee97ccb30631ee62593c9b901794000c5b656"
DIRECTIVE_DETAILS = {"$ref": "#/components/schemas/DirectiveDetails"}

Document = dict[str, Any]


def one_of(document: Document) -> list[Any]:
    branches: list[Any] = resolve(document, "#/components/schemas/Memory/properties/details/oneOf")
    return branches


def as_published(document: Document) -> None:
    assert isinstance(one_of(document)[-1], str)


def with_the_reference_mended(document: Document) -> None:
    one_of(document)[-1] = DIRECTIVE_DETAILS


def with_the_reference_mended_and_defined(document: Document) -> None:
    one_of(document)[-1] = DIRECTIVE_DETAILS
    document["components"]["schemas"]["DirectiveDetails"] = {"type": "object", "required": ["matched_on"]}


def with_the_reference_moved_to_the_front(document: Document) -> None:
    one_of(document).pop()
    one_of(document).insert(0, DIRECTIVE_DETAILS)


def with_the_stray_entry_removed(document: Document) -> None:
    one_of(document).pop()


def with_two_stray_entries(document: Document) -> None:
    one_of(document).insert(0, "another\nstray text")


VARIANTS = [
    (as_published, {"D1", "D2", "D3", "D4", "D5", "D6", "D7"}),
    (with_the_reference_mended, {"D2", "D3", "D4", "D5", "D6", "D7"}),
    (with_the_reference_mended_and_defined, {"D2", "D3", "D4", "D5", "D6", "D7"}),
    (with_the_reference_moved_to_the_front, {"D2", "D3", "D4", "D5", "D6", "D7"}),
    (with_the_stray_entry_removed, {"D2", "D3", "D4", "D5", "D6", "D7"}),
    (with_two_stray_entries, {"D1", "D2", "D3", "D4", "D5", "D6", "D7"}),
]


def test_the_published_file_is_the_one_its_owner_published() -> None:
    assert hashlib.sha256(published_bytes()).hexdigest() == PUBLISHED_SHA256


def test_the_shipped_effective_document_is_in_step_with_the_overlay() -> None:
    shipped = Path(trigger_contracts.__file__).with_name("openapi.effective.json").read_text("utf-8")

    assert shipped == rendered(repair(published()).document)


@pytest.mark.parametrize(("change", "needed"), VARIANTS, ids=[change.__name__ for change, _ in VARIANTS])
def test_every_state_of_the_document_leads_to_the_same_contract(
    change: Callable[[Document], None], needed: set[str]
) -> None:
    document = published()
    change(document)

    repaired = repair(document)

    assert repaired.document == effective()
    assert {each.defect for each in repaired.repairs} == needed


def test_the_same_document_written_as_yaml_leads_to_the_same_contract(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text(yaml.safe_dump(published(), allow_unicode=True), encoding="utf-8")

    assert repair(trigger_contracts.read(file)).document == effective()


def test_the_effective_document_needs_no_repair() -> None:
    repaired = repair(effective())

    assert repaired.document == effective()
    assert repaired.repairs == ()


def test_a_repair_says_where_it_was_made_and_on_what_evidence() -> None:
    first = repair(published()).repairs[0]

    assert first.defect == "D1"
    assert first.pointers == ("#/components/schemas/Memory/properties/details/oneOf/3",)
    assert "Memory.type" in first.evidence


def test_repairing_leaves_the_given_document_alone() -> None:
    document = published()

    repair(document)

    assert document == json.loads(published_bytes())


def test_each_caller_gets_a_copy_of_its_own() -> None:
    effective()["paths"].clear()

    assert effective()["paths"]


@pytest.mark.parametrize("document", [{}, {"openapi": "3.1.0", "paths": []}, {"components": None}])
def test_a_document_without_the_endpoint_is_repaired_without_a_crash(document: Document) -> None:
    assert isinstance(repair(document).document, dict)


def test_importing_the_package_loads_no_tool() -> None:
    heavy = "flask jsonschema jsonschema_rs hypothesis schemathesis pytest yaml trigger_mock trigger_fixtures"
    script = f"import sys, trigger_contracts; print([m for m in {heavy.split()!r} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
