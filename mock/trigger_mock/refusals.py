"""Every way in which the endpoint declines, and the envelope each one becomes.

What varies is data on the class; `trigger_mock.app` registers the one handler that turns a refusal into a
response.
Contract: `ErrorEnvelope`, `ErrorDetail`, and FastAPI's `HTTPValidationError` that `ErrorEnvelope` describes
(defect D4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class Refusal(Exception):
    """The server declines; says what the body and the headers must say."""

    status: ClassVar[int]
    code: ClassVar[str]

    @property
    def reason(self) -> str:
        """What the log says: the message, or more than a client may learn."""
        return str(self)

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that this refusal adds to those of every answer."""
        return {}

    @property
    def body(self) -> dict[str, Any]:
        """The `ErrorEnvelope`."""
        return {"detail": {"code": self.code, "message": str(self)}}


class Unauthorized(Refusal):
    """No credential, an unknown one, or two that disagree: one answer for all, so that none can be told
    apart.
    """

    status, code = 401, "unauthorized"

    def __init__(self, reason: str) -> None:
        super().__init__("Missing or invalid API key. Send it as x-api-key or as Authorization: Bearer.")
        self._reason = reason

    @property
    def reason(self) -> str:
        """Which of the cases it was; never the key."""
        return self._reason


class RateLimited(Refusal):
    """The key spent its rate or its daily cap; `retry_after` whole seconds from now a request gets
    through.
    """

    status, code = 429, "rate_limited"

    def __init__(self, what: str, retry_after: int) -> None:
        super().__init__(f"{what} exceeded. Retry after the number of seconds that Retry-After gives.")
        self.retry_after = retry_after

    @property
    def headers(self) -> Mapping[str, str]:
        """The true `Retry-After` (defect D5)."""
        return {"Retry-After": str(self.retry_after)}


class InvalidRequest(Refusal):
    """The fields are well formed, and the request still cannot be served: no signal, no scope, an unknown
    mode.
    """

    status, code = 422, "invalid_request"


class UnsupportedInclude(Refusal):
    """`include` names a corpus that is not there, or names one twice."""

    status, code = 422, "unsupported_include_option"


class InvalidFields(Refusal):
    """Fields of the wrong type or size, or a body that is no JSON object: every failing field, in pydantic's
    wording.

    `entries` are `{type, loc, msg, input, ctx?}`, as FastAPI writes them.
    """

    status, code = 422, "invalid_request"

    def __init__(self, entries: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(
            "; ".join(f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in entries[:5])
        )
        self.entries = entries

    @property
    def body(self) -> dict[str, Any]:
        """The `HTTPValidationError` shape."""
        return {"detail": list(self.entries)}


_CODES = {
    400: "invalid_request", 401: "unauthorized", 403: "forbidden", 404: "not_found",
    405: "method_not_allowed", 413: "payload_too_large", 422: "invalid_request", 429: "rate_limited",
    500: "trigger_failed",
}  # fmt: skip


def code_of(status: int) -> str:
    """The code of an error by its status: the contract's where it has one, else the mock's own."""
    return _CODES.get(status, "server_error" if status >= 500 else "invalid_request")


def envelope(code: str, message: str) -> dict[str, Any]:
    """An `ErrorEnvelope` for what is no refusal of the endpoint: unknown paths, wrong methods, faults of
    our own.
    """
    return {"detail": {"code": code, "message": message}}
