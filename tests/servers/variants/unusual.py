"""Conforming servers that look odd: none of them may be accused."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import random
from collections.abc import Iterator, Sequence
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Kept, Quota, Rate, Visit, encode
from tests.servers.data import Row
from tests.servers.messages import Refusal, Reply, TriggerRequest
from tests.servers.variants.fields import IncludeRepeated
from tests.servers.variants.registry import keeps_all

#: So narrow that a run meets it all the time, over so soon that it can wait for it all the time.
BRIEF = Rate(40, 1)


@keeps_all(name="422-envelopes", story="Field errors are put into the envelope as well.")
class Envelopes(Behaviour):
    def field_list(self, refusal: Refusal) -> dict[str, Any]:
        return self.envelope(refusal)


@keeps_all(name="422-field-lists", story="Cross-field rules are validators of the model: the field shape.")
class FieldLists(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        if refusal.status != 422:
            return super().envelope(refusal)
        return {"detail": [{"type": "value_error", "loc": ["body"], "msg": refusal.message}]}


@keeps_all(name="signals-union", story="Entities fire beside what the action yields.")
class SignalsUnion(Behaviour):
    def fired(self, ask: TriggerRequest) -> list[str]:
        return [*(ask.entities or ()), *self.extract(ask)]


@keeps_all(name="include-repeats-tolerated", story="A repeated type in `include` is one type.", also="VAL-10")
class RepeatsTolerated(Behaviour):
    model = IncludeRepeated


@keeps_all(name="include-empty-is-none", story="An empty `include` recalls nothing.")
class IncludeEmpty(Behaviour):
    def included(self, ask: TriggerRequest, row: Row) -> bool:
        return super().included(ask, row) and not ("include" in ask.model_fields_set and not ask.include)


@keeps_all(name="gate-random", story="The gate is a language model, and keeps other rows from call to call.")
class GateRandom(Behaviour):
    def prepare(self) -> None:
        self.dice = random.Random(3)

    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        kept = [hit for hit in hits if self.dice.random() < 0.6]
        for hit in kept:
            hit.because, hit.confidence = "It seems to help.", round(self.dice.random(), 2)
        return kept


@keeps_all(name="gate-keeps-nothing", story="The gate finds no row relevant, ever.")
class GateKeepsNothing(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        return []


@keeps_all(
    name="compose-fails-open",
    story="Without a model at hand all rows are kept, and the block is made of them.",
)
class ComposeFailsOpen(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        if ask.mode == "retrieve" or not hits:
            return Kept(hits)
        return Kept(hits, applied=False, context=self.context(ask, hits))


@keeps_all(name="no-quota-headers", story="RateLimit-* are sent with the 429 only.", rate_limit=BRIEF)
class NoQuotaHeaders(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return super().quota_headers(quota) if quota.exceeded else {}


@keeps_all(name="narrow-limit", story="The limit is narrow: 429s come often, and true.", rate_limit=BRIEF)
class NarrowLimit(Behaviour):
    pass


@keeps_all(name="no-limit", story="There is no rate limit, and no header speaks of one.")
class NoLimit(Behaviour):
    def spend(self, key: str) -> Quota:
        return Quota(0, 0, 0, exceeded=False)

    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {}


@keeps_all(name="extra-fields", story="Every object carries fields of a newer release.")
class ExtraFields(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return {**super().answer(ask, kept), "next_cursor": None, "usage": {"tokens": 0}}

    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().render(ask, hit), "namespace": "default", "links": []}

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().details(ask, hit), "supersedes": [], "source_role": None}

    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        detail = {**super().envelope(refusal)["detail"], "hint": "see the documentation", "doc_url": None}
        return {"detail": detail, "request_id": "r-1"}


@keeps_all(
    name="other-wording", story="Messages are in another language and codes beyond the promised ones differ."
)
class OtherWording(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        code = refusal.code if refusal.status in (401, 429) else "unprocessable"
        return {"detail": {"code": code, "message": "Die Anfrage wurde abgelehnt."}}


@keeps_all(name="other-key-order", story="Keys come sorted backwards.")
class OtherKeyOrder(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply.content = _backwards(reply.content)
        return super().finish(visit, reply)


def _backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _backwards(value[name]) for name in sorted(value, reverse=True)}
    return [_backwards(each) for each in value] if isinstance(value, list) else value


@keeps_all(name="other-headers", story="Header names are in lower case, with others of an edge beside them.")
class OtherHeaders(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        reply.headers = {name.lower(): value for name, value in reply.headers.items()}
        reply.headers |= {
            "via": "1.1 edge",
            "vary": "accept-encoding",
            "strict-transport-security": "max-age=600",
        }
        return reply


@keeps_all(name="other-content-type", story="The content type is spelt in capitals and has a charset.")
class OtherContentType(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply.media_type = 'Application/JSON; charset="UTF-8"'
        return super().finish(visit, reply)


@keeps_all(name="empty", story="Nothing has been stored yet.")
class Empty(Behaviour):
    def prepare(self) -> None:
        self.rows = ()


@keeps_all(name="capped", story="An answer holds five rows at the most.")
class Capped(Behaviour):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        return super().rank(hits, ask)[:5]


@keeps_all(name="absent-for-null", story="What is null is left out.")
class AbsentForNull(Behaviour):
    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return _without_null(super().answer(ask, kept))

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return _without_null(super().details(ask, hit))

    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return _without_null(super().render(ask, hit))


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if each is not None}


@keeps_all(name="context-table", story="The block is a table with its text wrapped in emphasis.")
class ContextTable(Behaviour):
    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        rows = [f"| {hit.row.type} | _{hit.row.text}_ |" for hit in hits]
        return "\n".join(["| kind | insight |", "| --- | --- |", *rows, ""])


@keeps_all(name="token-scheme", story="`Authorization: Token` is taken beside Bearer.")
class TokenScheme(Behaviour):
    def schemes(self) -> Sequence[str]:
        return ("bearer", "token")


@keeps_all(name="slow", story="Each answer takes thirty milliseconds.")
class Slow(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        await asyncio.sleep(0.03)
        return await super().serve(visit)


@keeps_all(name="connection-close", story="No connection is kept: each answer closes it.")
class ConnectionClose(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        reply.headers["Connection"] = "close"
        return reply


@keeps_all(name="gzip", story="Answers are compressed for who accepts that.")
class Gzip(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply = super().finish(visit, reply)
        if "gzip" in visit.call.headers.get("accept-encoding", "") and visit.call.method == "POST":
            reply.content = gzip.compress(encode(reply.content))
            reply.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return reply


@keeps_all(name="chunked", story="Answers are streamed in pieces, without a length.")
class Chunked(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        reply.streamed = True
        return super().finish(visit, reply)


@keeps_all(name="times-with-offset", story="Times carry microseconds and an offset.")
class TimesWithOffset(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = super().render(ask, hit)
        row["created_at"] = "2026-01-15T09:00:00.123456+01:00"
        row["updated_at"] = row["updated_at"].replace("Z", ".000001+00:00")
        return row


@keeps_all(name="times-absent", story="Rows from an import have no times.")
class TimesAbsent(Behaviour):
    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {**super().render(ask, hit), "created_at": None, "updated_at": None}


@keeps_all(name="body-before-key", story="The body is validated first: a bad key with a bad body hears 422.")
class BodyBeforeKey(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        ask = self.validate(self.parse(visit.call))
        self.require_signal(ask)
        self.require_scope(ask)
        return await super().serve(visit)


@keeps_all(name="extracts-more", story="Names without their ending and parts of dotted names fire as well.")
class ExtractsMore(Behaviour):
    def identifiers(self, text: str) -> Iterator[str]:
        for name in super().identifiers(text):
            yield name
            yield name.partition(".")[0]
            yield from name.split(".")


@keeps_all(name="extracts-less", story="Only whole values fire; nothing is cut to tokens.")
class ExtractsLess(Behaviour):
    def identifiers(self, text: str) -> Iterator[str]:
        yield text


@keeps_all(name="blank-scope-422", story="A blank scope value is refused, also beside another axis.")
class BlankRefused(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if "" in (ask.user_id, ask.agent_id, ask.app_id, *ask.group_ids):
            raise Refusal(422, "invalid_request", "a scope must not be blank")


_NEAR = (
    "Ledger_Sync.py",
    "ledger_sync.p",
    "edger_sync.py",
    " ledger_sync.py",
    "outboxcursor",
    "OUTBOXCURSOR",
    "tie_brea",
)


@keeps_all(
    name="near-miss-directives", story="Directives exist on the very near misses of the probed entities."
)
class NearMissDirectives(Behaviour):
    def prepare(self) -> None:
        model = next(row for row in self.rows if row.user == "mira-81")
        near = [
            model._replace(entities=(name,), text=f"About {name} itself.", probed=False, user=user)
            for name in _NEAR
            for user in ("mira-81", "otto-17")
        ]
        self.rows = (*self.rows, *near)


@keeps_all(name="other-order", story="The oldest comes first; the contract names no order of directives.")
class OtherOrder(Behaviour):
    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        return super().rank(hits, ask)[::-1]


@keeps_all(name="not-found-in-html", story="Other paths are another service's, and its 404 is a page.")
class NotFoundInHtml(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.status != 404:
            return super().refuse(refusal)
        return Reply(404, b"<h1>Not Found</h1>", media_type="text/html")


@keeps_all(name="because-without-confidence", story="The gate gives reasons and no numbers.")
class BecauseWithoutConfidence(Behaviour):
    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        return [dataclasses.replace(hit, confidence=None) for hit in super().gate(ask, hits)]
