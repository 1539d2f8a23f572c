"""Whether an answer is right: cheap checks on every one, the whole schema on a sample.

A fast wrong answer is a failure. Every failure has one short, stable name, so that two runs can be
compared and a pipeline can count. 429 is throttling, neither right nor wrong. A careless request (invalid
body, bad key) is right when it was refused as the contract says. Knows the contract's response shapes;
knows nothing of Locust.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from trigger_loadtests.scenarios import Expectation

Outcome = Literal["good", "refused", "throttled", "failed"]

#: status, parsed body → what breaks the effective contract (empty when nothing does)
SchemaCheck = Callable[[int, Any], Sequence[str]]


class Verdict(NamedTuple):
    """What became of a call. `timed`: its duration says something about the target's latency."""

    outcome: Outcome
    reason: str = ""
    timed: bool = True
    answered: bool = True


GOOD = Verdict("good")
REFUSED = Verdict("refused")
THROTTLED = Verdict("throttled", "status-429", timed=False)

_DIRECTIVES = frozenset({"lesson", "procedure"})


def _wrong(reason: str) -> Verdict:
    return Verdict("failed", reason, timed=False)


class Judge:
    """Judges answers; applies `schema` to the first and then to every `every`-th one."""

    def __init__(self, schema: SchemaCheck | None, every: int = 20) -> None:
        self._schema = schema
        self._every = max(every, 1)
        self._seen = 0
        self.schema_checked = 0

    def answer(
        self, expects: Expectation, mode: str, status: int, content_type: str, content: bytes
    ) -> Verdict:
        """Judge an answer that arrived whole."""
        if status == 429:
            return THROTTLED
        if 300 <= status < 400:
            return _wrong("redirect")
        try:
            body = orjson.loads(content)
        except orjson.JSONDecodeError:
            if status >= 500:
                return _wrong(f"status-{status}")
            return _wrong("html" if _looks_like_html(content_type, content) else "not-json")
        if not content_type.lower().startswith("application/json"):
            return _wrong("content-type")
        served = expects == "answer"
        verdict = _served(mode, status, body) if served else _refused(expects, status, body)
        if verdict.outcome == "failed" or self._schema is None:
            return verdict
        self._seen += 1
        if self._seen % self._every == 1 or self._every == 1:
            self.schema_checked += 1
            if self._schema(status, body):
                return _wrong("schema")
        return verdict


def _served(mode: str, status: int, body: Any) -> Verdict:
    if status != 200:
        return _wrong("unauthorized" if status == 401 else f"status-{status}")
    if not isinstance(body, dict):
        return _wrong("envelope")
    answer: dict[str, Any] = body  # pyright: ignore[reportUnknownVariableType]
    rows = answer.get("data", [])
    if answer.get("object", "search") != "search" or not isinstance(rows, list):
        return _wrong("envelope")
    if answer.get("mode") != mode:
        return _wrong("mode-echo")
    if mode == "retrieve" and answer.get("context") is not None:
        return _wrong("context-under-retrieve")
    for row in rows:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(row, dict):
            return _wrong("envelope")
        if row.get("type") not in _DIRECTIVES:  # pyright: ignore[reportUnknownMemberType]
            return _wrong("row-type")
    return GOOD


def _refused(expects: Expectation, status: int, body: Any) -> Verdict:
    if status == 200:
        return _wrong("invalid-accepted" if expects == "invalid" else "bad-key-accepted")
    if status != (422 if expects == "invalid" else 401):
        return _wrong("unauthorized" if status == 401 else f"status-{status}")
    detail: Any = body.get("detail") if isinstance(body, dict) else None  # pyright: ignore
    if isinstance(detail, dict):
        return REFUSED if "code" in detail else _wrong("envelope")
    return REFUSED if status == 422 and isinstance(detail, list) else _wrong("envelope")


def _looks_like_html(content_type: str, content: bytes) -> bool:
    return "html" in content_type.lower() or content.lstrip()[:1] == b"<"


def breakdown(error: BaseException, *, had_status: bool) -> Verdict:
    """Name a call that ended without a whole answer."""
    for cause in _causes(error):
        name = next(
            (_BY_TYPE[kind.__name__] for kind in type(cause).__mro__ if kind.__name__ in _BY_TYPE), None
        )
        if isinstance(cause, socket.gaierror):
            return Verdict("failed", "dns", timed=False, answered=False)
        if isinstance(cause, ConnectionRefusedError):
            return Verdict("failed", "refused", timed=False, answered=False)
        if isinstance(cause, TimeoutError) or name == "timeout":
            return Verdict("failed", "timeout", answered=False)
        if name == "tls":
            return Verdict("failed", "tls", timed=False, answered=False)
        if isinstance(cause, OSError) and cause.errno in _UNREACHABLE:
            return Verdict("failed", "unreachable", timed=False, answered=False)
        if name == "closed":
            return Verdict("failed", "cut-body" if had_status else "reset", timed=False, answered=False)
        if isinstance(cause, (ConnectionError, BrokenPipeError)):
            return Verdict("failed", "cut-body" if had_status else "reset", timed=False, answered=False)
        if name == "not-http":
            return Verdict("failed", "cut-body" if had_status else name, timed=False, answered=False)
    return Verdict("failed", f"error-{type(error).__name__}", timed=False, answered=False)


def _causes(error: BaseException) -> list[BaseException]:
    """Return what lies under an error, innermost first: the HTTP client wraps what the socket said."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and len(chain) < 8:
        chain.append(seen)
        seen = getattr(seen, "original", None) or seen.__cause__
    return chain[::-1]


#: Errors by class name: to import their modules before gevent has patched them would be wrong.
_BY_TYPE = {
    "SSLError": "tls",
    "Timeout": "timeout",
    "HTTPConnectionClosed": "closed",
    "HTTPParseError": "not-http",
    "HTTPProtocolViolationError": "not-http",
}
_UNREACHABLE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL})
