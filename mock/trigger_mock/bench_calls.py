"""The calls of a bench as a test reads them: what a client sent, what it was answered, and what came of it.

Made from the journal's JSON. Nothing but Python's own library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as it came. `json` is None where the body is no JSON, `text` where it is; header names are in
    lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    json: Any
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer as it went out. `json` is None where the body is no JSON, `text` where it is; header names
    are in lower case.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    json: Any
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to the endpoint, as the journal keeps it. `number` counts from 1 in its bench; `time` is RFC
    3339, on the bench's clock.

    `fired`: the identifiers that it fired. `hints`: what of it was not read. `missed`: what that would have
    recalled. `fault`: what was done to the answer on purpose.
    """

    number: int
    time: str
    organisation: str | None
    request: Sent
    response: Answered
    fired: tuple[str, ...]
    hints: tuple[str, ...]
    missed: tuple[str, ...]
    milliseconds: float
    fault: Any

    @property
    def body(self) -> Any:
        """What the client sent, decoded; its text where it is no JSON."""
        return self.request.json if self.request.text is None else self.request.text

    @property
    def status(self) -> int:
        """The status that it was answered with."""
        return self.response.status

    @property
    def recalled(self) -> tuple[str, ...]:
        """The ids of the rows in the answer, in its order."""
        try:
            return tuple(str(row["id"]) for row in self.response.json["data"])
        except (TypeError, LookupError):  # an error, or an answer that a fault has mangled
            return ()

    def __str__(self) -> str:
        """Say it in a line."""
        request = self.request
        said = f"#{self.number} {request.method} {request.path} -> {self.status}"
        if self.status == 200:
            said += f", recalled {', '.join(self.recalled) or 'nothing'}"
        return f"{said}, fault {self.fault}" if self.fault else said


def call_of(entry: Mapping[str, Any]) -> Call:
    """Read an entry of the journal."""
    sent, answered = entry["request"], entry["response"]
    return Call(
        number=entry["number"],
        time=entry["time"],
        organisation=entry.get("organisation"),
        request=Sent(
            method=entry["method"],
            path=entry["path"],
            headers=_headers(entry.get("headers")),
            json=sent.get("body"),
            text=sent.get("text"),
        ),
        response=Answered(
            status=answered["status"],
            headers=_headers(answered.get("headers")),
            json=answered.get("body"),
            text=answered.get("text"),
        ),
        fired=tuple(entry.get("fired") or ()),
        hints=tuple(entry.get("hints") or ()),
        missed=tuple(entry.get("missed") or ()),
        milliseconds=entry.get("milliseconds") or 0.0,
        fault=entry.get("fault"),
    )


def _headers(written: Any) -> dict[str, str]:
    """Headers, whether they come as pairs or by name; the last of one name stands."""
    named: dict[str, str] = dict(written or ())
    return {name.lower(): value for name, value in named.items()}
