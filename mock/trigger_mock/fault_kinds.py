"""What can be done to an answer on purpose: one frozen value a fault, told apart by its `kind`.

Bounded in every direction: no fault lasts longer than a minute, whatever it is told. Knows nothing of HTTP
servers.
"""

from __future__ import annotations

import math
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from trigger_mock.connection import LONGEST
from trigger_mock.json_values import whole

_BYTES = 2**30


#: In JSON 5.0 is an integer as 5 is.
Whole = BeforeValidator(whole)

Seconds = Annotated[float, Field(ge=0, le=LONGEST)]
#: What a header of an answer can hold.
HeaderText = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[\x20-\x7e]+$")]
Pointer = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^(?:/(?:[^/~]|~[01])*)+$")]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Uniform(_Value):
    """Any time between the two is as likely as any other."""

    uniform: tuple[Seconds, Seconds]

    def drawn(self, random: Random) -> float:
        """A time."""
        return random.uniform(*self.uniform)


class Spread(_Value):
    """`spread`: how far it is to the slow ones; 0 is always the median, 0.5 doubles every tenth or so."""

    median: Annotated[float, Field(gt=0, le=LONGEST)]
    spread: Annotated[float, Field(ge=0, le=3)] = 0.5


class LogNormal(_Value):
    """As the time of services spreads: many near the median, a tail of slow ones."""

    lognormal: Spread

    def drawn(self, random: Random) -> float:
        """A time."""
        return min(LONGEST, self.lognormal.median * math.exp(self.lognormal.spread * random.gauss(0, 1)))


Duration = Seconds | Uniform | LogNormal


def seconds_of(duration: Duration | None, random: Random) -> float:
    """How long it is this time."""
    if duration is None:
        return 0.0
    return duration if isinstance(duration, float | int) else round(duration.drawn(random), 4)


class _Fault(_Value):
    delay: Annotated[Duration | None, Field(description="Seconds before anything else happens.")] = None

    def held_back(self, random: Random) -> float:
        """How many seconds pass first, this time."""
        return seconds_of(self.delay, random)


class Failure(_Fault):
    """An error in place of the answer, its code and message those of the contract unless said."""

    kind: Literal["error"]
    status: Annotated[int, Field(ge=400, le=599), Whole] = 500
    code: Annotated[str, Field(max_length=200)] | None = None
    message: Annotated[str, Field(max_length=2000)] | None = None
    retry_after: (
        Annotated[int, Field(ge=0, le=10**9, description="`Retry-After`; a 429 says 1 unless told."), Whole]
        | None
    ) = None
    envelope: Annotated[Literal["detail", "error"], Field(description="The field that holds it.")] = "detail"


class Delay(_Fault):
    """The answer comes later. `gate`: as time of the gate, which `stage_timings` tell."""

    kind: Literal["delay"]
    seconds: Duration
    stage: Literal["gate"] | None = None

    def held_back(self, random: Random) -> float:
        """How many seconds pass first, this time."""
        return min(LONGEST, super().held_back(random) + seconds_of(self.seconds, random))


class Reset(_Fault):
    """The connection is reset: `before` the answer's first byte, or within its body, behind `bytes` of it."""

    kind: Literal["reset"]
    at: Literal["before", "body"] = "before"
    bytes: Annotated[int, Field(ge=0, le=_BYTES, description="Read where `at` is `body`."), Whole] = 10


class Cut(_Fault):
    """The head promises the whole body, and the connection ends in good order behind `bytes` of it."""

    kind: Literal["cut"]
    bytes: Annotated[int, Field(ge=0, le=_BYTES), Whole] = 10


class Drip(_Fault):
    """The body comes in pieces of `bytes`, `interval` seconds apart; after a minute the rest at once."""

    kind: Literal["drip"]
    bytes: Annotated[int, Field(ge=1, le=_BYTES), Whole] = 16
    interval: Seconds = 0.1


class Malformed(_Fault):
    """A whole body that is no JSON: the first half of it."""

    kind: Literal["malformed"]


class ContentType(_Fault):
    """The answer, under another `Content-Type`."""

    kind: Literal["content_type"]
    value: HeaderText = "text/html; charset=utf-8"


class Alter(_Fault):
    """A 200 with fields taken away and then others put there, both by JSON pointer; what a pointer does not
    find in an answer is left as it is.
    """

    kind: Literal["alter"]
    remove: Annotated[tuple[Pointer, ...], Field(max_length=100)] = ()
    set: Annotated[dict[Pointer, Any], Field(max_length=100)] = {}


class Stale(_Fault):
    """A 200 as it was the last time that the organisation was given one, or these fields of it, by JSON
    pointer. Read from the journal; the true answer when there is none.
    """

    kind: Literal["stale"]
    fields: Annotated[tuple[Pointer, ...], Field(max_length=100)] | None = None


class Empty(_Fault):
    """A 200 without rows, as if nothing had been recalled."""

    kind: Literal["empty"]


class Envelope(_Fault):
    """Whatever error there is, in the envelope `{"error": {"code", "message"}}`."""

    kind: Literal["envelope"]


class Redirect(_Fault):
    """A redirect in place of the answer."""

    kind: Literal["redirect"]
    location: HeaderText = "/"
    status: Literal[301, 302, 307, 308] = 307


class Hang(_Fault):
    """The request is accepted and never answered: until the client goes, or a minute is over."""

    kind: Literal["hang"]


Simple = Annotated[
    Failure | Delay | Reset | Cut | Drip | Malformed | ContentType | Alter | Stale | Empty | Envelope
    | Redirect | Hang,
    Field(discriminator="kind"),
]  # fmt: skip


class Mix(_Value):
    """One of these, any as likely as any other."""

    kind: Literal["mix"]
    of: Annotated[tuple[Simple, ...], Field(min_length=1, max_length=20)]


Fault = Annotated[
    Failure | Delay | Reset | Cut | Drip | Malformed | ContentType | Alter | Stale | Empty | Envelope
    | Redirect | Hang | Mix,
    Field(discriminator="kind"),
]  # fmt: skip
