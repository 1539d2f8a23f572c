"""The one path of the contract."""

from __future__ import annotations

ENDPOINT = "/v1/memories/trigger"
