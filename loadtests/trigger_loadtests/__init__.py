"""Load any deployment of `POST /v1/memories/trigger` the way agents do, and say honestly whether it copes."""

from __future__ import annotations

__all__: list[str] = []
