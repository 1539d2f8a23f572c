"""What a conforming service does, one overridable step each, so that a wrong one is a step away.

Written from the contract alone, not from the mock: `Behaviour.serve` is the order of the steps. A variant
subclasses and overrides the step in which a real bug would sit. Knows nothing of FastAPI or sockets.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from tests.servers.data import KEYS, ROWS, Row
from tests.servers.messages import Call, Refusal, Reply, TriggerRequest

#: Larger bodies are refused; they are read to their end first, so that the client hears it.
BODY_LIMIT = 1 << 20

_WORD = re.compile(r"\w+")
_PIECES = re.compile(r"[\s=:,;()\[\]{}\"'`<>]+")
_SANE_ID = re.compile(r"[\w.\-]{1,128}", re.ASCII)


class Rate(NamedTuple):
    """At most `amount` requests in any one window of `seconds`, for each key."""

    amount: int
    seconds: int


#: Wide enough that no run of the suite meets it.
UNLIMITED = Rate(1_000_000, 3600)


class Quota(NamedTuple):
    """Where a key stands in its window."""

    limit: int
    remaining: int
    reset: int
    exceeded: bool


@dataclass(slots=True)
class Hit:
    """A row that fired, with why."""

    row: Row
    matched: list[str]
    because: str | None = None
    confidence: float | None = None


@dataclass(slots=True)
class Kept:
    """What the gate left, and whether it ran."""

    hits: list[Hit]
    applied: bool = False
    context: str | None = None


@dataclass(slots=True)
class Visit:
    """What is known so far about the call being served."""

    call: Call
    key: str | None = None
    quota: Quota | None = None
    ask: TriggerRequest | None = None


@dataclass
class Behaviour:
    """The conforming service."""

    rate: Rate = UNLIMITED
    rows: Sequence[Row] = ROWS
    windows: dict[str, tuple[float, int]] = field(default_factory=dict)
    spared: frozenset[str] = frozenset()  # keys whose limit nobody meets

    model: ClassVar[type[TriggerRequest]] = TriggerRequest
    methods: ClassVar[tuple[str, ...]] = ("POST",)
    clock = staticmethod(time.monotonic)

    def __post_init__(self) -> None:
        self.prepare()

    def prepare(self) -> None:
        """Where a variant sets up the state of its mistake."""

    # ---------------------------------------------------------------- the whole

    async def handle(self, call: Call) -> Reply:
        """Answer one call, whatever happens."""
        visit = Visit(call)
        try:
            reply = await self.serve(visit)
        except Refusal as refusal:
            reply = self.refuse(refusal)
        return self.finish(visit, reply)

    async def serve(self, visit: Visit) -> Reply:
        """The order of refusals, then recall, gate and answer."""
        if len(visit.call.body) > BODY_LIMIT:
            raise Refusal(413, "invalid_request", f"body exceeds {BODY_LIMIT} bytes")
        visit.key = self.authenticate(visit.call.headers)
        visit.quota = self.spend(visit.key)
        if visit.quota.exceeded:
            raise self.too_many(visit.quota)
        visit.ask = ask = self.validate(self.parse(visit.call))
        self.require_signal(ask)
        self.require_scope(ask)
        hits = self.recall(self.organisation(visit.key), ask)
        kept = self.select(ask, hits)
        return Reply(200, self.answer(ask, kept))

    # ---------------------------------------------------------------- who

    def authenticate(self, headers: Mapping[str, str]) -> str:
        """The key of the caller; `x-api-key` and `Bearer` must agree when both are sent."""
        offered = [key for key in (headers.get("x-api-key"), self.bearer(headers)) if key is not None]
        if not offered or len(set(offered)) > 1 or not self.known(offered[0]):
            raise self.unauthorized()
        return offered[0]

    def bearer(self, headers: Mapping[str, str]) -> str | None:
        """The key of the `Authorization` header; another scheme counts as an unknown key."""
        header = headers.get("authorization")
        if header is None:
            return None
        scheme, _, key = header.partition(" ")
        return key.strip() if scheme.lower() in self.schemes() else ""

    def schemes(self) -> Sequence[str]:
        return ("bearer",)

    def known(self, key: str) -> bool:
        return key in KEYS

    def unauthorized(self) -> Refusal:
        return Refusal(401, "unauthorized", "missing or invalid API key")

    def organisation(self, key: str) -> str:
        return KEYS[key]

    # ---------------------------------------------------------------- how often

    def meter(self, key: str) -> str:
        """What is counted together."""
        return key

    def allowance(self, key: str) -> Rate:
        return UNLIMITED if key in self.spared else self.rate

    def spend(self, key: str) -> Quota:
        """Count one request in the key's window; windows are fixed and start with a request."""
        now, counted, rate = self.clock(), self.meter(key), self.allowance(key)
        began, used = self.windows.get(counted, (now, 0))
        if now - began >= rate.seconds:
            began, used = now, 0
        self.windows[counted] = (began, used + 1)
        reset = max(1, math.ceil(began + rate.seconds - now))
        return Quota(rate.amount, max(0, rate.amount - used - 1), reset, used >= rate.amount)

    def too_many(self, quota: Quota) -> Refusal:
        return Refusal(429, "rate_limited", "too many requests", headers={"Retry-After": str(quota.reset)})

    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(quota.limit),
            "RateLimit-Remaining": str(quota.remaining),
            "RateLimit-Reset": str(quota.reset),
        }

    # ---------------------------------------------------------------- what is asked

    def reads_as_json(self, media_type: str) -> bool:
        return media_type == "application/json" or media_type.endswith("+json")

    def parse(self, call: Call) -> Any:
        """The JSON value of the body; anything else is a field error, as FastAPI puts it."""
        media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not call.body:
            raise self.invalid([{"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}])
        if not self.reads_as_json(media_type):
            message = "Input should be a valid dictionary or object to extract fields from"
            raise self.invalid([{"type": "model_attributes_type", "loc": ["body"], "msg": message}])
        try:
            return self.decode(call.body)
        except (ValueError, RecursionError):  # malformed, not Unicode, a number of 5,000 digits, too deep
            entry = {"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error", "input": {}}
            raise self.invalid([entry]) from None

    def decode(self, body: bytes) -> Any:
        return json.loads(body)

    def validate(self, value: Any) -> TriggerRequest:
        try:
            return self.model.model_validate(value)
        except ValidationError as error:
            raise self.invalid(field_errors(error)) from None

    def invalid(self, fields: Sequence[Mapping[str, Any]]) -> Refusal:
        return Refusal(422, "invalid_request", "the request has invalid fields", fields=fields)

    def require_signal(self, ask: TriggerRequest) -> None:
        if ask.action is None and not ask.entities:
            raise Refusal(422, "invalid_request", "pass `action` or `entities`")

    def require_scope(self, ask: TriggerRequest) -> None:
        if not any((ask.user_id, ask.agent_id, ask.app_id, any(ask.group_ids))):
            message = "pass at least one of `user_id`, `agent_id`, `app_id`, `group_ids`"
            raise Refusal(422, "invalid_request", message)

    # ---------------------------------------------------------------- recall

    def recall(self, organisation: str, ask: TriggerRequest) -> list[Hit]:
        """The rows that fire for this ask, best first."""
        fired = self.fired(ask)
        hits = []
        for row in self.rows:
            if self.owned(organisation, row, ask) and self.admits(ask, row) and self.included(ask, row):
                matched = self.matched(row, fired)
                if matched:
                    hits.append(Hit(row, matched))
        return self.rank(hits, ask)

    def owned(self, organisation: str, row: Row, ask: TriggerRequest) -> bool:
        return row.organisation == organisation

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        """Every axis that is supplied must hold."""
        return (
            self.pinned(ask.user_id, row.user)
            and self.pinned(ask.agent_id, row.agent)
            and self.pinned(ask.app_id, row.app)
            and self.shares(ask.group_ids, row.groups)
        )

    def pinned(self, wanted: str | None, actual: str | None) -> bool:
        return wanted is None or wanted == actual

    def shares(self, wanted: Sequence[str], actual: Sequence[str]) -> bool:
        return not wanted or any(group in actual for group in wanted)

    def included(self, ask: TriggerRequest, row: Row) -> bool:
        return row.type in (ask.include or ("lesson", "procedure"))

    def fired(self, ask: TriggerRequest) -> list[str]:
        """The identifiers to match; explicit entities bypass extraction."""
        return ask.entities or self.extract(ask)

    def extract(self, ask: TriggerRequest) -> list[str]:
        """Identifiers of the action, each once, in the order found."""
        found: dict[str, None] = {}
        for text in self.texts(ask):
            found.update(dict.fromkeys(self.identifiers(text)))
        return list(found)

    def texts(self, ask: TriggerRequest) -> Iterator[str]:
        if ask.action is not None:
            if ask.action.tool is not None:
                yield ask.action.tool
            yield from self.leaves(ask.action.args)
            if ask.action.output is not None:
                yield ask.action.output

    def leaves(self, value: Any) -> Iterator[str]:
        """Every string among the values, at any depth, without recursion."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                waiting.extend(reversed(value.values()))
            elif isinstance(value, list):
                waiting.extend(reversed(value))

    def identifiers(self, text: str) -> Iterator[str]:
        """The text itself, its tokens, and the last name of each path among them."""
        yield text
        yield text.strip()
        for token in (*text.split(), *_PIECES.split(text)):
            bare = token.strip(".,;:!?\"'`()[]{}<>")
            yield from (token, bare, bare.rpartition("/")[2])

    def matched(self, row: Row, fired: Sequence[str]) -> list[str]:
        """The entities of the row that fired, in the row's order."""
        return [entity for entity in row.entities if any(self.same(name, entity) for name in fired)]

    def same(self, name: str, entity: str) -> bool:
        return name == entity

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        """More matches, then longer ones, then oftener seen, then newer; a total order by the id."""
        by_id = sorted(hits, key=lambda hit: hit.row.id)
        by_age = sorted(by_id, key=lambda hit: hit.row.updated, reverse=True)
        return sorted(
            by_age,
            key=lambda hit: (-len(hit.matched), -max(map(len, hit.matched), default=0), -hit.row.observed),
        )

    # ---------------------------------------------------------------- compose

    def select(self, ask: TriggerRequest, hits: list[Hit]) -> Kept:
        """Rows as matched under `retrieve`; the gated ones, and their context, under `compose`."""
        if ask.mode == "retrieve" or not hits:
            return Kept(hits)
        kept = self.gate(ask, hits)
        return Kept(kept, applied=True, context=self.context(ask, kept) if kept else None)

    def gate(self, ask: TriggerRequest, hits: list[Hit]) -> list[Hit]:
        """Keep what shares a word with the task; without a task, everything."""
        task = set(_WORD.findall((ask.task or "").lower()))
        kept = []
        for hit in hits:
            words = set(_WORD.findall(" ".join((hit.row.text, *hit.row.entities)).lower()))
            shared = sorted(task & words)
            if not task or shared:
                hit.because = (
                    f"The task speaks of {', '.join(shared)}."
                    if shared
                    else "It fired on the call in flight."
                )
                hit.confidence = round(1 - 0.5 ** (len(shared) + 1), 3)
                kept.append(hit)
        return kept

    def context(self, ask: TriggerRequest, hits: list[Hit]) -> str:
        """The markdown block of the rows."""
        return "\n".join(["## What past sessions learnt", "", *(self.bullet(hit) for hit in hits)])

    def bullet(self, hit: Hit) -> str:
        lines = [
            f"- **[{hit.row.type.upper()}]** {hit.row.text} (on `{(hit.matched or hit.row.entities)[0]}`)"
        ]
        lines += [f"  {number}. {step}" for number, step in enumerate(hit.row.steps, 1)]
        return "\n".join(lines)

    # ---------------------------------------------------------------- the answer

    def answer(self, ask: TriggerRequest, kept: Kept) -> dict[str, Any]:
        return {
            "object": "search",
            "mode": ask.mode,
            "data": [self.render(ask, hit) for hit in kept.hits],
            "context": kept.context,
            "stage_timings": {"recall": 0.0004, "gate": 0.0011 if kept.applied else 0.0},
            "context_selection_applied": kept.applied,
        }

    def render(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        row = hit.row
        return {
            "id": row.id,
            "object": "memory",
            "type": row.type,
            "text": row.text,
            "user_id": row.user,
            "agent_id": row.agent,
            "conv_id": None,
            "app_id": row.app,
            "group_ids": list(row.groups),
            "categories": [],
            "score": None,
            "created_at": "2026-01-15T08:00:00Z",
            "updated_at": row.updated,
            "details": self.details(ask, hit),
        }

    def details(self, ask: TriggerRequest, hit: Hit) -> dict[str, Any]:
        return {
            "fact_type": None,
            "trigger_entities": list(hit.row.entities),
            "matched_on": hit.matched,
            "because": hit.because,
            "confidence": hit.confidence,
            "observation_count": hit.row.observed,
            "last_confirmed_at": hit.row.updated,
            "steps": list(hit.row.steps) or None,
        }

    # ---------------------------------------------------------------- refusals, headers

    def refuse(self, refusal: Refusal) -> Reply:
        body = self.field_list(refusal) if refusal.fields is not None else self.envelope(refusal)
        return Reply(refusal.status, body, dict(refusal.headers))

    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": {"code": refusal.code, "message": refusal.message}}

    def field_list(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": list(refusal.fields or ())}

    def finish(self, visit: Visit, reply: Reply) -> Reply:
        """The headers that every answer carries."""
        asked = visit.call.headers.get("x-request-id", "")
        reply.headers["X-Request-Id"] = asked if _SANE_ID.fullmatch(asked) else uuid.uuid4().hex
        if visit.quota is not None:
            reply.headers |= self.quota_headers(visit.quota)
        return reply


def field_errors(error: ValidationError) -> list[dict[str, Any]]:
    """The entries of FastAPI's `HTTPValidationError`, with `body` at the head of each location."""
    entries = error.errors(include_url=False, include_context=False)
    return [dict(entry, loc=["body", *entry["loc"]]) for entry in entries]


def encode(content: Any) -> bytes:
    """Strict JSON in UTF-8; an echoed input that cannot be written (NaN, too deep) is left out."""
    try:
        return _dump(content)
    except (ValueError, RecursionError):
        entries = [{key: entry[key] for key in ("type", "loc", "msg")} for entry in content["detail"]]
        return _dump({"detail": entries})


def _dump(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
