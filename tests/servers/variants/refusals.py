"""Wrong about errors: their envelope, their type, what they give away, statuses nobody announced."""

from __future__ import annotations

from typing import Any

from tests.servers.behaviour import Behaviour, Kept, Visit
from tests.servers.messages import Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import breaks

_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/service/trigger.py", line 88, in trigger\n'
    "    raise Invalid(body)\n"
    "service.errors.Invalid: invalid request"
)


@breaks(
    "ERR-1",
    name="error-envelope",
    story="All errors sit under `error`, as in the rest of the company's services.",
)
class UnderError(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"error": {"code": refusal.code, "message": refusal.message}}

    def field_list(self, refusal: Refusal) -> dict[str, Any]:
        return self.envelope(refusal)


@breaks(
    "ERR-1", name="rules-under-error", story="The cross-field rules were written by another team: `error`."
)
class RulesUnderError(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        if refusal.status != 422:
            return super().envelope(refusal)
        return {"error": {"code": refusal.code, "message": refusal.message}}


@breaks("ERR-1", name="rules-string", story="The cross-field rules raise HTTPException(422, 'text').")
class RulesString(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": refusal.message} if refusal.status == 422 else super().envelope(refusal)


@breaks(
    "ERR-1", name="fields-without-loc", story="Entries are rebuilt for readers and lose `loc` and `type`."
)
class FieldsWithoutLoc(Behaviour):
    def field_list(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": [{"msg": entry["msg"]} for entry in refusal.fields or ()]}


@breaks(
    "ERR-1", name="envelope-without-message", also="AUTH-1 AUTH-2 AUTH-3 RATE-2",
    story="Messages are held back in production, and the field with them.",
)  # fmt: skip
class WithoutMessage(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": {"code": refusal.code}}


@breaks(
    "ERR-1",
    name="rules-code-number",
    story="`code` repeats the status as a number for the cross-field rules.",
)
class CodeNumber(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        code: Any = refusal.status if refusal.status == 422 else refusal.code
        return {"detail": {"code": code, "message": refusal.message}}


@breaks("ERR-2", name="trace-in-422", story="Debug mode is on: refusals carry the stack.")
class TraceIn422(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        message = _TRACE if refusal.status == 422 else refusal.message
        return {"detail": {"code": refusal.code, "message": message}}


@breaks("ERR-2", name="trace-in-fields", story="Field errors carry the stack in an extra key.")
class TraceInFields(Behaviour):
    def field_list(self, refusal: Refusal) -> dict[str, Any]:
        return {**super().field_list(refusal), "debug": {"trace": _TRACE.splitlines()}}


@breaks("ERR-2", name="path-in-401", story="The message of the 401 names the file of the key store.")
class PathIn401(Behaviour):
    def unauthorized(self) -> Refusal:
        return Refusal(401, "unauthorized", "key not found in /opt/trigger/config/keys.toml")


@breaks("ERR-2", name="windows-path-in-422", story="The message names a module of the build machine.")
class WindowsPath(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        try:
            super().require_scope(ask)
        except Refusal as refusal:
            raise Refusal(422, refusal.code, f"{refusal.message} (C:\\build\\service\\scope.py:41)") from None


@breaks(
    "ERR-2", name="errors-as-html-type", story="Error responses get the framework's default content type."
)
class ErrorsAsHtmlType(Behaviour):
    def finish(self, visit: Visit, reply: Reply) -> Reply:
        if reply.status >= 400:
            reply.media_type = "text/html; charset=utf-8"
        return super().finish(visit, reply)


@breaks("ERR-2", name="fields-as-text-type", story="Only the field errors are sent as text/plain.")
class FieldsAsText(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        reply = super().refuse(refusal)
        if refusal.fields is not None:
            reply.media_type = "text/plain"
        return reply


@breaks(
    "ERR-3", name="compose-202", also="MATCH-6", story="Composing is a job, so the gateway says 202 Accepted."
)
class Compose202(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        if visit.ask is not None and visit.ask.mode == "compose":
            reply.status = 202
        return reply


@breaks("ERR-3", name="many-rows-206", story="An answer of several rows calls itself partial.")
class ManyRows206(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        if len(reply.content["data"]) > 1:
            reply.status = 206
        return reply


@breaks(
    "ERR-3",
    name="created-201",
    also="MATCH-6",
    story="The route was copied from the one that stores memories.",
)
class Created201(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        reply.status = 201
        return reply


@breaks("ERR-3", "MATCH-6", name="nothing-204", story="No rows means No Content.")
class Nothing204(Behaviour):
    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        return reply if reply.content["data"] else Reply(204, b"")


@breaks(
    "ERR-3",
    "MATCH-6",
    name="nothing-404",
    story="No rows means Not Found.",
    also="AUTH-4 SCOPE-5 VAL-5 VAL-8",
)
class Nothing404(Behaviour):
    def select(self, ask: TriggerRequest, hits: list[Any]) -> Kept:
        if not hits:
            raise Refusal(404, "memory_not_found", "nothing was recalled")
        return super().select(ask, hits)


@breaks(
    "ERR-3",
    name="unknown-user-404",
    story="A user who owns no rows is not found.",
    also="AUTH-4 MATCH-6 SCOPE-5 VAL-5 VAL-8",
)
class UnknownUser404(Behaviour):
    def require_scope(self, ask: TriggerRequest) -> None:
        super().require_scope(ask)
        if ask.user_id and ask.user_id not in {row.user for row in self.rows}:
            raise Refusal(404, "user_not_found", "no such user")


class _EveryNth(Behaviour):
    """Fails one valid request in so many."""

    period = 50

    def prepare(self) -> None:
        self.served = 0

    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        self.served += 1
        return self.fail() if self.served % self.period == 0 else reply

    def fail(self) -> Reply:
        raise Refusal(500, "trigger_failed", "could not resolve the caller")


@breaks(
    "ERR-3", name="one-in-fifty-500", also="ROB-1 ROB-2", story="One worker of many has lost its database."
)
class OneInFifty(_EveryNth):
    pass


@breaks(
    "ERR-3",
    name="one-in-forty-503",
    also="ERR-1 ERR-2 ROB-1 ROB-2",
    story="The balancer reaches a dead pod: HTML 503.",
)
class OneInForty(_EveryNth):
    period = 40

    def fail(self) -> Reply:
        return Reply(503, b"<html>Service Temporarily Unavailable</html>", media_type="text/html")


@breaks(
    "ERR-2", name="method-html",
    story="The framework's own page answers wrong methods, as nobody registered a handler.",
)  # fmt: skip
class MethodHtml(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.status != 405:
            return super().refuse(refusal)
        return Reply(
            405, b"<!doctype html><title>405 Method Not Allowed</title>", refusal.headers, "text/html"
        )
