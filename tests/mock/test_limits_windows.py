"""Rates and daily caps on a clock of the test's own: what they count, what they say, and that it is true."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import limits.storage
import limits.strategies
import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from tests.mock.raw import PATH
from trigger_fixtures import ApiKey, Corpus, Organisation, Rate
from trigger_mock import Settings, create_app
from trigger_mock.benches import Bench
from trigger_mock.credentials import Caller
from trigger_mock.limits import DAY, DEFAULT_RATE, Limiter, MemoryCounters, Overrides, Quota
from trigger_mock.refusals import RateLimited

ASK = {"user_id": "u", "entities": ["x"]}

#: A limiter never asks whose bench a caller is in.
NO_BENCH = cast("Bench", None)


@dataclass
class Clock:
    """Time that passes when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def caller(rate: Rate | None = None, cap: int | None = None, *, key: str = "k") -> Caller:
    spoken = ApiKey(key=key, rate_limit=rate, daily_cap=cap)
    return Caller(NO_BENCH, Organisation(name=f"organisation of {key}", keys=(spoken,)), spoken)


def held_by(organisation: Organisation, key: ApiKey) -> Caller:
    return Caller(NO_BENCH, organisation, key)


def spend(limiter: Limiter, who: Caller, times: int) -> list[tuple[Quota, int | None]]:
    """The quota and the `Retry-After` (None where it passed) of so many requests."""
    outcomes: list[tuple[Quota, int | None]] = []
    for _ in range(times):
        quota, refused = limiter.spend(who)
        assert quota is not None
        outcomes.append((quota, refused.retry_after if refused else None))
    return outcomes


def test_remaining_falls_to_zero_and_then_requests_are_refused() -> None:
    limiter = Limiter(MemoryCounters(Clock()))
    assert spend(limiter, caller(Rate(3, 10)), 5) == [
        (Quota(3, 2, 10), None),
        (Quota(3, 1, 10), None),
        (Quota(3, 0, 10), None),
        (Quota(3, 0, 10), 10),
        (Quota(3, 0, 10), 10),
    ]


def test_a_window_opens_with_its_first_request_and_closes_on_time() -> None:
    clock = Clock()
    limiter = Limiter(MemoryCounters(clock))
    spend(limiter, caller(Rate(2, 10)), 1)
    clock.now += 9.5
    assert spend(limiter, caller(Rate(2, 10)), 2) == [(Quota(2, 0, 1), None), (Quota(2, 0, 1), 1)]
    clock.now += 0.5
    assert spend(limiter, caller(Rate(2, 10)), 1) == [(Quota(2, 1, 10), None)]


@given(
    start=st.floats(0, 1e9),
    steps=st.lists(st.floats(0, 30), max_size=20),
    rate=st.builds(Rate, st.integers(1, 4), st.integers(1, 100)),
    cap=st.none() | st.integers(1, 6),
)
def test_whoever_waits_as_long_as_told_gets_through(
    start: float, steps: list[float], rate: Rate, cap: int | None
) -> None:
    clock = Clock(start)
    limiter = Limiter(MemoryCounters(clock))
    who = caller(rate, cap)
    for step in steps:
        clock.now += step
        _quota, refused = limiter.spend(who)
        if refused:
            assert refused.retry_after >= 1
            clock.now += refused.retry_after
            assert limiter.spend(who)[1] is None


