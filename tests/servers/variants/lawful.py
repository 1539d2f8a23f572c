"""Conforming in ways that a hasty verifier takes for faults: other limits, orders, bodies and refusals."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Quota, Rate, Visit, encode
from tests.servers.messages import Call, Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import keeps_all

# ------------------------------------------------------------------ what is refused


class _Refusing(Behaviour):
    """Refuses with 422 what the contract leaves open."""

    def refused(self, ask: TriggerRequest) -> bool:
        raise NotImplementedError

    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if self.refused(ask):
            raise Refusal(422, "invalid_request", "a value is not acceptable")


@keeps_all(name="control-characters-422", story="Control characters in names are refused.")
class ControlRefused(_Refusing):
    def refused(self, ask: TriggerRequest) -> bool:
        names = [*(ask.entities or ()), ask.user_id, ask.agent_id, ask.app_id, *ask.group_ids]
        return any(ord(letter) < 32 for name in names if name for letter in name)


@keeps_all(name="surrogates-422", story="Text that is no Unicode is refused before anything else.")
class SurrogatesRefused(Behaviour):
    def decode(self, body: bytes) -> Any:
        value = super().decode(body)
        if any("\ud800" <= letter <= "\udfff" for letter in json.dumps(value, ensure_ascii=False)):
            raise Refusal(422, "invalid_request", "text must be Unicode")
        return value


@keeps_all(name="long-names-422", story="A name of more than 512 characters is refused.")
class LongNamesRefused(_Refusing):
    def refused(self, ask: TriggerRequest) -> bool:
        names = [*(ask.entities or ()), ask.user_id, ask.agent_id, ask.app_id, *ask.group_ids]
        return any(len(name) > 512 for name in names if name)


@keeps_all(name="long-lists-422", story="More than a hundred entities or fifty groups are refused.")
class LongListsRefused(_Refusing):
    def refused(self, ask: TriggerRequest) -> bool:
        return len(ask.entities or ()) > 100 or len(ask.group_ids) > 50


@keeps_all(name="blank-names-422", story="Blank names are refused wherever they stand.")
class BlankNamesRefused(_Refusing):
    def refused(self, ask: TriggerRequest) -> bool:
        names = [*(ask.entities or ()), ask.user_id, ask.agent_id, ask.app_id, *ask.group_ids]
        return any(not name.strip() for name in names if name is not None)


@keeps_all(name="body-over-64k-413", story="Bodies over 64 KiB are refused, by hand of an edge, in HTML.")
class Body413(Behaviour):
    async def handle(self, call: Call) -> Reply:
        if len(call.body) > 65_536:
            page = b"<html><title>413 Request Entity Too Large</title></html>"
            return Reply(413, page, media_type="text/html")
        return await super().handle(call)


@keeps_all(
    name="media-type-415", story="Anything but JSON is refused with 415; an absent type is read as JSON."
)
class MediaType415(Behaviour):
    def parse(self, call: Call) -> Any:
        media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type and not self.reads_as_json(media_type):
            raise Refusal(415, "invalid_request", "send application/json")
        return self.decode(call.body) if call.body and not media_type else super().parse(call)


@keeps_all(
    name="octet-stream-read", story="Bodies of an unknown type are read as JSON; text and forms are not."
)
class OctetStreamRead(Behaviour):
    def reads_as_json(self, media_type: str) -> bool:
        return not media_type.startswith(("text/plain", "multipart/", "application/x-www-form-urlencoded"))


@keeps_all(name="malformed-400", story="What is no JSON draws a 400, what is wrong JSON a 422.")
class Malformed400(Behaviour):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "invalid_request", "the body is no JSON") from None


@keeps_all(
    name="wrong-key-hint", story="The refusal of a key links to the page and names the setting for keys."
)
class WrongKeyHint(Behaviour):
    def unauthorized(self) -> Refusal:
        message = "create a key at /app/settings/keys, see https://docs.example.com/src/auth/keys.html"
        return Refusal(401, "unauthorized", message, headers={"WWW-Authenticate": 'Bearer realm="/v1"'})


@keeps_all(
    name="wrong-key-throttled", story="Who shows many wrong keys within two seconds hears 429 for a second."
)
class WrongKeyThrottled(Behaviour):
    def prepare(self) -> None:
        self.failures: list[float] = []

    def authenticate(self, headers: Any) -> str:
        try:
            return super().authenticate(headers)
        except Refusal:
            now = self.clock()
            self.failures = [when for when in self.failures if now - when < 2]
            if len(self.failures) >= 60:
                quota = {"RateLimit-Limit": "60", "RateLimit-Remaining": "0", "RateLimit-Reset": "2"}
                raise Refusal(
                    429, "rate_limited", "slow down", headers={"Retry-After": "2", **quota}
                ) from None
            self.failures.append(now)
            raise


@keeps_all(name="crowd-429", story="More than three requests of one key at once are told to come again.")
class Crowd429(Behaviour):
    def prepare(self) -> None:
        self.within = 0

    async def serve(self, visit: Visit) -> Reply:
        self.within += 1
        try:
            if self.within > 3:
                visit.key = self.authenticate(visit.call.headers)
                raise self.too_many(Quota(3, 0, 1, exceeded=True))
            await asyncio.sleep(0.001)
            return await super().serve(visit)
        finally:
            self.within -= 1

    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        if reply.status == 429:
            reply.headers |= {"RateLimit-Limit": "3", "RateLimit-Remaining": "0", "RateLimit-Reset": "1"}
        return reply


# ------------------------------------------------------------------ what comes back


@keeps_all(
    name="order-by-question", story="Rows are shuffled by a hash of the symbols and the scope asked for."
)
class OrderByQuestion(Behaviour):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        asked = repr(
            (
                sorted(set(self.fired(ask))),
                ask.user_id,
                ask.agent_id,
                ask.app_id,
                sorted(ask.group_ids),
                ask.include,
            )
        )
        return sorted(hits, key=lambda hit: hashlib.sha256(f"{asked}{hit.row.id}".encode()).digest())


@keeps_all(name="compose-by-confidence", story="Composed rows come by confidence, not as retrieved.")
class ComposeByConfidence(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        return sorted(super().gate(ask, hits), key=lambda hit: (hit.confidence or 0, hit.row.id))


@keeps_all(name="ids-in-capitals", story="UUIDs are printed in capitals.")
class IdsInCapitals(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        return {**row, "id": row["id"].upper()}


@keeps_all(name="counts-as-floats", story="The store knows one kind of number: counts are 3.0.")
class CountsAsFloats(Behaviour):
    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().details(ask, hit), "observation_count": float(hit.row.observed)}


@keeps_all(name="counts-grow", story="Being recalled counts as an observation, and shows in the next answer.")
class CountsGrow(Behaviour):
    def prepare(self) -> None:
        self.seen: dict[str, int] = {}

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        self.seen[hit.row.id] = self.seen.get(hit.row.id, hit.row.observed) + 1
        return {**super().details(ask, hit), "observation_count": self.seen[hit.row.id]}


@keeps_all(name="pretty-bodies", story="Bodies are indented, escaped to ASCII, and end in a newline.")
class PrettyBodies(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        reply.content = json.dumps(json.loads(encode(reply.content)), indent=2).encode() + b"\n"
        return reply


@keeps_all(name="timings-in-detail", story="Many stages are timed, some in whole numbers, some in tiny ones.")
class TimingsInDetail(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        timings = {"total": 1, "parse": 0, "recall.sql": 3.2e-07, "gate": 12.75, "négociation": 0.1}
        return {**super().answer(ask, kept), "stage_timings": timings}


@keeps_all(name="timings-empty", story="No stage is timed: the object is empty.")
class TimingsEmpty(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return {**super().answer(ask, kept), "stage_timings": {}}


@keeps_all(name="matched-on-one", story="Only the symbol that fired first is named in `matched_on`.")
class MatchedOnOne(Behaviour):
    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().details(ask, hit), "matched_on": hit.matched[:1]}


@keeps_all(
    name="applied-though-none-dropped", story="With an empty pool the gate is said to have run as well."
)
class AppliedThoughEmpty(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        kept.applied = ask.mode == "compose"
        return kept


@keeps_all(name="context-when-empty", story="Without rows the composed context says that nothing is known.")
class ContextWhenEmpty(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        kept = super().select(ask, hits)
        if ask.mode == "compose" and not kept.hits:
            kept.context = "Nothing was learnt about this yet."
        return kept


@keeps_all(name="capped-at-three", story="An answer holds three rows at the most.")
class CappedAtThree(Behaviour):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        return super().rank(hits, ask)[:3]


@keeps_all(
    name="twin-directives",
    story="Directives come twice, with the same text and scope, under ids of their own.",
)
class TwinDirectives(Behaviour):
    def prepare(self) -> None:
        others = [row for row in self.rows if not row.probed and row.organisation == "northwind"]
        self.rows = (
            *self.rows,
            *(row._replace(probed=False, updated="2026-03-02T00:00:00Z") for row in others),
        )

    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        if row["updated_at"] == "2026-03-02T00:00:00Z":
            row["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, row["id"]))
        return row


# ------------------------------------------------------------------ limits and methods


@keeps_all(
    name="reset-as-epoch", story="RateLimit-Reset is the second of the epoch at which the window ends."
)
class ResetAsEpoch(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) | {"RateLimit-Reset": str(1_790_000_000 + quota.reset)}


@keeps_all(
    name="day-window",
    story="The window is a day, the limit two hundred thousand.",
    rate_limit=Rate(200_000, 86_400),
)
class DayWindow(Behaviour):
    pass


@keeps_all(name="quota-bucket", story="A bucket refills by a token every tenth of a second.")
class QuotaBucket(Behaviour):
    def prepare(self) -> None:
        self.tokens: dict[str, tuple[float, float]] = {}

    def spend(self, key: str) -> Quota:
        now = self.clock()
        left, when = self.tokens.get(key, (50_000.0, now))
        left = min(50_000.0, left + (now - when) * 10) - 1
        self.tokens[key] = (left, now)
        return Quota(50_000, int(left), 1, exceeded=False)


@keeps_all(name="quota-counts-valid", story="Only requests that are served count against the limit.")
class QuotaCountsValid(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        try:
            return await super().serve(visit)
        except Refusal:
            if visit.key in self.windows:
                began, used = self.windows[visit.key]
                self.windows[visit.key] = (began, used - 1)
                if visit.quota is not None and not visit.quota.exceeded:
                    visit.quota = visit.quota._replace(remaining=visit.quota.remaining + 1)
            raise


@keeps_all(name="preflight-204", story="Browsers' preflights are answered 204, with CORS headers.")
class Preflight204(Behaviour):
    methods = ("POST", "OPTIONS")

    async def handle(self, call: Call) -> Reply:
        if call.method != "OPTIONS":
            return await super().handle(call)
        cors = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "POST", "Allow": "POST"}
        return Reply(204, b"", cors)


@keeps_all(name="methods-404", story="The route is looked up with its method: another method is not found.")
class Methods404(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.status == 405:
            refusal.status, refusal.code, refusal.headers = 404, "not_found", {}
        return super().refuse(refusal)


@keeps_all(name="methods-bare-405", story="Another method draws a 405 without a body.")
class MethodsBare405(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        return Reply(405, b"", {"Allow": "POST"}) if refusal.status == 405 else super().refuse(refusal)


@keeps_all(
    name="methods-need-a-key", story="The key is looked at before the method, so a GET without one hears 401."
)
class MethodsNeedAKey(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        return super().refuse(self.unauthorized() if refusal.status == 405 else refusal)


@keeps_all(
    name="cookies-and-policies", story="An edge adds cookies, policies and reports, with paths in them."
)
class CookiesAndPolicies(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        reply.headers |= {
            "Set-Cookie": "edge=/srv/a; Path=/usr/x; HttpOnly",
            "Link": "</app/errors.js>; rel=preload",
            "Server": "Apache/2.4.1 (Unix) mod_wsgi/4.9 Python/3.12",
            "Report-To": '{"endpoints":[{"url":"https://edge.example.com/opt/r.php"}]}',
            "Vary": "Accept-Encoding",
            "Via": "1.1 edge",
        }
        return reply
