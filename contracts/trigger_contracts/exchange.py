"""One request and what came back, with lenient readings of it.

A reading never raises: what is not there or not of its type is simply not seen, since judging the shape is
the business of the promises about shape and every other promise must stay useful beside a shape that is
off.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from trigger_contracts.json_values import is_array, is_object

JsonObject = dict[str, Any]


class Kind(Enum):
    """What a request is, by construction; decides which promises may look at its answer."""

    PLAIN = "valid and ordinary"
    ODD = "valid, with unusual values"
    INVALID = "well-formed JSON that the contract refuses"
    RAW = "any bytes"
    KEYLESS = "without a valid key"
    METHOD = "another method"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `shown` are the headers as a report may print them: keys are variables there."""

    method: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    shown: tuple[tuple[str, str], ...] = ()
    ask: JsonObject | None = None
    kind: Kind = Kind.PLAIN
    role: str = "main"
    owner: str | None = None  # the only promise that may judge this answer, where a request is made to tempt
    alone: bool = True  # False: sent while other requests were in flight


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next(iter(self._by_name.get(name.lower(), ())), None)

    def every(self, name: str) -> list[str]:
        """All headers of that name."""
        return list(self._by_name.get(name.lower(), ()))

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.headers:
            found.setdefault(name.lower(), []).append(value)
        return found


@dataclass(frozen=True)
class Exchange:
    """A request with its reply, or with the reason why none came."""

    request: Request
    reply: Reply | None
    failure: str | None = None
    number: int = 0

    @property
    def status(self) -> int | None:
        """The status, or None when no answer came."""
        return self.reply.status if self.reply else None

    @property
    def trouble(self) -> bool:
        """Whether the target failed as such: no answer, or a 5xx."""
        return self.reply is None or self.reply.status >= 500

    @cached_property
    def json(self) -> Any:
        """The body as JSON, or None when it is none."""
        if self.reply is None:
            return None
        try:
            return json.loads(self.reply.body)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def text(self) -> str:
        """The body as text, whatever bytes it holds."""
        return self.reply.body.decode("utf-8", "replace") if self.reply else ""

    @cached_property
    def code(self) -> str | None:
        """The error code, read from `detail` or from the `error` envelope that some deployments use."""
        body = self.json
        if is_object(body):
            for name in ("detail", "error"):
                inner = body.get(name)
                if is_object(inner):
                    code = inner.get("code")
                    return code if isinstance(code, str) else None
        return None

    def came(self) -> str:
        """What came back, in a few words."""
        if self.reply is None:
            return self.failure or "no answer"
        return str(self.reply.status)


class RowView:
    """A row of an answer, read leniently."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    @property
    def id(self) -> str:
        """The id, or an empty text."""
        return str(self.raw.get("id", "")).lower()

    @property
    def type(self) -> str:
        """The type, or an empty text."""
        return str(self.raw.get("type", ""))

    @property
    def text(self) -> str:
        """The text, or an empty one."""
        found = self.raw.get("text")
        return found if isinstance(found, str) else ""

    @property
    def details(self) -> Mapping[str, Any]:
        """The details, or an empty mapping."""
        found = self.raw.get("details")
        return found if is_object(found) else {}

    @property
    def groups(self) -> frozenset[str]:
        """The groups it belongs to."""
        return frozenset(texts(self.raw.get("group_ids")))

    @property
    def trigger_entities(self) -> tuple[str, ...]:
        """What it fires on."""
        return texts(self.details.get("trigger_entities"))

    @property
    def matched_on(self) -> tuple[str, ...]:
        """What it fired on."""
        return texts(self.details.get("matched_on"))


class Answer:
    """A 200, read leniently."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        body = exchange.json
        self.body: JsonObject = body if is_object(body) else {}
        data = self.body.get("data")
        rows = data if is_array(data) else []
        self.rows: tuple[RowView, ...] = tuple(RowView(row) for row in rows if is_object(row))

    @property
    def context(self) -> object:
        """The context block as it came."""
        return self.body.get("context")

    @property
    def applied(self) -> object:
        """Whether a context selection was applied, as it came."""
        return self.body.get("context_selection_applied", False)


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list, or nothing."""
    return tuple(one for one in value if isinstance(one, str)) if is_array(value) else ()


def is_number(value: object) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def curl(exchange: Exchange, url: str) -> str:
    """A command that repeats the request, with the key as a variable of the shell."""
    request = exchange.request
    parts = ["curl", "-sS", "-i", "-X", request.method, shlex.quote(url)]
    for name, value in request.shown:
        # Keys are variables of the shell, so these must stay within double quotes.
        parts += ["-H", f'"{name}: {value}"' if "$" in value else shlex.quote(f"{name}: {value}")]
    if not request.body:
        return " ".join(parts)
    try:
        text = request.body.decode("ascii")
        printable = all(one.isprintable() for one in text)
    except UnicodeDecodeError:
        text, printable = "", False
    if len(request.body) > 6000:
        return " ".join(
            [
                *parts,
                f"--data-binary @body.json  # {len(request.body)} bytes, beginning: {request.body[:60]!r}",
            ]
        )
    if printable:
        return " ".join([*parts, "--data-binary", shlex.quote(text)])
    escaped = "".join(
        f"\\x{byte:02x}" if byte < 32 or byte > 126 or byte in b"'\\%" else chr(byte) for byte in request.body
    )
    return f"printf '{escaped}' | " + " ".join([*parts, "--data-binary", "@-"])
