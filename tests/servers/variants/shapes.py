"""Wrong about what a 200 looks like: rows, ids, times, scores, timings."""

from __future__ import annotations

import uuid
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Visit, encode
from tests.servers.messages import Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks


class _Answer(Behaviour):
    """Changes the answer as a whole."""

    def spoil(self, answer: dict[str, Any]) -> None:
        raise NotImplementedError

    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        answer = super().answer(ask, kept)
        self.spoil(answer)
        return answer


class _Row(Behaviour):
    """Changes each row."""

    def spoil(self, row: dict[str, Any]) -> None:
        raise NotImplementedError

    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        self.spoil(row)
        return row


@breaks("SHAPE-1", name="data-missing", also="MATCH-6", story="Empty collections are left out of the JSON.")
class DataMissing(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        if not answer["data"]:
            del answer["data"]


@breaks("SHAPE-1", name="data-null", also="MATCH-6", story="An empty result is serialised as null.")
class DataNull(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["data"] = answer["data"] or None


@breaks(
    "SHAPE-1",
    "SHAPE-2",
    name="details-null",
    also="MATCH-5",
    story="Details of lessons are not loaded: null.",
)
class DetailsNull(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        if row["type"] == "lesson":
            row["details"] = None


@breaks("SHAPE-1", "SHAPE-2", name="details-list", also="MATCH-5", story="Details became a list of pairs.")
class DetailsList(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["details"] = [{"name": name, "value": value} for name, value in row["details"].items()]


@breaks(
    "SHAPE-2",
    name="legacy-ids",
    also="SHAPE-1",
    story="Rows from before the migration kept their numbered ids.",
)
class LegacyIds(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        if not hit.row.probed:
            row["id"] = f"mem_{self.rows.index(hit.row):08d}"
        return row


@breaks(
    "SHAPE-2", "ORDER-1", name="ids-per-call", also=SETS,
    story="Rows without a stored id get a fresh one on each read.",
)  # fmt: skip
class IdsPerCall(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        if not hit.row.probed:
            row["id"] = str(uuid.uuid4())
        return row


@breaks(
    "SHAPE-2",
    name="row-per-match",
    also="MATCH-4",
    story="The join yields one row for each entity that fired.",
)
class RowPerMatch(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        return super().select(ask, [hit for hit in hits for _ in hit.matched])


@breaks(
    "SHAPE-2",
    name="row-per-group",
    also="SCOPE-4",
    story="The join yields one row for each group that is shared.",
)
class RowPerGroup(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        times = [max(1, len(set(ask.group_ids) & set(hit.row.groups))) for hit in hits]
        return super().select(
            ask, [hit for hit, count in zip(hits, times, strict=True) for _ in range(count)]
        )


@breaks(
    "SHAPE-2",
    name="time-with-blank",
    also="SHAPE-1",
    story="created_at is printed by str(): a blank and no zone.",
)
class TimeWithBlank(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["created_at"] = row["created_at"].replace("T", " ").rstrip("Z")


@breaks("SHAPE-2", name="time-without-zone", also="SHAPE-1", story="Naive times are printed by isoformat().")
class TimeWithoutZone(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["updated_at"] = row["updated_at"].rstrip("Z")


@breaks("SHAPE-1", "SHAPE-2", name="time-as-number", story="updated_at is seconds since 1970.")
class TimeAsNumber(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["updated_at"] = 1_772_000_000


@breaks("SHAPE-1", name="groups-null", story="A row of no group has group_ids null.")
class GroupsNull(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["group_ids"] = row["group_ids"] or None


@breaks(
    "SHAPE-1", name="categories-string", story="Categories are sent as they are stored: joined by commas."
)
class CategoriesString(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["categories"] = ",".join(row["categories"])


@breaks("SHAPE-1", name="text-null", story="Procedures have a title in place of a text.")
class TextNull(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        if row["type"] == "procedure":
            row["text"] = None


@breaks("SHAPE-1", "SHAPE-2", name="object-list", story="The discriminator of list endpoints is sent.")
class ObjectList(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["object"] = "list"


@breaks("SHAPE-1", "SHAPE-2", name="object-per-type", story="A row's discriminator says its type: lesson.")
class ObjectPerType(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["object"] = row["type"]


@breaks("SHAPE-1", "MODE-6", name="confidence-word", story="Confidence became high, medium or low.")
class ConfidenceWord(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        if row["details"]["confidence"] is not None:
            row["details"]["confidence"] = "high"


@breaks("SHAPE-1", name="steps-text", story="The steps of a procedure are sent as one text.")
class StepsText(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        if row["details"]["steps"]:
            row["details"]["steps"] = "\n".join(row["details"]["steps"])


@breaks("SHAPE-1", name="observed-string", story="The counter comes out of the cache as a string.")
class ObservedString(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["details"]["observation_count"] = str(row["details"]["observation_count"])


@breaks(
    "SHAPE-1",
    "MODE-2",
    name="applied-string",
    story="Booleans are stringified on their way through the gateway.",
)
class AppliedString(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["context_selection_applied"] = str(answer["context_selection_applied"]).lower()


@breaks("SHAPE-1", name="ok-as-text", story="The cached body is sent again without its content type.")
class OkAsText(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        reply.media_type = "text/plain"
        return reply


@breaks(
    "SHAPE-3", name="timings-missing", also="SHAPE-1", story="Timings are kept for internal callers only."
)
class TimingsMissing(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        del answer["stage_timings"]


@breaks(
    "SHAPE-3", name="timings-negative", also="SHAPE-1", story="The clock that is subtracted is not monotonic."
)
class TimingsNegative(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["stage_timings"]["recall"] = -0.0003


@breaks("SHAPE-3", "SHAPE-1", name="timings-words", story="A stage that did not run reports the string NaN.")
class TimingsWords(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["stage_timings"]["gate"] = "NaN"


@breaks("SHAPE-3", "SHAPE-1", name="timings-null", story="A stage that did not run reports null.")
class TimingsNull(_Answer):
    def spoil(self, answer: dict[str, Any]) -> None:
        answer["stage_timings"]["gate"] = None


@breaks(
    "SHAPE-3",
    name="timings-nan",
    also="SHAPE-1",
    story="A mean over nothing is NaN, and json.dumps writes it.",
)
class TimingsNan(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        reply.content = encode(reply.content).replace(b'"recall":0.0004', b'"recall":NaN')
        return reply


@breaks("SHAPE-4", name="score-one", story="An exact match scores 1.0.")
class ScoreOne(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["score"] = 1.0


@breaks("SHAPE-4", name="score-zero", story="The float column defaults to 0.0.")
class ScoreZero(_Row):
    def spoil(self, row: dict[str, Any]) -> None:
        row["score"] = 0.0
