"""The form of everything that is no 200: statuses, envelopes, `RateLimit-*`, and what an error must not show.

Each check yields a promise with what is wrong, or with an empty text when it holds. A page of HTML from
something in front of the service is not the service's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from trigger_contracts.exchange import Exchange, JsonObject, Kind

Said = Iterator[tuple[str, str]]


def status(exchange: Exchange) -> Said:
    """Whether a request without fault got a status that the contract documents."""
    request, came = exchange.request, exchange.status
    if request.kind is Kind.KEYLESS and request.role == "nobody" and came == 200:
        yield "AUTH-1", "a request without credentials was answered 200; expected 401"
    if request.kind is not Kind.PLAIN:
        return
    if exchange.reply is None:
        yield "ROB-1", f"an ordinary valid request got no answer: {exchange.failure}"
        return
    if came == 429:
        return
    message = ""
    if came is not None and 300 <= came < 400:
        message = (
            f"a valid request was answered {came}, a redirect "
            f"(not followed) to {exchange.reply.header('Location')}"
        )
    elif came not in (200, 401, 422):
        html = "html" in (exchange.reply.header("Content-Type") or "").lower()
        edge = ", in HTML: something in front of the service answered" if html else ""
        message = f"a valid request was answered {came}{edge}"
    yield "ERR-3", message


_WHOLE = re.compile(r"[0-9]+")
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def rates(exchange: Exchange) -> Said:
    """Whether `RateLimit-*` are whole numbers that agree, and a 429 says what it must."""
    reply = exchange.reply
    if reply is None:
        return
    numbers: dict[str, int] = {}
    for name in RATE_HEADERS:
        for value in reply.every(name):
            whole = _WHOLE.fullmatch(value.strip())
            yield "RATE-1", "" if whole else f"{name} is {value!r}, no whole number"
            if whole:
                numbers.setdefault(name, int(value))
    limit, remaining, _ = (numbers.get(name) for name in RATE_HEADERS)
    if limit is not None and remaining is not None and remaining > limit:
        yield "RATE-1", f"RateLimit-Remaining {remaining} is more than RateLimit-Limit {limit}"
    if reply.status == 429:
        for message in too_many(exchange):
            yield "RATE-2", message


def too_many(exchange: Exchange) -> Iterator[str]:
    """What is wrong with a 429."""
    reply = exchange.reply
    if reply is None:
        return
    if exchange.code is not None and exchange.code != "rate_limited":
        yield f"a 429 says code {exchange.code!r}; expected 'rate_limited'"
    waits = reply.every("Retry-After")
    if len(waits) != 1:
        yield (
            f"a 429 carries {len(waits) or 'no'} Retry-After "
            f"header{'s' if len(waits) > 1 else ''}; expected one"
        )
    elif not _WHOLE.fullmatch(waits[0].strip()):
        yield f"Retry-After is {waits[0]!r}; expected whole seconds"
    if all(reply.header(name) is None for name in RATE_HEADERS):
        yield "a 429 carries no RateLimit-* header"


def refusal(exchange: Exchange, *, envelope_error: bool) -> Said:
    """Whether a refusal is in a documented shape, is JSON, and shows no internals."""
    reply, request = exchange.reply, exchange.request
    if reply is None or (request.method == "HEAD") or (request.method != "POST" and not reply.body):
        return
    edge = "html" in (reply.header("Content-Type") or "").lower() and reply.status in (
        403,
        407,
        413,
        414,
        431,
        502,
        503,
        504,
    )
    if reply.status in (401, 422, 429, 500):
        yield "ERR-1", envelope_fault(exchange, accept_error=envelope_error) or ""
    if edge or reply.status >= 600:
        return
    media = (reply.header("Content-Type") or "").partition(";")[0].strip().lower()
    if media != "application/json":
        yield "ERR-2", f"a {reply.status} is {media or 'without a content type'}; expected application/json"
    elif exchange.json is None and reply.body.strip() != b"null":
        yield "ERR-2", f"a {reply.status} claims application/json and its body is no JSON"
    else:
        trace = leak(exchange)
        yield "ERR-2", f"a {reply.status} shows internals: {trace}" if trace else ""


def envelope_fault(exchange: Exchange, *, accept_error: bool = False) -> str | None:
    """Why an error body is in no documented shape, or None."""
    body, status = exchange.json, exchange.status
    if not isinstance(body, dict):
        return f"a {status} has a body that is no JSON object"
    document = cast("JsonObject", body)
    detail = document.get("detail")
    if status == 422 and isinstance(detail, list):
        for entry in cast("list[object]", detail):
            fields = cast("JsonObject", entry) if isinstance(entry, dict) else {}
            loc = fields.get("loc")
            parts = cast("list[object]", loc) if isinstance(loc, list) else None
            if (
                parts is None
                or not all(isinstance(one, str | int) and not isinstance(one, bool) for one in parts)
                or not isinstance(fields.get("msg"), str)
                or not isinstance(fields.get("type"), str)
            ):
                return "a 422 lists an entry that is not {loc, msg, type}"
        return None
    where = "detail"
    if detail is None and isinstance(document.get("error"), dict):
        if not accept_error:
            return (
                f"a {status} carries its error under `error`; the contract "
                "says `detail` (--accept-envelope error accepts it)"
            )
        detail, where = document["error"], "error"
    if not isinstance(detail, dict):
        return f"a {status} has no `{where}` object with code and message"
    inner = cast("JsonObject", detail)
    for name in ("code", "message"):
        if not isinstance(inner.get(name), str):
            return f"a {status} has no text in {where}.{name}"
    return None


#: Folders of a machine, which no address of a service begins with.
_MACHINE = "usr|home|srv|opt|var|root|etc|tmp|mnt|proc|nix|private|Users|github|runner"
#: Folders of a container, which may begin an address as well: a file must end the path.
_CONTAINER = "app|workspace|build|code|src|data|lib|layers|function|run"
_SOURCE = "py|pyc|js|mjs|ts|go|rs|java|kt|rb|php|cs|so|dll|sql|sock|db|sqlite|ini|toml|pem|key|log"
# Every repetition is bounded, so that no text takes longer than its length.
_TRACES = (
    re.compile(r"Traceback \(most recent call last\)"),
    re.compile(r'File "[^"]{1,300}", line \d+'),
    re.compile(rf"(?<![\w/:.])/(?:{_MACHINE})/[\w.@/-]{{1,200}}"),
    re.compile(rf"(?<![\w/:.])/(?:{_CONTAINER})/[\w.@/-]{{0,200}}\.\w{{1,9}}\b"),
    re.compile(r"\bfile:/{1,4}[\w.@/-]{1,200}"),
    re.compile(rf"(?<![\w/:.?=-])(?:[\w.-]{{1,60}}/){{1,12}}[\w.-]{{1,60}}\.(?:{_SOURCE})\b"),
    re.compile(r"\b[A-Za-z]:\\+(?:[\w .-]{1,60}\\+){1,12}[\w.-]+"),
    re.compile(r"\bat [\w$.<>]{1,200}\((?:[\w./-]{1,100}:\d+(?::\d+)?|Native Method)\)"),
    re.compile(
        r"(?<![\w/-])[\w/-]{1,200}\.(?:py|js|ts|go|rs|java|rb|php|cs)(?::\d+|\", line \d+|, line \d+)"
    ),
    re.compile(r"\b(?:site-packages|node_modules|goroutine \d+ \[)"),
    re.compile(r"\bpanic: runtime error"),
)
_LINK = re.compile(r"\b(?!file:)[a-z]+://[^\s\"']+")
#: No more of an error than this is searched: nobody prints a longer one by intent.
_LONGEST_READ = 200_000
#: Headers whose values are addresses by their nature.
_ADDRESSED = ("location", "content-location", "link", "set-cookie", "refresh", "content-security-policy")


def leak(exchange: Exchange) -> str | None:
    """A stack trace or file path that an error shows and that the request did not bring along."""
    brought = exchange.request.body.decode("utf-8", "replace")
    shown = [exchange.text]
    if exchange.reply is not None:
        shown += [value for name, value in exchange.reply.headers if name.lower() not in _ADDRESSED]
    for part in shown:
        part = part[:_LONGEST_READ]
        text = _LINK.sub("", part).replace('\\"', '"')
        for pattern in _TRACES:
            for found in pattern.finditer(text):
                if found.group() not in brought:
                    return found.group()[:120]
    return None
