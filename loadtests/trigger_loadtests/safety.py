"""What may be loaded: this machine freely, anything else only when its host is spelled out as one's own.

A load test against a stranger is an attack. Hosts are compared as written in the URL (lower case); names
that resolve to loopback are not trusted to stay there, except `localhost`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

#: The most that one run may ask of a target, whatever the options say.
MOST_REQUESTS = 10_000_000
MOST_SECONDS = 24 * 3600.0


class TargetError(ValueError):
    """A target that cannot or must not be loaded; says why and what would be right."""


def base_url(text: str) -> str:
    """Return a base URL without its trailing slash, or say what is wrong with it."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TargetError(f"the target must be a URL such as http://127.0.0.1:8080, not {_shown(text)!r}")
    if parts.username is not None or parts.password is not None:
        raise TargetError("the target URL must not carry credentials; give the key with --api-key-env")
    if parts.query or parts.fragment:
        raise TargetError("the target must be a base URL, without a query or a fragment")
    try:
        _ = parts.port
    except ValueError as error:
        raise TargetError(
            f"the target's port is not a number between 0 and 65535: {_shown(text)!r}"
        ) from error
    return text.rstrip("/").removesuffix("/v1/memories/trigger")


def allow(target: str, owned: Iterable[str]) -> None:
    """Raise unless the target is this machine or its host was named as one's own."""
    host = (urlsplit(target).hostname or "").lower()
    if is_loopback(host) or host in {name.lower().strip("[]") for name in owned}:
        return
    raise TargetError(
        f"{host} is not this machine. Load only what is yours: "
        f"if it is, say so with --i-own-this-target {host}"
    )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(text: str) -> str:
    """Return a URL as it may be shown: anything before an @ could be a password."""
    return text.rpartition("@")[2]
