"""A local server that answers `POST /v1/memories/trigger` as the real service does, from fixtures.

`create_app` makes the WSGI application for those who embed it; the command `trigger-mock` serves it.
`MockServer` and `TriggerMock` are what a test steers it by, over its control plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trigger_mock.app import create_app
    from trigger_mock.bench_client import MockServer, TriggerMock
    from trigger_mock.settings import Settings

__all__ = ["MockServer", "Settings", "TriggerMock", "create_app"]


def __getattr__(name: str) -> Any:
    # On demand, so that whoever needs one part of the package does not wait for Flask.
    if name == "create_app":
        from trigger_mock.app import create_app

        return create_app
    if name in ("MockServer", "TriggerMock"):
        from trigger_mock import bench_client

        return getattr(bench_client, name)
    if name == "Settings":
        from trigger_mock.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
