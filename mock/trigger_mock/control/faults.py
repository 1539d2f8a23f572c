"""The faults of a bench over HTTP: have one, look at them and at how often they struck, take them back."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from trigger_mock.benches import Bench
from trigger_mock.control.masking import mask_of
from trigger_mock.control.room import Declined, Room
from trigger_mock.credentials import Caller
from trigger_mock.fault_kinds import Fault, Whole
from trigger_mock.faults import Rule, TooManyFaults
from trigger_mock.matching import RequestMatch
from trigger_mock.presets import PRESETS

room = Room("faults")


def _either(name: str, other: str) -> dict[str, Any]:
    return {
        "required": [name],
        "properties": {name: {"not": {"type": "null"}}, other: {"type": "null"}},
    }


class NewFault(BaseModel):
    """A fault to be had, or a preset by its name, and which calls it is for."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"oneOf": [_either("preset", "fault"), _either("fault", "preset")]},
    )

    preset: (
        Annotated[str, Field(description="One of the presets.", json_schema_extra={"enum": [*PRESETS]})]
        | None
    ) = None
    fault: Fault | None = None
    match: (
        Annotated[RequestMatch, Field(description="Which requests; wins over what a preset says.")] | None
    ) = None
    api_key: Annotated[str, Field(description="One key of the bench. Never shown again.")] | None = None
    times: Annotated[int, Field(ge=1, le=1_000_000_000, description="How often at most."), Whole] | None = (
        None
    )
    probability: Annotated[float, Field(ge=0, le=1, description="How likely, for each call.")] | None = None
    seed: Annotated[
        int, Field(ge=-(2**53), le=2**53, description="Of all that is left to chance."), Whole
    ] = 0


class FaultShown(TypedDict):
    """A fault and which calls it is for. `key` tells which key, `acme/0` being the first of acme; `meant` and
    `struck` how many calls it was for, and how many of them it met.
    """

    id: str
    preset: str | None
    fault: dict[str, Any]
    match: dict[str, Any]
    key: str | None
    times: int | None
    probability: float | None
    seed: int
    meant: int
    struck: int


class FaultList(TypedDict):
    """All faults, the oldest first; of those that mean a call the newest wins."""

    faults: list[FaultShown]


class PresetShown(TypedDict):
    """A preset."""

    name: str
    summary: str
    fault: dict[str, Any]
    match: dict[str, Any]
    probability: float | None


class PresetList(TypedDict):
    """All presets."""

    presets: list[PresetShown]


@room.serve("GET", "/presets", answer=PresetList)
def list_presets() -> PresetList:
    """List the presets."""
    return {
        "presets": [
            {
                "name": preset.name,
                "summary": preset.summary,
                "fault": _said(preset.fault),
                "match": _said(preset.match),
                "probability": preset.probability,
            }
            for preset in PRESETS.values()
        ]
    }


@room.serve("GET", "/benches/{bench}/faults", answer=FaultList)
def list_faults(bench: Bench) -> FaultList:
    """List the faults."""
    return {"faults": [_shown(bench, rule) for rule in bench.faults]}


@room.serve("POST", "/benches/{bench}/faults", body=NewFault, answer=FaultShown, status=201)
def add_fault(bench: Bench, body: NewFault) -> FaultShown:
    """Have a fault."""
    if (body.preset is None) == (body.fault is None):
        raise Declined(422, "invalid_request", "expected either preset or fault")
    place = None if body.api_key is None else _place(bench, body.api_key)
    fault, match, probability = body.fault, body.match, body.probability
    if body.preset is not None:
        preset = PRESETS.get(body.preset)
        if preset is None:
            raise Declined(422, "invalid_request", f"preset is unknown; expected one of {', '.join(PRESETS)}")
        fault = preset.fault
        match = _merged(preset.match, match)
        probability = preset.probability if probability is None else probability
    assert fault is not None  # noqa: S101 - one of the two is there
    try:
        rule = bench.faults.add(
            fault, match=match, place=place, times=body.times, probability=probability, seed=body.seed,
            preset=body.preset,
        )  # fmt: skip
    except TooManyFaults as error:
        raise Declined(409, "conflict", str(error)) from None
    return _shown(bench, rule)


@room.serve("DELETE", "/benches/{bench}/faults")
def remove_faults(bench: Bench) -> None:
    """Take all faults back; what they hold up ends at once, a call that hangs without an answer."""
    bench.faults.clear()


@room.serve("GET", "/benches/{bench}/faults/{fault}", answer=FaultShown)
def show_fault(bench: Bench, fault: str) -> FaultShown:
    """Look at one fault."""
    rule = bench.faults.find(fault)
    if rule is None:
        raise _unknown(bench, fault)
    return _shown(bench, rule)


@room.serve("DELETE", "/benches/{bench}/faults/{fault}")
def remove_fault(bench: Bench, fault: str) -> None:
    """Take one fault back; what it holds up ends at once, a call that hangs without an answer."""
    if not bench.faults.remove(fault):
        raise _unknown(bench, fault)


def _unknown(bench: Bench, identity: str) -> Declined:
    return Declined(404, "not_found", f"the bench {bench.name!r} has no fault {identity!r}")


def _place(bench: Bench, api_key: str) -> str:
    for organisation in bench.store.organisations.values():
        for key in organisation.keys:
            if key.key == api_key:
                return Caller(bench, organisation, key).place
    raise Declined(404, "not_found", f"api_key is none of the keys of the bench {bench.name!r}")


def _merged(preset: RequestMatch | None, given: RequestMatch | None) -> RequestMatch | None:
    if preset is None or given is None:
        return given or preset
    return preset.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


def _shown(bench: Bench, rule: Rule) -> FaultShown:
    shown: FaultShown = {
        "id": rule.id,
        "preset": rule.preset,
        "fault": _said(rule.fault),
        "match": _said(rule.match),
        "key": rule.place,
        "times": rule.times,
        "probability": rule.probability,
        "seed": rule.seed,
        "meant": rule.meant,
        "struck": rule.struck,
    }
    # A client may have put a key anywhere.
    masked: FaultShown = orjson.loads(mask_of(bench)(orjson.dumps(shown).decode()))
    return masked


def _said(value: BaseModel | None) -> dict[str, Any]:
    return {} if value is None else value.model_dump(mode="json", exclude_none=True)
