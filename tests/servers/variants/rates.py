"""Wrong about the rate limit: its headers, the 429, who shares it."""

from __future__ import annotations

import time
from email.utils import formatdate

from tests.servers.behaviour import Behaviour, Quota, Rate
from tests.servers.messages import Refusal, Reply
from tests.servers.variants.registry import breaks

#: Narrow enough to exhaust in a moment, wide enough for a window to be left behind.
NARROW = Rate(40, 2)


@breaks("RATE-1", name="quota-words", story="An unlimited plan reports the word `unlimited`.")
class QuotaWords(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": "unlimited"}


@breaks("RATE-1", name="quota-floats", story="Tokens of the bucket are fractions, and are sent as such.")
class QuotaFloats(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": f"{quota.remaining - 0.5}"}


@breaks("RATE-1", name="quota-above-limit", story="The burst is added to what remains and not to the limit.")
class QuotaAboveLimit(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": str(quota.remaining + 1000)}


@breaks("RATE-1", name="quota-never-falls", story="The headers show the plan, not the counter.")
class QuotaNeverFalls(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": str(quota.limit)}


@breaks("RATE-1", name="quota-rises", story="What was used is sent as what remains.")
class QuotaRises(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": str(quota.limit - quota.remaining)}


@breaks("RATE-1", name="quota-negative", story="The counter starts at the wrong end and goes below zero.")
class QuotaNegative(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {**super().quota_headers(quota), "RateLimit-Remaining": str(quota.remaining - quota.limit)}


@breaks("RATE-1", name="reset-as-date", story="The time of the reset is sent as a date.")
class ResetAsDate(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {
            **super().quota_headers(quota),
            "RateLimit-Reset": formatdate(time.time() + quota.reset, usegmt=True),
        }


class _RetryAfter(Behaviour):
    """Says something else than the seconds to wait."""

    def wait(self, quota: Quota) -> str:
        raise NotImplementedError

    def too_many(self, quota: Quota) -> Refusal:
        refusal = super().too_many(quota)
        refusal.headers["Retry-After"] = self.wait(quota)
        return refusal


@breaks(
    "RATE-2",
    name="429-no-retry-after",
    needs="limit",
    rate_limit=NARROW,
    story="The gateway strips the header.",
)
class NoRetryAfter(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        return Refusal(429, "rate_limited", "too many requests")


@breaks(
    "RATE-2",
    name="429-retry-after-date",
    needs="limit",
    rate_limit=NARROW,
    story="Retry-After is an HTTP date.",
)
class RetryAfterDate(_RetryAfter):
    def wait(self, quota: Quota) -> str:
        return formatdate(time.time() + quota.reset, usegmt=True)


@breaks(
    "RATE-2",
    name="429-retry-after-fraction",
    needs="limit",
    rate_limit=NARROW,
    story="Retry-After is a float.",
)
class RetryAfterFraction(_RetryAfter):
    def wait(self, quota: Quota) -> str:
        return f"{quota.reset + 0.25}"


@breaks(
    "RATE-2",
    name="429-retry-after-zero",
    needs="limit",
    rate_limit=Rate(40, 4),
    story="The wait is rounded down to 0.",
)
class RetryAfterZero(_RetryAfter):
    def wait(self, quota: Quota) -> str:
        return "0"


@breaks(
    "RATE-2",
    name="429-retry-after-too-soon",
    needs="limit",
    rate_limit=Rate(40, 5),
    story="The wait is always said to be 1.",
)
class RetryAfterTooSoon(_RetryAfter):
    def wait(self, quota: Quota) -> str:
        return "1"


@breaks(
    "RATE-2",
    name="429-retry-after-twice",
    needs="limit",
    rate_limit=NARROW,
    story="Limiter and gateway both add it.",
)
class RetryAfterTwice(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        reply = super().refuse(refusal)
        if refusal.status == 429:
            reply.repeated.append(("Retry-After", "30"))
        return reply


@breaks(
    "RATE-2",
    name="429-wrong-code",
    needs="limit",
    rate_limit=NARROW,
    story="The limiter has a code of its own.",
)
class LimitWrongCode(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        headers = super().too_many(quota).headers
        return Refusal(429, "too_many_requests", "too many requests", headers=headers)


@breaks(
    "RATE-2",
    "ERR-1",
    name="429-detail-string",
    needs="limit",
    rate_limit=NARROW,
    story="The limiter's own body is sent.",
)
class LimitDetailString(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, object]:
        return {"detail": "Rate limit exceeded"} if refusal.status == 429 else super().envelope(refusal)


@breaks(
    "RATE-2", name="429-without-quota", needs="limit", rate_limit=NARROW,
    story="The limiter answers before the code that adds RateLimit-*.",
)  # fmt: skip
class LimitWithoutQuota(Behaviour):
    def quota_headers(self, quota: Quota) -> dict[str, str]:
        return {} if quota.exceeded else super().quota_headers(quota)


@breaks(
    "RATE-2", name="503-for-429", also="ERR-3 ROB-1 ROB-2", needs="limit", rate_limit=NARROW,
    story="The balancer's limiter says 503, its default.",
)  # fmt: skip
class Limit503(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        return Refusal(503, "rate_limited", "slow down", headers=super().too_many(quota).headers)


@breaks(
    "RATE-2", name="403-for-429", also="ERR-3", needs="limit", rate_limit=NARROW,
    story="A firewall blocks who calls too often.",
)  # fmt: skip
class Limit403(Behaviour):
    def too_many(self, quota: Quota) -> Refusal:
        return Refusal(403, "forbidden", "blocked", headers=super().too_many(quota).headers)


@breaks(
    "RATE-2",
    name="429-never-ends",
    needs="limit",
    rate_limit=NARROW,
    story="A key over its limit is banned for good.",
)
class LimitNeverEnds(Behaviour):
    def prepare(self) -> None:
        self.banned: set[str] = set()

    def spend(self, key: str) -> Quota:
        quota = super().spend(key)
        if quota.exceeded:
            self.banned.add(key)
        return quota._replace(exceeded=True, remaining=0) if key in self.banned else quota


@breaks(
    "RATE-3", name="limit-shared", needs="limit org2", rate_limit=NARROW,
    story="Requests are counted by address: the gateway's own.",
)  # fmt: skip
class LimitShared(Behaviour):
    def meter(self, key: str) -> str:
        return "everybody"

    def allowance(self, key: str) -> Rate:
        return self.rate
