"""One item a promise: `pytest --pyargs trigger_contracts --trigger-base-url URL`, with -k, -x and xdist as
usual.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from trigger_contracts.promises import catalogue

if TYPE_CHECKING:
    from trigger_contracts.session import Session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """An item for each selected promise, named after its id."""
    if "promise" in metafunc.fixturenames:
        from trigger_contracts.plugin import SESSION

        config = metafunc.config
        chosen = config.stash[SESSION].wanted if SESSION in config.stash else catalogue()
        metafunc.parametrize("promise", [one.id for one in chosen])


def test_promise(
    trigger_session: Session, promise: str, record_property: Callable[[str, object], None]
) -> None:
    """The promise named by the item holds."""
    outcome, others = trigger_session.judge(promise)
    record_property("trigger", json.dumps([outcome, *others]))
    if outcome["state"] == "broken":
        evidence = outcome["evidence"]
        pytest.fail(
            f"{outcome['sentence']}\n{evidence['message']}\n\n{evidence['curl']}\n\n{evidence['got']}",
            pytrace=False,
        )
    if outcome["state"] == "not exercised":
        pytest.skip(f"not exercised: {outcome['reason']}")
