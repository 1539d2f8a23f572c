"""Benches over HTTP: make one, look at one, begin anew in one, end one.

The keys of a bench are told once, to whoever makes it.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from flask import Blueprint, current_app
from pydantic import BeforeValidator, Field, WithJsonSchema

from trigger_fixtures import ApiKey, Corpus, FixtureErrors, Organisation, load
from trigger_fixtures.rules import document_problems
from trigger_mock.benches import DEFAULT, LIFETIME, Bench, Benches
from trigger_mock.control import PREFIX
from trigger_mock.control.operations import Declined, Strict, operation, whole

routes = Blueprint("benches", __name__)

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
LONGEST_LIFE = 86_400
LARGEST_JOURNAL = 100_000

Fixtures = Annotated[dict[str, Any], WithJsonSchema({"$ref": "#/components/schemas/Fixtures"})]
Name = Annotated[str, Field(pattern=NAME, description="How the bench is called.")]


class NewBench(Strict):
    """A bench to be made. Without anything: one organisation, one key, no rows."""

    name: Name | None = Field(None, description="A free name; made up unless given.")
    start: Literal["default", "empty"] | None = Field(
        None,
        alias="from",
        description="`default` begins with what the server was started with, `empty` (unless given) with no "
        "rows and one organisation, named like the bench.",
    )
    fixtures: Fixtures | None = Field(
        None, description="Fixtures as in files, in place of `from`; their keys are replaced by new ones."
    )
    expires_after: Annotated[float, Field(ge=1, le=LONGEST_LIFE)] = Field(
        LIFETIME, description="Seconds without use after which it is gone."
    )
    journal: Annotated[int, Field(ge=0, le=LARGEST_JOURNAL), BeforeValidator(whole)] | None = Field(
        None, description="Calls that its journal keeps; as many as the default bench unless given."
    )
    fault_header: bool = Field(False, description="Whether clients may ask for a fault by header.")


class OrganisationKeys(Strict):
    """An organisation and its keys."""

    name: str
    api_keys: list[str]


class MadeView(Strict):
    """A bench that was made, with its keys: they are told here only."""

    name: str
    api_key: str = Field(description="A key of the first organisation.")
    organisations: list[OrganisationKeys]
    expires_after: float
    url: str = Field(description="Where the bench is found in the control plane.")


class OrganisationView(Strict):
    """An organisation, and how many keys it has."""

    name: str
    keys: int = Field(ge=0)


class JournalView(Strict):
    """How much the journal holds."""

    size: int = Field(ge=0, description="Calls that it keeps at most.")
    kept: int = Field(ge=0)
    recorded: int = Field(ge=0)


class BenchView(Strict):
    """A bench."""

    name: str
    organisations: list[OrganisationView]
    memories: int = Field(ge=0)
    journal: JournalView
    expires_after: float | None = Field(description="Seconds without use; null: never.")
    fault_header: bool
    url: str


class BenchesView(Strict):
    """All benches, the default one first."""

    benches: list[BenchView]


@routes.get("/benches")
@operation("List the benches.", answer=BenchesView)
def find() -> dict[str, Any]:
    """Those that live; being listed is no use of them."""
    return {"benches": [_shown(bench) for bench in _benches()]}


@routes.post("/benches")
@operation("Make a bench.", body=NewBench, body_required=False, answer=MadeView, status=201, errors=(409,))
def create(body: NewBench) -> dict[str, Any]:
    """Make a world of its own; using its key is all that a client needs to be in it."""
    benches = _benches()
    if body.fixtures is not None and body.start is not None:
        raise Declined(409, "conflict", "from and fixtures say the same thing; give one of them")
    name = body.name or f"bench-{secrets.token_hex(4)}"
    bench = benches.open(
        _corpus(benches, name, body),
        name=name,
        lifetime=float(body.expires_after),
        journal=body.journal,
        fault_header=body.fault_header,
    )
    organisations = [
        {"name": each.name, "api_keys": [key.key for key in each.keys]}
        for each in bench.store.organisations.values()
    ]
    return {
        "name": bench.name,
        "api_key": organisations[0]["api_keys"][0],
        "organisations": organisations,
        "expires_after": bench.lifetime,
        "url": _url(bench),
    }


@routes.get("/benches/<bench>")
@operation("Read a bench.", answer=BenchView, errors=(404,))
def read(bench: str) -> dict[str, Any]:
    """What it holds."""
    return _shown(_benches().named(bench))


@routes.delete("/benches/<bench>")
@operation("End a bench.", errors=(404, 409))
def close(bench: str) -> None:
    """End it: its keys are unknown from here on."""
    if bench == DEFAULT:
        raise Declined(409, "conflict", "the bench 'default' lives as long as its server; reset it instead")
    _benches().close(bench)


@routes.post("/benches/<bench>/reset")
@operation("Begin anew in a bench.", errors=(404,))
def reset(bench: str) -> None:
    """Rows and keys as at the start, no calls, no faults, nothing counted, and the clock runs with real
    time.
    """
    _benches().reset(bench)


def _corpus(benches: Benches, name: str, wanted: NewBench) -> Corpus:
    if wanted.fixtures is not None:
        return corpus_of(wanted.fixtures)
    if wanted.start == "default":
        return benches.default.store.origin
    return Corpus(organisations={name: Organisation(name=name, keys=(ApiKey(key=""),))}, rows=(), sources=())


def corpus_of(document: dict[str, Any]) -> Corpus:
    """Fixtures that came over HTTP, judged as files are. Raises `Declined` with every mistake."""
    wrong = any(document_problems(document))
    try:
        with tempfile.TemporaryDirectory(prefix="trigger-mock-") as folder:
            path = Path(folder, "fixtures.json")
            path.write_text(json.dumps(document), "utf-8")
            return replace(load(path), sources=())
    except FixtureErrors as errors:
        told = FixtureErrors(mistake._replace(file="fixtures", line=None) for mistake in errors.mistakes)
        # What a schema can say is wrong in itself; the rest are things that do not go together.
        status, code = (422, "invalid_fixtures") if wrong else (409, "conflict")
        raise Declined(status, code, str(told)) from None


def _benches() -> Benches:
    benches: Benches = current_app.extensions["trigger_mock"]
    return benches


def _url(bench: Bench) -> str:
    return f"{PREFIX}/benches/{bench.name}"


def _shown(bench: Bench) -> dict[str, Any]:
    return {
        "name": bench.name,
        "organisations": [
            {"name": each.name, "keys": len(each.keys)} for each in bench.store.organisations.values()
        ],
        "memories": len(bench.store.rows),
        "journal": {
            "size": bench.journal.size, "kept": len(bench.journal), "recorded": bench.journal.recorded
        },
        "expires_after": bench.lifetime,
        "fault_header": bench.fault_header,
        "url": _url(bench),
    }  # fmt: skip
