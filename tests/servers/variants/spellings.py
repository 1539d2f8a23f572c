"""Wrong in the bytes: JSON that is none, headers that lie, ids of another mode, leaks in odd places."""

from __future__ import annotations

import uuid
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Quota, Rate, Visit, encode
from tests.servers.messages import Call, Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks

NARROW = Rate(40, 2)


class _Raw(Behaviour):
    """Sends the bytes of a 200 in another way."""

    def spoil(self, body: bytes, reply: Reply) -> bytes:
        raise NotImplementedError

    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        if reply.status == 200:
            reply.content = self.spoil(encode(reply.content), reply)
        return reply


@breaks(
    "SHAPE-1",
    name="counts-nan",
    also="ROB-2",
    story="A mean over nothing is written as NaN, which is no JSON.",
)
class CountsNan(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return body.replace(b'"observation_count":1,', b'"observation_count":NaN,')


@breaks(
    "SHAPE-1",
    name="trailing-comment",
    also=f"{SETS} MATCH-6",
    story="A proxy appends a comment for its own tracing.",
)
class TrailingComment(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return body + b"\n<!-- edge 7 -->"


@breaks(
    "SHAPE-1",
    name="jsonp-guard",
    also=f"{SETS} MATCH-6",
    story="Answers begin with )]}' against script inclusion.",
)
class JsonpGuard(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return b")]}'\n" + body


@breaks(
    "SHAPE-1",
    name="latin-1-bodies",
    also=SETS + " MODE-4",
    story="Answers are encoded in Latin-1 where a text has umlauts.",
)
class LatinBodies(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return body.replace(b"ledger", "lédger".encode("latin-1"))


@breaks(
    "SHAPE-1",
    name="ok-with-error-body",
    also=f"{SETS} MATCH-6 SHAPE-3 MODE-1",
    story="No rows are reported as an error body under a 200.",
)
class OkWithErrorBody(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return b'{"detail":{"code":"not_found","message":"nothing fired"}}' if b'"data":[]' in body else body


@breaks(
    "SHAPE-1",
    name="rows-null-among",
    also="MODE-5 MODE-8 " + SETS,
    story="A row that was deleted meanwhile is null in the list.",
)
class RowsNullAmong(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return body.replace(b'"data":[{', b'"data":[null,{')


class _Answered(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        answer = super().answer(ask, kept)
        self.change(ask, answer)
        return answer

    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        raise NotImplementedError


@breaks("SHAPE-1", name="flag-missing-when-empty", story="The flag is left out of an empty composed answer.")
class FlagMissingWhenEmpty(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        if not answer["data"]:
            answer["context_selection_applied"] = None


@breaks(
    "SHAPE-2",
    name="ids-per-mode",
    also="MODE-5 MODE-8",
    story="Composed rows carry the id of the gate's own record.",
)
class IdsPerMode(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        if ask.mode == "compose":
            for row in answer["data"]:
                row["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, row["id"]))


@breaks(
    "SHAPE-2",
    name="ids-per-type-asked",
    also="TYPE-2",
    story="With `include` given, rows carry the id of their type's table.",
)
class IdsPerTypeAsked(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        if ask.include:
            for row in answer["data"]:
                row["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, row["id"]))


@breaks("SHAPE-2", name="ids-urn", also="SHAPE-1 " + SETS, story="Ids are printed as URNs.")
class IdsUrn(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"]:
            row["id"] = f"urn:uuid:{row['id']}"


@breaks("SHAPE-2", name="time-offset-without-colon", also="SHAPE-1", story="strftime's %z has no colon.")
class TimeOffset(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"]:
            row["updated_at"] = row["updated_at"].replace("Z", "+0000")


@breaks(
    "SHAPE-2",
    name="confirmed-without-zone",
    also="SHAPE-1",
    story="Only last_confirmed_at comes from a column without a zone.",
)
class ConfirmedWithoutZone(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"]:
            row["details"]["last_confirmed_at"] = row["details"]["last_confirmed_at"].removesuffix("Z")


@breaks(
    "SHAPE-3",
    name="timings-nested",
    also="SHAPE-1",
    story="Timings are grouped by stage: objects within the object.",
)
class TimingsNested(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        answer["stage_timings"]["gate"] = {"queue": 0.1, "model": 0.2}


@breaks(
    "SHAPE-3",
    name="timings-overflow",
    also="SHAPE-1",
    story="A timeout is reported as infinity, under compose only.",
)
class TimingsOverflow(_Raw):
    def spoil(self, body: bytes, reply: Reply) -> bytes:
        return body.replace(b'"gate":0.0011', b'"gate":1e999')


@breaks("SHAPE-4", name="score-under-compose", story="The gate's own score is sent under compose.")
class ScoreUnderCompose(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"] if ask.mode == "compose" else ():
            row["score"] = 0.5


@breaks(
    "MATCH-5",
    name="matched-on-whole-under-compose",
    story="Under compose all triggers of the row are reported.",
)
class MatchedOnWhole(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"] if ask.mode == "compose" else ():
            row["details"]["matched_on"] = row["details"]["trigger_entities"]


@breaks("MATCH-5", name="matched-on-null", also="SHAPE-1", story="`matched_on` is null for procedures.")
class MatchedOnNull(_Answered):
    def change(self, ask: TriggerRequest, answer: dict[str, Any]) -> None:
        for row in answer["data"]:
            if row["type"] == "procedure":
                row["details"]["matched_on"] = None


@breaks(
    "SHAPE-2",
    name="rows-twice-under-compose",
    also="SHAPE-1",
    story="The gate's passes are joined without removing doubles.",
)
class RowsTwice(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        kept = super().gate(ask, hits)
        return kept + kept[:1]


# ------------------------------------------------------------------ errors


@breaks("ERR-2", name="trace-in-a-header", story="The stack of a refusal goes into a debug header.")
class TraceInAHeader(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        reply = super().refuse(refusal)
        reply.headers["X-Debug"] = 'File "/srv/app/handlers.py", line 88, in trigger'
        return reply


@breaks(
    "ERR-2",
    name="relative-path-in-422",
    story="The message names the module that refused, by its path in the repository.",
)
class RelativePath(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        try:
            super().require_scope(ask)
        except Refusal as refusal:
            raise Refusal(
                422, refusal.code, f"{refusal.message} (trigger_service/handlers/scope.py)"
            ) from None


@breaks("ERR-2", name="file-url-in-401", story="The message of the 401 names a key file by its URL.")
class FileUrl(Behaviour):
    def unauthorized(self) -> Refusal:
        return Refusal(401, "unauthorized", "no such key in file:///run/secrets/keys.db")


@breaks("ERR-2", name="java-trace-in-422", story="A gateway in Java adds its stack to what it refuses.")
class JavaTrace(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        body = super().envelope(refusal)
        body["detail"]["cause"] = "at com.acme.gateway.Filter.apply(Filter.java:88)"
        return body


@breaks("ERR-2", "ERR-1", name="empty-422", story="Malformed JSON is refused without a body.")
class Empty422(Behaviour):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except (ValueError, RecursionError):
            raise Refusal(422, "bare", "bare") from None

    def refuse(self, refusal: Refusal) -> Reply:
        reply = super().refuse(refusal)
        if refusal.code == "bare":
            reply.content = b""
        return reply


@breaks(
    "ERR-1",
    name="problem-json",
    also="ERR-2 AUTH-1 AUTH-2 AUTH-3",
    story="Refusals follow RFC 9457: application/problem+json.",
)
class ProblemJson(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        body = {
            "type": "about:blank",
            "title": refusal.code,
            "status": refusal.status,
            "detail": refusal.message,
        }
        return Reply(refusal.status, body, dict(refusal.headers), "application/problem+json")


@breaks("ERR-1", name="malformed-detail-string", story="Only malformed JSON is refused with a plain string.")
class MalformedDetailString(Behaviour):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except (ValueError, RecursionError):
            raise Refusal(422, "bare", "There was an error parsing the body") from None

    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": refusal.message} if refusal.code == "bare" else super().envelope(refusal)


# ------------------------------------------------------------------ rates


@breaks(
    "RATE-1",
    name="quota-twice",
    story="The gateway adds its own RateLimit-Remaining, in words, beside the service's.",
)
class QuotaTwice(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        if visit.quota is not None:
            reply.repeated.append(("RateLimit-Remaining", "unlimited"))
        return reply


@breaks("RATE-1", name="quota-with-window", story="The draft's form with a window is sent: `100;w=60`.")
class QuotaWithWindow(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Limit": f"{quota.limit};w={self.rate.seconds}"}


@breaks("RATE-1", name="quota-exponent", story="Large numbers are printed in scientific notation.")
class QuotaExponent(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Limit": f"{quota.limit:e}"}


@breaks("RATE-1", name="reset-negative", story="The reset is computed from a clock that is ahead.")
class ResetNegative(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Reset": str(quota.reset - 4000)}


@breaks("RATE-1", name="reset-fraction", story="The reset keeps its fraction of a second.")
class ResetFraction(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Reset": f"{quota.reset + 0.25}"}


@breaks(
    "RATE-1",
    name="quota-falls-per-connection",
    story="Each connection counts for itself, and each request begins anew.",
)
class QuotaStands(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Remaining": str(quota.limit)}


@breaks(
    "RATE-3",
    name="limit-per-organisation",
    needs="limit org2",
    rate_limit=NARROW,
    story="All keys of an organisation share one bucket.",
)
class LimitPerOrganisation(Behaviour):
    def allowance(self, key: str) -> Rate:
        return self.rate

    def meter(self, key: str) -> str:
        return self.organisation(key)


@breaks(
    "RATE-2",
    "ERR-1",
    name="429-empty",
    also="ERR-2",
    needs="limit",
    rate_limit=NARROW,
    story="The limiter at the edge sends no body.",
)
class Empty429(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        reply = super().refuse(refusal)
        if refusal.status == 429:
            reply.content = b""
        return reply


@breaks(
    "RATE-2",
    name="429-retry-after-negative",
    needs="limit",
    rate_limit=NARROW,
    story="The wait is computed from a clock that is ahead.",
)
class RetryNegative(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        refusal = super().too_many(quota)
        refusal.headers["Retry-After"] = "-1"
        return refusal


@breaks(
    "RATE-2",
    name="429-retry-after-unit",
    needs="limit",
    rate_limit=NARROW,
    story="The wait carries its unit: `2s`.",
)
class RetryUnit(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        refusal = super().too_many(quota)
        refusal.headers["Retry-After"] = f"{quota.reset}s"
        return refusal


@breaks(
    "RATE-2",
    name="200-for-429",
    also=f"{SETS} ERR-3 RATE-1 SHAPE-1 ROB-1 MATCH-6 MODE-1 SHAPE-3",
    needs="limit",
    rate_limit=NARROW,
    story="Over the limit an answer without rows and with a warning is sent, not to fail hooks.",
)
class Ok429(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        return Refusal(200, "rate_limited", "too many requests", headers={"Retry-After": str(quota.reset)})


# ------------------------------------------------------------------ methods


@breaks("HTTP-1", name="trace-served", story="The proxy answers TRACE by echoing the request.")
class TraceServed(Behaviour):
    methods = ("POST", "TRACE")

    async def handle(self, call: Call) -> Reply:
        if call.method == "TRACE":
            return self.finish(Visit(call), Reply(200, call.body or b"TRACE", media_type="message/http"))
        return await super().handle(call)


@breaks("HTTP-1", name="method-override", story="X-HTTP-Method-Override lets a GET be served as a POST.")
class MethodOverride(Behaviour):
    methods = ("POST", "GET")

    async def handle(self, call: Call) -> Reply:
        if call.method == "GET" and call.headers.get("x-http-method-override") != "POST":
            return self.finish(Visit(call), self.refuse(Refusal(405, "method_not_allowed", "POST only")))
        return await super().handle(call)


@breaks(
    "HTTP-1", name="invented-method-served", story="Every method that the router does not know is passed on."
)
class InventedMethodServed(Behaviour):
    methods = ("POST", "QUERY", "PURGE")


# ------------------------------------------------------------------ undeclared fields


class _Undeclared(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        return super().validate(self.heeded(value) if isinstance(value, dict) else value)

    def heeded(self, value: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@breaks(
    "VAL-9", name="camel-aliases", also="VAL-2", story="Fields are also read by their names in camel case."
)
class CamelAliases(_Undeclared):
    def heeded(self, value: dict[str, Any]) -> dict[str, Any]:
        names = {"userId": "user_id", "agentId": "agent_id", "appId": "app_id", "groupIds": "group_ids"}
        return {names.get(name, name): inner for name, inner in value.items()}


@breaks(
    "VAL-9",
    name="names-in-any-case",
    also="MODE-1",
    story="Field names are matched whatever their case, as some parsers do.",
)
class NamesInAnyCase(_Undeclared):
    def heeded(self, value: dict[str, Any]) -> dict[str, Any]:
        return {name.lower(): inner for name, inner in value.items()}


@breaks(
    "VAL-9", name="limit-is-checked", story="`limit` is not used yet and checked already: an integer from 1."
)
class LimitIsChecked(_Undeclared):
    def heeded(self, value: dict[str, Any]) -> dict[str, Any]:
        limit = value.get("limit", 1)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise Refusal(422, "invalid_request", "limit must be a positive integer")
        return value


@breaks(
    "VAL-9",
    name="fields-project",
    also="SHAPE-1 MATCH-5",
    story="`fields` cuts rows down, as in the list endpoints.",
)
class FieldsProject(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        fields = self.decode(visit.call.body).get("fields")
        if isinstance(fields, list) and fields:
            for row in reply.content["data"]:
                for name in [name for name in row if name not in fields]:
                    del row[name]
        return reply


@breaks(
    "VAL-9",
    name="stream-streams",
    also="SHAPE-1",
    story="`stream: true` makes the answer an event stream.",
)
class StreamStreams(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        if self.decode(visit.call.body).get("stream") is True:
            return Reply(200, b"data: " + encode(reply.content) + b"\n\n", media_type="text/event-stream")
        return reply
