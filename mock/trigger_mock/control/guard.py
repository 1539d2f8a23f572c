"""Who may speak to the control plane.

Without a token: whoever is on this machine. That is not every program that reaches the port: a web page that
a developer happens to read can send requests to loopback too, so the name asked for must be this machine's
own, and what changes anything must not come from another site. With a token: whoever sends it as
`Authorization: Bearer`, from anywhere. Knows nothing of what is asked.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from urllib.parse import urlsplit

from werkzeug.exceptions import Forbidden, Unauthorized
from werkzeug.wrappers import Request

#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Headers by which a proxy says that somebody else is asking.
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip")


def admit(request: Request, token: str) -> None:
    """Let a request through, or raise `Unauthorized` or `Forbidden` with what would be right."""
    if token:
        scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(sent.strip().encode(), token.encode()):
            raise Unauthorized("The control plane has a token; send it as Authorization: Bearer.")
        return
    # A call without an address came through no network: a test's client, within this process.
    if not is_loopback(request.remote_addr or "127.0.0.1") or any(
        name in request.headers for name in _FORWARDED
    ):
        raise Forbidden(
            "Without a token the control plane answers on this machine only; set one to reach it."
        )
    if not _names_this_machine(request.host):
        raise Forbidden("The control plane is asked for by a name that is not this machine's own.")
    origin = request.headers.get("Origin")
    if request.method not in _SAFE and (
        (origin is not None and urlsplit(origin).netloc != request.host)
        or request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
    ):
        raise Forbidden("A page of another site may not change anything here.")


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own; what is no address is not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _names_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)
