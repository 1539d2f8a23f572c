"""What the mock's tests share: small corpora, and a client that knows the key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from trigger_fixtures import default
from trigger_mock import Settings, create_app

KEY = {"x-api-key": "xtk_demo_acme"}
PATH = "/v1/memories/trigger"

Post = Callable[..., Any]


@pytest.fixture(scope="session")
def client() -> FlaskClient:
    """The shipped fixtures, a clock that stands still and limits that no test meets."""
    return create_app(
        default(), settings=Settings(), clock=lambda: 0.0, request_ids=lambda: "req-1"
    ).test_client()
