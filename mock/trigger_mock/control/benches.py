"""Benches over HTTP: make one, look at them, begin one anew, end one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from trigger_fixtures import ApiKey, Corpus, Organisation
from trigger_mock.benches import LIFETIME, Bench
from trigger_mock.control import PREFIX
from trigger_mock.control.fixture_schema import COMPONENT, corpus_of
from trigger_mock.control.room import Declined, Room, benches
from trigger_mock.journal import SIZE
from trigger_mock.json_values import whole

room = Room("benches")

_DAY = 86_400.0


class NewBench(BaseModel):
    """A bench to be made. Without `from` and `fixtures`: one organisation named like the bench, one key, no
    rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: (
        Annotated[str, Field(pattern="^[a-z0-9][a-z0-9._-]{0,63}$", description="Absent: a new one.")] | None
    ) = None
    start: Annotated[
        Literal["empty", "default"],
        Field(alias="from", description="`default`: as the server's own fixtures stand now."),
    ] = "empty"
    fixtures: (
        Annotated[
            dict[str, Any],
            Field(description="A document as in files; its keys are replaced by new ones."),
            WithJsonSchema({COMPONENT: "Fixtures.document"}),
        ]
        | None
    ) = None
    expires_after: Annotated[
        float, Field(ge=1, le=_DAY, description="Seconds without use after which it is gone.")
    ] = LIFETIME
    journal: Annotated[
        int, Field(ge=0, le=100_000, description="Calls that are kept."), BeforeValidator(whole)
    ] = SIZE
    fault_header: Annotated[
        bool, Field(description="Whether a request may ask for a fault by X-Trigger-Mock-Fault.")
    ] = False


class OrganisationMade(TypedDict):
    """An organisation and its keys."""

    name: str
    api_keys: list[str]


class BenchMade(TypedDict):
    """A bench just made. Its keys are told here and never again; `api_key` is the first of them."""

    name: str
    api_key: str
    organisations: list[OrganisationMade]
    expires_after: float
    url: str


class BenchShown(TypedDict):
    """A bench as it stands. `expires_after` is null for the one that never does."""

    name: str
    organisations: list[str]
    memories: int
    calls: int
    recorded: int
    expires_after: float | None
    url: str


class BenchList(TypedDict):
    """All benches, the server's own first."""

    benches: list[BenchShown]


@room.serve("GET", "/benches", answer=BenchList)
def list_benches() -> BenchList:
    """List the benches."""
    return {"benches": [show_bench(bench) for bench in benches()]}


@room.serve("POST", "/benches", body=NewBench, answer=BenchMade, status=201)
def make_bench(body: NewBench) -> BenchMade:
    """Make a bench: a world of its own that its keys lead to."""
    if body.fixtures is not None and body.start == "default":
        raise Declined(409, "conflict", "from and fixtures are both given; expected one of them")
    if body.fixtures is not None:
        corpus = corpus_of(body.fixtures)
    elif body.start == "default":
        corpus = benches().default.store.corpus
    else:
        owner = body.name or "bench"
        empty = Organisation(name=owner, keys=(ApiKey(key=""),))
        corpus = Corpus(organisations={owner: empty}, rows=(), sources=())
    bench = benches().open(
        corpus,
        name=body.name,
        lifetime=body.expires_after,
        journal=body.journal,
        fault_header=body.fault_header,
    )
    organisations = bench.store.organisations.values()
    return {
        "name": bench.name,
        "api_key": next(key.key for each in organisations for key in each.keys),
        "organisations": [
            {"name": each.name, "api_keys": [key.key for key in each.keys]} for each in organisations
        ],
        "expires_after": body.expires_after,
        "url": _url(bench),
    }


@room.serve("GET", "/benches/{bench}", answer=BenchShown)
def show_bench(bench: Bench) -> BenchShown:
    """Look at a bench."""
    return {
        "name": bench.name,
        "organisations": list(bench.store.organisations),
        "memories": len(bench.store.rows),
        "calls": len(bench.journal),
        "recorded": bench.journal.recorded,
        "expires_after": bench.lifetime,
        "url": _url(bench),
    }


@room.serve("DELETE", "/benches/{bench}")
def close_bench(bench: Bench) -> None:
    """End a bench: its keys are unknown from here on."""
    if bench.lifetime is None:
        raise Declined(409, "conflict", f"the bench {bench.name!r} lives as long as its server")
    benches().close(bench.name)


@room.serve("POST", "/benches/{bench}/reset")
def reset_bench(bench: Bench) -> None:
    """Begin a bench anew: rows as at its start, no calls, no faults, no counted requests, a clock that
    runs.
    """
    benches().reset(bench)


def _url(bench: Bench) -> str:
    return f"{PREFIX}/benches/{bench.name}"
