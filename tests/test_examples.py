"""The requests of `examples/`, which are what real clients send: each recalls what stands beside it, on a
real port.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trigger_contracts.validation import request_violations, response_violations
from trigger_fixtures import default
from trigger_mock import create_app
from trigger_mock.server import serving

EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((EXAMPLES / "expected.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(default())) as base_url:
        yield f"{base_url}/v1/memories/trigger"


def test_every_request_says_what_it_recalls() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in (EXAMPLES / "requests").iterdir())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_request_of_a_real_client_recalls_what_is_expected(url: str, name: str) -> None:
    expected = EXPECTED[name]
    body = (EXAMPLES / "requests" / name).read_bytes()
    sent = {"Content-Type": "application/json", "x-api-key": "xtk_demo_acme", **expected.get("headers", {})}
    with urllib.request.urlopen(urllib.request.Request(url, body, sent)) as reply:
        answer = json.load(reply)
        headers = reply.headers

    recalled = [(row["type"], row["details"]["matched_on"], row["text"]) for row in answer["data"]]
    assert [(kind, matched) for kind, matched, _ in recalled] == [
        (kind, matched) for kind, matched, _ in expected["rows"]
    ]
    assert all(
        text.startswith(start) for (_, _, text), (_, _, start) in zip(recalled, expected["rows"], strict=True)
    )
    assert request_violations(json.loads(body)) == []
    assert response_violations(200, answer, headers.items()) == []
    assert headers["X-Request-Id"] == sent.get("X-Request-Id", headers["X-Request-Id"])
