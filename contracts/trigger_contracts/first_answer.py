"""Whether the first answer of a target is that of a service at all, and in what words it is said when not."""

from __future__ import annotations

from trigger_contracts.exchange import Exchange
from trigger_contracts.run import Run, is_edge


def no_service(run: Run, first: Exchange) -> str | None:
    """Why there is nothing to judge, or None when there is."""
    url = run.options.base_url
    if first.reply is None:
        return f"nothing to talk to at {url}: {first.failure}{_advice(url, first.failure or '')}"
    status = first.reply.status
    where = run.target.redact(first.reply.header("Location") or "")
    if 300 <= status < 400:
        return (
            f"{url} answers with a redirect ({status}) to {where or 'nowhere'}; "
            "redirects are never followed: give the final URL"
        )
    if is_edge(first):
        return (
            f"{url} answers {status} in HTML: a gateway or firewall "
            "in front of the service, not the service itself"
        )
    if status == 404:
        return f"{run.options.url} is not found (404); give the base URL, without the endpoint's path"
    return None


def _advice(url: str, failure: str) -> str:
    """What would probably help."""
    if failure == "connection refused" and ("127.0.0.1" in url or "localhost" in url):
        return "; is it running? the kit's own mock starts with: trigger-mock"
    if url.startswith("https:") and failure.startswith("TLS failed"):
        return "; does it speak plain http?"
    if url.startswith("http:") and failure in ("what came back is no HTTP", "the connection was reset"):
        return "; does it speak https?"
    return ""
