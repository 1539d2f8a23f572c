"""How long the mock pretends to think, in seconds, so that clients meet their budgets before production does.

A delay is a function of the request and the seed alone: the same request takes the same time, and says so in
`stage_timings`. `realistic` draws from log-normal distributions whose medians are what the service is known
for, about 1.0 s under `retrieve` and 1.7 s under `compose`, with a tail of several seconds for one call in a
hundred. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from statistics import NormalDist

#: Seconds to wait before this answer: (mode, request body) → seconds.
Latency = Callable[[str, bytes], float]

MEDIANS = {"retrieve": 1.0, "compose": 1.7}
SPREAD = 0.55
LONGEST = 30.0


def none(_mode: str, _body: bytes) -> float:
    """Answer at once."""
    return 0.0


def fixed(seconds: float) -> Latency:
    """Make a delay of the same seconds for every answer."""
    return lambda _mode, _body: seconds


def realistic(seed: int = 0) -> Latency:
    """Make delays that spread as the service's do, drawn by hashing the seed and the request."""

    def seconds(mode: str, body: bytes) -> float:
        digest = hashlib.blake2b(b"%d\n%b" % (seed, body), digest_size=8).digest()
        quantile = (int.from_bytes(digest, "big") + 0.5) / 2**64
        drawn = MEDIANS[mode] * math.exp(SPREAD * NormalDist().inv_cdf(quantile))
        return round(min(drawn, LONGEST), 4)

    return seconds
