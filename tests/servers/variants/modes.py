"""Wrong about `retrieve` and `compose`: the echo, the context, the gate's own fields."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept
from tests.servers.data import Row
from tests.servers.messages import TriggerRequest
from tests.servers.variants.registry import breaks


@breaks("MODE-1", name="echo-compose", story="The echo is the default of the response model.")
class EchoCompose(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return {**super().answer(ask, kept), "mode": "compose"}


@breaks("MODE-1", name="default-retrieve", story="The default was changed to the cheaper mode.")
class DefaultRetrieve(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        ask = super().validate(value)
        return ask if "mode" in ask.model_fields_set else ask.model_copy(update={"mode": "retrieve"})


@breaks(
    "MODE-1", name="echo-stale", story="The echo comes from a variable that is set after the answer is built."
)
class EchoStale(Behaviour):
    def prepare(self) -> None:
        self.last = "compose"

    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        answer = {**super().answer(ask, kept), "mode": self.last}
        self.last = ask.mode
        return answer


@breaks("MODE-1", "SHAPE-1", name="echo-missing", story="The echo is left out when it is the default.")
class EchoMissing(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        answer = super().answer(ask, kept)
        if ask.mode == "compose":
            del answer["mode"]
        return answer


@breaks(
    "MODE-2",
    name="context-under-retrieve",
    also="SHAPE-1",
    story="The block is assembled before the mode is looked at.",
)
class ContextUnderRetrieve(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        return dataclasses.replace(kept, context=self.context(ask, kept.hits) if kept.hits else None)


@breaks("MODE-2", name="context-empty-under-retrieve", also="SHAPE-1", story="No context is an empty string.")
class ContextEmptyUnderRetrieve(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        answer = super().answer(ask, kept)
        if ask.mode == "retrieve":
            answer["context"] = ""
        return answer


@breaks(
    "MODE-2",
    name="applied-under-retrieve",
    also="SHAPE-1",
    story="The flag says that the pipeline ran at all.",
)
class AppliedUnderRetrieve(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return {**super().answer(ask, kept), "context_selection_applied": True}


class _Retrieved(Behaviour):
    """Changes the details under `retrieve`."""

    def retrieved(self, hit: Hit) -> dict[str, Any]:
        raise NotImplementedError

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        details = super().details(ask, hit)
        return details | self.retrieved(hit) if ask.mode == "retrieve" else details


@breaks(
    "MODE-3", name="gated-under-retrieve", also="SHAPE-1", story="The gate's verdicts are cached on the row."
)
class GatedUnderRetrieve(_Retrieved):
    def retrieved(self, hit: Hit) -> dict[str, Any]:
        return {"because": f"It fired on {hit.matched[0]}.", "confidence": 0.8}


@breaks(
    "MODE-3",
    name="confidence-zero-under-retrieve",
    also="SHAPE-1",
    story="No verdict yet is a confidence of 0.",
)
class ConfidenceZero(_Retrieved):
    def retrieved(self, hit: Hit) -> dict[str, Any]:
        return {"confidence": 0.0}


@breaks("MODE-3", name="because-empty-under-retrieve", also="SHAPE-1", story="No reason is an empty string.")
class BecauseEmpty(_Retrieved):
    def retrieved(self, hit: Hit) -> dict[str, Any]:
        return {"because": ""}


@breaks(
    "MODE-4",
    name="compose-context-null",
    also="MODE-7",
    story="The LLM's answer was empty and nobody noticed.",
)
class ComposeContextNull(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> Any:
        return None


@breaks(
    "MODE-4", name="compose-context-empty", also="MODE-7", story="The template renders to an empty string."
)
class ComposeContextEmpty(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        return ""


@breaks(
    "MODE-4", name="compose-context-without-task", also="MODE-7", story="Without a task the block is skipped."
)
class ComposeContextWithoutTask(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> Any:
        return super().context(ask, hits) if ask.task else None


@breaks(
    "MODE-5",
    name="compose-adds-neighbours",
    also="MATCH-5",
    story="Compose widens its pool to rows near the matched ones.",
)
class ComposeAdds(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        organisation, found = hits[0].row.organisation, {hit.row for hit in hits}
        near = [
            Hit(row, list(row.entities[:1]))
            for row in self.rows
            if row not in found
            and self.owned(organisation, row, ask)
            and self.admits(ask, row)
            and self.included(ask, row)
        ]
        return super().gate(ask, hits + near[:2])


@breaks(
    "MODE-5",
    name="compose-other-types",
    also="TYPE-2",
    story="Compose forgets to pass `include` on to recall.",
)
class ComposeOtherTypes(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        if ask.mode == "compose":
            return row.type in ("lesson", "procedure")
        return super().included(ask, row)


class _Confident(Behaviour):
    """Has its own scale of confidence."""

    def confidence(self, value: float) -> float:
        raise NotImplementedError

    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        kept = super().gate(ask, hits)
        for hit in kept:
            hit.confidence = self.confidence(hit.confidence or 0.5)
        return kept


@breaks(
    "MODE-6", name="confidence-percent", also="SHAPE-1", story="The model was told to answer in per cent."
)
class ConfidencePercent(_Confident):
    def confidence(self, value: float) -> float:
        return round(value * 100)


@breaks(
    "MODE-6", name="confidence-logit", also="SHAPE-1", story="The raw logit is sent, which may be negative."
)
class ConfidenceLogit(_Confident):
    def confidence(self, value: float) -> float:
        return value - 1.2


@breaks("MODE-7", name="context-lacks-a-row", story="The block is cut to a budget, the rows are not.")
class ContextLacksARow(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        return super().context(ask, hits[:-1] if len(hits) > 1 else hits)


@breaks(
    "MODE-8",
    name="dropped-yet-not-applied",
    story="The flag is set by the LLM client, which a cache bypasses.",
)
class DroppedYetNotApplied(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        return dataclasses.replace(super().select(ask, hits), applied=False)


@breaks(
    "MODE-8",
    name="failed-gate-drops-all",
    story="When the gate fails, everything is dropped: closed, not open.",
)
class FailedGateDropsAll(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        return Kept([]) if ask.mode == "compose" else super().select(ask, hits)
