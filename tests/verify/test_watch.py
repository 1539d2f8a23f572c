"""An exchange is looked at while the next request is on its way, and whoever asks gets all that was found."""

from __future__ import annotations

import pytest

from trigger_contracts.exchange import Exchange, Reply, Request
from trigger_contracts.options import Options
from trigger_contracts.watch import Watch

_ASK = {"entities": ["x"], "user_id": "u", "mode": "retrieve"}
_TEAPOT = Exchange(Request("POST", b"{}", (), ask=_ASK), Reply(418, (), b""))


@pytest.fixture
def watch() -> Watch:
    return Watch(Options(base_url="http://127.0.0.1:9"))


def test_what_waits_is_looked_at_before_anyone_reads_the_findings(watch: Watch) -> None:
    watch(_TEAPOT)

    assert "ERR-3" in watch.findings
    assert watch.seen["ERR-3"] == 1


def test_catching_up_twice_looks_once(watch: Watch) -> None:
    watch(_TEAPOT)
    watch.catch_up()
    watch.catch_up()

    assert watch.seen["ERR-3"] == 1


def test_a_mistake_in_looking_is_raised_to_whoever_settles_and_to_nobody_on_the_way(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumbles(_: object) -> None:
        raise ValueError("a mistake of the suite")

    monkeypatch.setattr("trigger_contracts.watch.status", stumbles)
    watch(_TEAPOT)

    watch.catch_up()
    with pytest.raises(ValueError, match="a mistake of the suite"):
        watch.settle()
    watch.settle()


def test_an_exchange_after_a_mistake_is_looked_at_all_the_same(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("trigger_contracts.watch.status", lambda _: 1 / 0)
        watch(_TEAPOT)
        watch.catch_up()
    watch(_TEAPOT)

    with pytest.raises(ZeroDivisionError):
        watch.settle()
    assert "ERR-3" in watch.findings
