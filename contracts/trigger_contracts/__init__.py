"""What the contract of `POST /v1/memories/trigger` says, and the suite that checks it over HTTP."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
