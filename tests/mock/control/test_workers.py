"""With several workers the control plane is off, and whoever asked for it is told."""

from __future__ import annotations

import pytest

from tests.mock.processes import running
from tests.mock.raw import exchange

NOTE = "note: the control plane is off: several workers would each be steered by themselves\n"


@pytest.mark.parametrize(("asked", "said"), [(["--control"], 1), ([], 0), (["--no-control"], 0)])
def test_with_several_workers_it_is_off_and_says_so_where_it_was_asked_for(
    asked: list[str], said: int
) -> None:
    with running("--port", "0", "--workers", "2", *asked) as up:
        answer = exchange(up.address, b"GET /_mock/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer.status == 404
        assert up.log.count(NOTE) == said