@given(
    steps=st.lists(st.floats(0, 3), min_size=1, max_size=40),
    amount=st.integers(1, 5),
    seconds=st.integers(1, 7),
)
def test_windows_count_as_those_of_the_limits_library_do(
    steps: list[float], amount: int, seconds: int
) -> None:
    """Theirs opens with the first request too. It reads the system's clock: the test gives time to both."""
    clock = Clock(1_000_000.0)
    ours = Limiter(MemoryCounters(clock))
    theirs = limits.strategies.FixedWindowRateLimiter(limits.storage.MemoryStorage())
    item = limits.RateLimitItemPerSecond(amount, seconds)
    who = caller(Rate(amount, seconds))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("limits.storage.memory.time.time", clock)
        patch.setattr("limits.strategies.time.time", clock)
        for step in steps:
            clock.now += step
            quota, refused = ours.spend(who)
            assert theirs.hit(item, "k") == (refused is None)
            window = theirs.get_window_stats(item, "k")
            assert quota is not None
            assert quota.remaining == window.remaining
            assert quota.reset - 1 <= window.reset_time - clock.now <= quota.reset


def test_each_key_has_windows_of_its_own() -> None:
    keys = ApiKey(key="a", rate_limit=Rate(1, 10)), ApiKey(key="b", rate_limit=Rate(1, 10))
    north = Organisation(name="north", keys=keys)
    limiter = Limiter(MemoryCounters(Clock()))
    for who in (
        held_by(north, keys[0]),
        held_by(north, keys[1]),
        caller(Rate(1, 10), key="c"),
    ):
        assert [wait for _quota, wait in spend(limiter, who, 2)] == [None, 10]


