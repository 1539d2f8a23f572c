"""Who may speak to the control plane.

Without a token: whoever is on this machine. That is not every program that reaches the port: a web page that
a developer happens to read can send requests to loopback too, so the name asked for must be this machine's
own, and what changes anything must not come from another site. With a token: whoever sends it, from anywhere,
as `Authorization: Bearer`, or as the password of `Basic`, which a browser asks its reader for; and as a
browser sends that by itself from then on, other sites' pages are kept out here too. Knows nothing of what is
asked.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from ipaddress import ip_address

from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, Unauthorized
from werkzeug.wrappers import Request

#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Headers by which a proxy says that somebody else is asking.
_FORWARDED = (
    "Forwarded", "Via", "X-Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "CF-Connecting-Ip",
)  # fmt: skip
#: A host as a request names it: a name, an IPv4 address or an IPv6 one in brackets, and maybe a port.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def admit(request: Request, token: str) -> None:
    """Let a request through, or raise `Unauthorized` or `Forbidden` with what would be right."""
    if token:
        if not _has(request, token):
            raise Unauthorized(
                "The control plane has a token; send it as Authorization: Bearer, "
                "or as the password of Authorization: Basic.",
                www_authenticate=WWWAuthenticate("basic", {"realm": "trigger-mock", "charset": "UTF-8"}),
            )
    elif not _is_from_here(request):
        raise Forbidden(
            "Without a token the control plane answers on this machine only; set one to reach it."
        )
    elif not _names_this_machine(request.headers.get("Host", "")):
        raise Forbidden("The control plane is asked for by a name that is not this machine's own.")
    if request.method not in _SAFE and _is_of_another_site(request):
        raise Forbidden("A page of another site may not change anything here.")


def _is_from_here(request: Request) -> bool:
    """Whether the request came from this machine. One that came over no connection at all says no address: it
    was made in this process, by a test.
    """
    address = request.environ.get("REMOTE_ADDR")
    return (address is None or is_loopback(address)) and not any(
        name in request.headers for name in _FORWARDED
    )


def _has(request: Request, token: str) -> bool:
    """Whether a request carries the token."""
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        # Headers arrive as latin-1 text.
        said = sent.strip(" ").encode("latin-1", "replace")
    elif scheme.lower() == "basic":
        try:
            said = base64.b64decode(sent.strip(" "), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return False
    else:
        return False
    return hmac.compare_digest(said, token.encode())


def _is_of_another_site(request: Request) -> bool:
    """Whether a browser says that a page of another origin sent this; no other client says either header."""
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() not in _origins(request):
        return True
    return request.headers.get("Sec-Fetch-Site", "none").lower() not in ("same-origin", "none")


def _origins(request: Request) -> tuple[str, str]:
    # Behind a proxy that speaks TLS the page's scheme is not the one that arrives here.
    host = request.headers.get("Host", "").lower()
    return f"http://{host}", f"https://{host}"


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own; what is no address is not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _names_this_machine(host: str) -> bool:
    """Whether a `Host` is this machine's own name. Another site's name may lead here as well: who owns it
    decides where it leads.
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    if found[1] is not None:
        return is_loopback(found[1])
    name = found[2].lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)
