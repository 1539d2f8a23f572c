"""Waiting for a limit is counted as a reader of the clock would: threads that wait together wait once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trigger_contracts.exchange import Reply, Request
from trigger_contracts.options import Options
from trigger_contracts.promises import Unjudged
from trigger_contracts.target import Target

_LIMITED = Reply(429, (("Retry-After", "10"),), b"")
_ASK = Request("POST", b"{}", ())


class _LimitedOnce:
    """Refuses the first request of each thread."""

    def __init__(self) -> None:
        self._told = threading.local()

    def send(self, _: Request, **__: object) -> Reply:
        refused, self._told.refused = getattr(self._told, "refused", False), True
        return Reply(200, (), b"{}") if refused else _LIMITED


class _Limited:
    """Refuses every request."""

    def send(self, _: Request, **__: object) -> Reply:
        return _LIMITED


def test_threads_that_wait_together_spend_the_wait_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(4, timeout=10)
    target = Target(
        Options(base_url="http://127.0.0.1:1", max_wait=12),
        sleep=lambda _: [together.wait()].clear(),
        clock=lambda: 100.0,
    )
    monkeypatch.setattr(target, "_wire", _LimitedOnce())

    with ThreadPoolExecutor(4) as pool:
        statuses = [one.status for one in pool.map(target.send, [_ASK] * 4)]

    assert statuses == [200] * 4
    assert target.waited == pytest.approx(10, abs=0.1)


def test_waits_one_after_another_are_all_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    target = Target(
        Options(base_url="http://127.0.0.1:1", max_wait=25), sleep=slept.append, clock=lambda: 100.0
    )
    monkeypatch.setattr(target, "_wire", _Limited())

    with pytest.raises(Unjudged, match="rate limited"):
        target.send(_ASK)

    assert slept == pytest.approx([10, 10], abs=0.1)
