"""RATE: what the headers promise, and what happens over the limit.

The limit is exhausted only with leave, and last of all. Requests here are sent without waiting for the
window, since the window is the subject; a 429 that comes by itself in the rest of a run is judged by form
(`watch`).
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from trigger_contracts.exchange import Exchange
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.refused import too_many
from trigger_contracts.run import Api
from trigger_contracts.target import over_the_limit

_POINTER = "paths./v1/memories/trigger.post.responses.429"

#: No more requests than this are spent on reaching a limit.
_MOST = 3000
#: No more seconds either.
_LONGEST = 90.0
#: So many seconds are waited for the window of a key that is only a witness.
_SHORT_WINDOW = 10.0


@promise("RATE-1", pointer=_POINTER)
def headers_are_true(api: Api) -> None:
    """`RateLimit-*` headers, where sent, are whole numbers; remaining is at most the limit, and falls with
    use.
    """
    seen: list[int] = []
    for attempt in range(4):
        counts = [_count(api.call(api.plain())) for _ in range(12)]
        seen = [one for one in counts if one is not None]
        if len(seen) < 2:
            if api.run.watch.seen.get(api.name) or api.name in api.run.watch.findings:
                api.saw()
                return
            raise NotExercised("the target sends no RateLimit headers")
        api.saw(len(seen))
        fell = any(later < earlier for earlier, later in itertools.pairwise(seen))
        rose = [at for at, (earlier, later) in enumerate(itertools.pairwise(seen)) if later > earlier]
        # One rise is a new window; a bucket that refills may rise now and then, and still falls on the whole.
        if fell and (len(rose) <= 1 or seen[-1] < seen[0]):
            return
        if seen[0] == 0 and seen[-1] == 0 and attempt < 3:
            continue
    raise Broken(
        f"RateLimit-Remaining does not fall with use: {', '.join(map(str, seen))}", api.call(api.plain())
    )


def _count(exchange: Exchange) -> int | None:
    text = exchange.reply.header("RateLimit-Remaining") if exchange.reply and exchange.status == 200 else None
    return int(text) if text and text.strip().isdigit() else None


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """A limit that was reached, and how the other keys fared meanwhile."""

    refusal: Exchange
    role: str
    meanwhile: tuple[Exchange, ...]


def _exhaust(api: Api) -> Exhaustion:
    memory = api.run.memory
    if "exhaustion" in memory:
        found: Exhaustion = memory["exhaustion"]
        return found
    options = api.run.options
    role = "limited" if options.limited_api_key else "main"
    others = _with_room(api, ["other"] * bool(options.other_api_key) + ["main"] * (role == "limited"))
    began = time.monotonic()
    for sent in range(_MOST):
        exchange = api.call(api.plain(), role=role, patient=False)
        if exchange.status == 429:
            meanwhile = tuple(api.call(api.plain(), role=one, patient=False) for one in others)
            again = api.call(api.plain(), role=role, patient=False)
            if again.status == 429:
                exchange = again
            memory["exhaustion"] = Exhaustion(exchange, role, meanwhile)
            memory["refused_at"] = time.monotonic()
            return _exhaust(api)
        if over_the_limit(exchange):
            raise Broken(f"over the limit the answer is {exchange.status}; expected 429", exchange)
        left = _count(exchange)
        if exchange.trouble or exchange.status not in (200, 429):
            spent = sent and (left in (None, 0))
            if spent and exchange.status in (403, 503, 400, 402, 509):
                raise Broken(f"over the limit the answer is {exchange.status}; expected 429", exchange)
            if exchange.trouble:
                continue
            raise Unjudged(f"a valid request {api.why_not(exchange)}")
        if time.monotonic() - began > _LONGEST:
            break
        limit = exchange.reply.header("RateLimit-Limit") if exchange.reply else None
        if limit and limit.isdigit() and int(limit) > _MOST:
            raise NotExercised(
                f"the limit is {limit} requests, more than the {_MOST} that this property spends", "inputs"
            )
        if limit and limit.isdigit() and sent > int(limit) * 3 + 20 and sent > 200:
            raise Broken(f"{sent} requests were served under a RateLimit-Limit of {limit}", exchange)
    raise NotExercised(f"no limit was met within {_MOST} requests or {_LONGEST:.0f} s")


def _with_room(api: Api, roles: list[str]) -> list[str]:
    """Those of other keys that have requests left of their own: this run has spent some of them."""
    found: list[str] = []
    for role in roles:
        exchange = api.call(api.plain(), role=role, patient=False)
        left, reset = _count(exchange), exchange.reply.header("RateLimit-Reset") if exchange.reply else None
        if (exchange.status == 429 or left in (0, 1, 2)) and reset and _within(reset, _SHORT_WINDOW):
            api.run.target.wait(int(reset) + 0.05, "the window of another key is nearly used up")
            exchange = api.call(api.plain(), role=role, patient=False)
            left = _count(exchange)
        if exchange.status == 200 and (role == "other" if left is None else left > 2):
            found.append(role)
    return found


def _within(text: str, most: float) -> bool:
    return text.strip().isdigit() and int(text) <= most


@promise("RATE-2", needs=("limit",), pointer=_POINTER)
def beyond_the_limit(api: Api) -> None:
    """Over the limit comes a 429 and no other status: `rate_limited`, `RateLimit-*`, one `Retry-After` of
    whole seconds; after that wait a request passes.
    """
    reached = _exhaust(api)
    for fault in too_many(reached.refusal):
        raise Broken(fault, reached.refusal)
    reply = reached.refusal.reply
    if reply is None:
        raise Unjudged("no answer came over the limit")
    wait = int((reply.header("Retry-After") or "0").strip())
    if wait > max(api.run.options.max_wait, 1):
        raise Unjudged(f"Retry-After is {wait} s, longer than this run may wait (--max-wait)", "rate")
    left = wait - (time.monotonic() - api.run.memory.get("refused_at", 0.0))
    if left > 0:
        api.run.target.wait(left + 0.05, "to see whether Retry-After is true")
    after = api.call(api.plain(), role=reached.role, patient=False)
    if after.status == 429:
        raise Broken(f"after the {wait} s of Retry-After a request is still refused", after)
    api.read(after)
    api.saw()


@promise("RATE-3", level="should", needs=("limit", "org2"), pointer=_POINTER)
def limits_are_per_key(api: Api) -> None:
    """A 429 is for one key: another key is served meanwhile."""
    try:
        reached = _exhaust(api)
    except Broken as broken:
        raise Unjudged(f"{broken.message} (see RATE-2)") from None
    if not reached.meanwhile:
        raise NotExercised("no other key was given that had requests left", "inputs")
    for exchange in reached.meanwhile:
        if exchange.status == 429:
            whose = "another organisation's" if exchange.request.role == "other" else "another"
            raise Broken(f"{whose} key is refused with 429 as well", exchange)
        api.read(exchange)
        api.saw()
