"""Wrong about odd bodies: values that crash a stage, connections that are cut, servers that never recover."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from tests.servers.behaviour import Behaviour, Hit, Visit
from tests.servers.messages import Call, Cut, Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks


class _Fragile(Behaviour):
    """Fails on some values of a body that was read."""

    def breaks_on(self, value: Any) -> bool:
        """Whether this one string, number or container is too much."""
        raise NotImplementedError

    def decode(self, body: bytes) -> Any:
        value = super().decode(body)
        if any(self.breaks_on(part) for part in parts(value)):
            raise Refusal(500, "trigger_failed", "internal error")
        return value


def parts(value: Any) -> Iterator[Any]:
    """Every value within a JSON value, keys included."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value


@breaks("ROB-1", name="surrogate-500", also="ERR-3", story="A lone surrogate cannot be encoded for the log.")
class Surrogate500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value)


@breaks(
    "ROB-1",
    "ERR-2",
    name="surrogate-trace",
    also="ERR-3",
    story="The same, with the stack shown to the client.",
)
class SurrogateTrace(Surrogate500):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except Refusal:
            trace = (
                'Traceback (most recent call last):\n  File "/srv/app/log.py", line 12, in write\n'
                "UnicodeEncodeError: 'utf-8' codec can't encode character"
            )
            raise Refusal(500, "trigger_failed", trace) from None


@breaks("ROB-1", name="nul-500", also="ERR-3", story="The database refuses NUL in text.")
class Nul500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, str) and "\0" in value


@breaks("ROB-1", name="huge-number-500", also="ERR-3", story="Integers are stored in 64 bits.")
class HugeNumber500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


@breaks(
    "ROB-1", name="nan-500", also="ERR-3 VAL-7", story="NaN and Infinity are read and then cannot be written."
)
class Nan500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, float) and not math.isfinite(value)


@breaks(
    "ROB-1", name="emoji-500", also="ERR-3 VAL-5", story="The table's encoding holds three bytes a character."
)
class Emoji500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, str) and any(each > "\uffff" for each in value)


@breaks(
    "ROB-1",
    name="non-latin-500",
    also="ERR-3 VAL-3 VAL-4 VAL-5",
    story="The audit log is written in Latin-1.",
)
class NonLatin500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, str) and any(each > "\xff" for each in value)


@breaks("ROB-1", name="long-string-500", also="ERR-3", story="A text column holds 64 KiB.")
class LongString500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) > 65_535


@breaks("ROB-1", name="many-entities-500", also="ERR-3", story="A query takes 999 parameters.")
class ManyEntities500(_Fragile):
    def breaks_on(self, value: Any) -> bool:
        return isinstance(value, list) and len(value) > 999


@breaks(
    "ROB-1",
    name="empty-strings-500",
    also="ERR-3 MATCH-6",
    story="`name[0]` of an empty string is looked at.",
)
class EmptyStrings500(Behaviour):
    def extract(self, ask: TriggerRequest) -> list[str]:
        if any(not text for text in self.texts(ask)):
            raise Refusal(500, "trigger_failed", "internal error")
        return super().extract(ask)


@breaks("ROB-1", name="deep-json-500", also="VAL-7", story="The parser's RecursionError is not caught.")
class DeepJson500(Behaviour):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except RecursionError:
            raise Refusal(500, "trigger_failed", "internal error") from None


@breaks(
    "ROB-1", name="deep-args-500", also="ERR-3", story="The walk through args is recursive and ends at 60."
)
class DeepArgs500(Behaviour):
    def leaves(self, value: Any) -> Iterator[str]:
        self.descend(value, 0)
        return super().leaves(value)

    def descend(self, value: Any, depth: int) -> None:
        if depth > 60:
            raise Refusal(500, "trigger_failed", "internal error")
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                self.descend(inner, depth + 1)


@breaks(
    "ROB-1", name="invalid-utf8-500", also="VAL-7", story="The body is decoded before the parser is asked."
)
class InvalidUtf8500(Behaviour):
    def decode(self, body: bytes) -> Any:
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal(500, "trigger_failed", "internal error") from None
        return super().decode(body)


def readable(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


@breaks("ROB-1", name="malformed-cut", also="VAL-7", story="The worker dies on a body that is no JSON.")
class MalformedCut(Behaviour):
    def parse(self, call: Call) -> Any:
        if call.body and not readable(call.body):
            raise Cut
        return super().parse(call)


@breaks("ROB-1", name="surrogate-cut", also="ERR-3", story="A native extension aborts on a lone surrogate.")
class SurrogateCut(Surrogate500):
    def decode(self, body: bytes) -> Any:
        try:
            return super().decode(body)
        except Refusal:
            raise Cut from None


class _Wedged(Behaviour):
    """Something odd leaves the server in a state that it never leaves."""

    def prepare(self) -> None:
        self.wedged = False

    def wedges(self, body: bytes) -> bool:
        raise NotImplementedError

    async def serve(self, visit: Visit) -> Reply:
        reply = await super().serve(visit)
        return self.broken(reply) if self.wedged else reply

    def parse(self, call: Call) -> Any:
        self.wedged = self.wedged or self.wedges(call.body)
        return super().parse(call)

    def broken(self, reply: Reply) -> Reply:
        raise Refusal(500, "trigger_failed", "pool exhausted")


def _deep(body: bytes) -> bool:
    try:
        json.loads(body)
    except RecursionError:
        return True
    except ValueError:
        return False
    return False


@breaks(
    "ROB-2", name="wedged-empty", also=SETS,
    story="A crash in the parser leaves the index half open: everything after it recalls nothing.",
)  # fmt: skip
class WedgedEmpty(_Wedged):
    def wedges(self, body: bytes) -> bool:
        return _deep(body)

    async def serve(self, visit: Visit) -> Reply:
        return await Behaviour.serve(self, visit)

    def rank(self, hits: list[Hit], ask: TriggerRequest) -> list[Hit]:
        return [] if self.wedged else super().rank(hits, ask)


@breaks(
    "ROB-2", name="wedged-500", also=f"{SETS} ROB-1 ERR-3",
    story="A body too deep to read takes the last connection of the pool with it.",
)  # fmt: skip
class Wedged500(_Wedged):
    def wedges(self, body: bytes) -> bool:
        return _deep(body)


@breaks(
    "ROB-2", name="wedged-mode", also="MODE-1",
    story="After a body too deep to read, the request context of the worker is not reset: the echo sticks.",
)  # fmt: skip
class WedgedMode(_Wedged):
    def wedges(self, body: bytes) -> bool:
        return _deep(body)

    def broken(self, reply: Reply) -> Reply:
        reply.content["mode"] = "compose"
        return reply