def test_the_daily_cap_refuses_until_the_day_is_over() -> None:
    clock = Clock()
    limiter = Limiter(MemoryCounters(clock))
    who = caller(Rate(100, 1), 2)
    assert spend(limiter, who, 2) == [(Quota(2, 1, DAY), None), (Quota(2, 0, DAY), None)]
    clock.now += DAY / 2
    assert spend(limiter, who, 1) == [(Quota(2, 0, DAY // 2), DAY // 2)]
    clock.now += DAY / 2
    assert spend(limiter, who, 1) == [(Quota(2, 1, DAY), None)]


def test_the_headers_speak_of_the_window_that_binds_first() -> None:
    limiter = Limiter(MemoryCounters(Clock()))
    assert [quota.limit for quota, _wait in spend(limiter, caller(Rate(5, 10), 100), 2)] == [5, 5]
    assert [quota.limit for quota, _wait in spend(limiter, caller(Rate(50, 10), 8, key="l"), 2)] == [8, 8]


def test_requests_that_the_rate_refuses_do_not_spend_the_day() -> None:
    clock = Clock()
    limiter = Limiter(MemoryCounters(clock))
    who = caller(Rate(1, 10), 3)
    spend(limiter, who, 50)
    clock.now += 10
    assert spend(limiter, who, 2)[0][1] is None


def test_a_refusal_by_the_rate_knows_that_the_day_is_spent_too() -> None:
    limiter = Limiter(MemoryCounters(Clock()))
    assert spend(limiter, caller(Rate(2, 10), 2), 3)[-1] == (Quota(2, 0, DAY), DAY)


def test_a_refusal_by_the_cap_knows_of_a_rate_that_opens_later() -> None:
    clock = Clock()
    limiter = Limiter(MemoryCounters(clock))
    who = caller(Rate(3, 3 * DAY), 2)
    spend(limiter, who, 2)
    assert spend(limiter, who, 1)[-1] == (Quota(3, 0, 3 * DAY), 3 * DAY)


def test_what_refused_is_named() -> None:
    limiter = Limiter(MemoryCounters(Clock()))
    callers = caller(Rate(1, 10)), caller(Rate(9, 10), 1, key="l")
    spoken = [[limiter.spend(who)[1] for _ in range(2)][1] for who in callers]
    assert [str(refused).split(" exceeded")[0] for refused in spoken] == ["Rate limit", "Daily cap"]


@pytest.mark.parametrize(
    ("overrides", "limit"),
    [
        (Overrides(), Rate(7, 60)),
        (Overrides(rate_limit=Rate(4, 60)), Rate(4, 60)),
        (Overrides(rate_limit="none", daily_cap=3), Rate(3, DAY)),
        (Overrides(daily_cap=2), Rate(2, DAY)),
    ],
)
def test_what_the_command_says_wins_over_the_fixtures(overrides: Overrides, limit: Rate) -> None:
    quota, _refused = Limiter(MemoryCounters(Clock()), overrides).spend(caller(Rate(7, 60), 50))
    assert quota == Quota(limit.amount, limit.amount - 1, limit.seconds)


def test_a_key_wins_over_its_organisation_and_both_over_the_default() -> None:
    own, plain, other = ApiKey(key="a", rate_limit=Rate(2, 60)), ApiKey(key="b"), ApiKey(key="c")
    north = Organisation(name="north", keys=(own, plain), rate_limit=Rate(5, 60))
    bare = Organisation(name="bare", keys=(other,))
    limiter = Limiter(MemoryCounters(Clock()))
    quotas = [
        limiter.spend(who)[0]
        for who in (
            held_by(north, own),
            held_by(north, plain),
            held_by(bare, other),
        )
    ]
    assert [quota and quota.limit for quota in quotas] == [2, 5, DEFAULT_RATE.amount]


def test_without_any_limit_there_is_no_quota() -> None:
    assert Limiter(MemoryCounters(), Overrides("none", "none")).spend(caller(Rate(1, 1), 1)) == (None, None)


def test_decision_and_headers_agree_however_many_threads_share_a_key() -> None:
    limiter = Limiter(MemoryCounters(Clock()))
    who = caller(Rate(500, 10), 700)
    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda _: limiter.spend(who), range(1600)))
    passed = [quota.remaining for quota, refused in outcomes if quota and refused is None]
    assert sorted(passed) == list(range(500))
    assert all(quota == Quota(500, 0, 10) for quota, refused in outcomes if refused)
    assert sum(isinstance(refused, RateLimited) for _quota, refused in outcomes) == 1100


@pytest.fixture
def limited() -> tuple[FlaskClient, Clock]:
    clock = Clock()
    keys = (ApiKey(key="slow", rate_limit=Rate(2, 5)), ApiKey(key="other"))
    corpus = Corpus(organisations={"north": Organisation(name="north", keys=keys)}, rows=(), sources=())
    return create_app(corpus, settings=Settings(), clock=clock).test_client(), clock


def test_a_429_is_an_envelope_whose_retry_after_is_true(limited: tuple[FlaskClient, Clock]) -> None:
    client, clock = limited
    answers = [client.post(PATH, json=ASK, headers={"x-api-key": "slow"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    refused = answers[-1]
    assert refused.json is not None
    assert refused.json["detail"]["code"] == "rate_limited"
    assert refused.headers["RateLimit-Remaining"] == "0"
    clock.now += int(refused.headers["Retry-After"])
    assert client.post(PATH, json=ASK, headers={"x-api-key": "slow"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"), [(ASK, 200), ({}, 422), ({"entities": 1}, 422)], ids=["good", "unscoped", "wrong"]
)
def test_every_authenticated_answer_carries_the_quota_and_counts(
    limited: tuple[FlaskClient, Clock], body: object, status: int
) -> None:
    client, _clock = limited
    answers = [client.post(PATH, json=body, headers={"x-api-key": "slow"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [status, status, 429]
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert all(answer.headers["RateLimit-Limit"] == "2" for answer in answers)
    assert all(answer.headers["RateLimit-Reset"] == "5" for answer in answers)


def test_a_wrong_key_learns_no_quota_and_spends_none(limited: tuple[FlaskClient, Clock]) -> None:
    client, _clock = limited
    for _ in range(5):
        refused = client.post(PATH, json=ASK, headers={"x-api-key": "unknown"})
        assert refused.status_code == 401
        assert not any(name.startswith("RateLimit") for name, _value in refused.headers)
    assert client.post(PATH, json=ASK, headers={"x-api-key": "slow"}).headers["RateLimit-Remaining"] == "1"
