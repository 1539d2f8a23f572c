"""What every answer must keep, whichever property asked for it.

A service that fails once in fifty requests is caught here: each exchange of the run passes these checks,
and what they find is held against the promise that it breaks. An exchange made to tempt one promise (a near
miss, a crowd of concurrent requests) names its owner, and then only that promise and those about form may
judge it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind, RowView, is_number
from trigger_contracts.json_values import is_array
from trigger_contracts.target import over_the_limit

if TYPE_CHECKING:
    from trigger_contracts.run import Run

AXES = ("user_id", "agent_id", "app_id")
_MOST_KEPT = 5
#: So many answers are known by their bytes, none of them longer than this.
_FORMS_KEPT = 512
_LONGEST_KEPT = 32 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an answer showed against a promise."""

    promise: str
    message: str
    exchange: Exchange


Said = Iterator[tuple[str, str]]


class Watch:
    """Looks at every exchange; keeps the first findings of each promise, and how often each was exercised."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.findings: dict[str, list[Finding]] = {}
        self.seen: dict[str, int] = {}
        self._orders: dict[bytes, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._forms: dict[tuple[str | None, bytes], tuple[tuple[str, str], ...]] = {}

    def __call__(self, exchange: Exchange) -> None:
        """Check one exchange."""
        for promise, message in self._said(exchange):
            if message:
                kept = self.findings.setdefault(promise, [])
                kept.append(Finding(promise, message, exchange))
                kept.sort(key=lambda finding: len(finding.exchange.request.body))
                del kept[_MOST_KEPT:]
            self.seen[promise] = self.seen.get(promise, 0) + 1

    def _said(self, exchange: Exchange) -> Said:
        if over_the_limit(exchange) and exchange.status != 429:
            yield "RATE-2", f"over the limit the answer is {exchange.status}; expected 429"
            return
        yield from _status(exchange)
        if exchange.reply is None:
            return
        yield from _rates(exchange)
        if exchange.reply.status >= 400:
            yield from _refusal(exchange, envelope_error=self._run.options.accept_envelope_error)
        elif exchange.reply.status == 200 and exchange.request.method == "POST":
            yield from self._answer(exchange)

    def _answer(self, exchange: Exchange) -> Said:
        answer, request = Answer(exchange), exchange.request
        if request.kind in (Kind.PLAIN, Kind.ODD):
            yield from self._form(exchange)
        if not answer.body or request.ask is None or request.kind not in (Kind.PLAIN, Kind.ODD):
            return
        self._remember(answer)
        for promise, message in (
            *_mode(answer, request.ask),
            *_directives(answer, request.ask),
            *_scope(answer, request.ask),
            *self._order(answer, request.ask),
        ):
            if request.owner is None:
                yield promise, message

    def _form(self, exchange: Exchange) -> Said:
        """The form of a 200; most answers of a run were given before, to the byte."""
        reply = exchange.reply
        if reply is None or len(reply.body) > _LONGEST_KEPT:
            yield from form(exchange)
            return
        key = reply.header("Content-Type"), reply.body
        if key not in self._forms:
            if len(self._forms) >= _FORMS_KEPT:
                self._forms.clear()
            self._forms[key] = tuple(form(exchange))
        yield from self._forms[key]

    def _remember(self, answer: Answer) -> None:
        from trigger_contracts.run import KnownRow

        role = answer.exchange.request.role
        for row in answer.rows:
            if row.id and answer.exchange.request.alone:
                self._run.known.setdefault(row.id, KnownRow(role, row))

    def _order(self, answer: Answer, ask: JsonObject) -> Said:
        """The same retrieve request, the same rows in the same order, however far apart they were sent."""
        request = answer.exchange.request
        if ask.get("mode") != "retrieve" or len(answer.rows) < 2 or request.role != "main":
            return
        now = (tuple(row.id for row in answer.rows), tuple(row.text for row in answer.rows))
        before = self._orders.setdefault(request.body, now)
        if before is now:
            return
        # Equal texts under other ids are the business of the promise about ids.
        same_rows = sorted(before[1]) == sorted(now[1])
        changed = before[0] != now[0] and before[1] != now[1]
        yield (
            "ORDER-1",
            (
                "the same request brought " + ("another order" if same_rows else "other rows")
                if changed
                else ""
            ),
        )


def _status(exchange: Exchange) -> Said:
    request, status = exchange.request, exchange.status
    if request.kind is not Kind.PLAIN:
        return
    if exchange.reply is None:
        yield "ROB-1", f"an ordinary valid request got no answer: {exchange.failure}"
        return
    if status == 429:
        return
    message = ""
    if status is not None and 300 <= status < 400:
        message = (
            f"a valid request was answered {status}, a redirect "
            f"(not followed) to {exchange.reply.header('Location')}"
        )
    elif status not in (200, 401, 422):
        html = "html" in (exchange.reply.header("Content-Type") or "").lower()
        edge = ", in HTML: something in front of the service answered" if html else ""
        message = f"a valid request was answered {status}{edge}"
    yield "ERR-3", message


_WHOLE = re.compile(r"[0-9]+")
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def _rates(exchange: Exchange) -> Said:
    reply = exchange.reply
    if reply is None:
        return
    values = {name: reply.header(name) for name in RATE_HEADERS}
    for name, value in values.items():
        if value is not None:
            yield "RATE-1", "" if _WHOLE.fullmatch(value.strip()) else f"{name} is {value!r}, no whole number"
    limit, remaining = values["RateLimit-Limit"], values["RateLimit-Remaining"]
    if (
        limit
        and remaining
        and _WHOLE.fullmatch(limit.strip())
        and _WHOLE.fullmatch(remaining.strip())
        and int(remaining) > int(limit)
    ):
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


def _refusal(exchange: Exchange, *, envelope_error: bool) -> Said:
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


_TRACES = (
    re.compile(r"Traceback \(most recent call last\)"),
    re.compile(r'File "[^"]+", line \d+'),
    re.compile(
        r"(?<![\w/:.])/(?:usr|home|app|srv|opt|var|root|etc|tmp|workspace|build|code|src|mnt|proc|data|lib)/[\w.@/-]+"
    ),
    re.compile(r"[A-Za-z]:\\+(?:[\w .-]+\\+)+[\w.-]+"),
    re.compile(r"\bat [\w$.<>]+\((?:[\w./-]+:\d+(?::\d+)?|Native Method)\)"),
    re.compile(r"\b[\w/-]+\.(?:py|js|ts|go|rs|java|rb|php|cs)(?::\d+|\", line \d+|, line \d+)"),
    re.compile(r"\b(?:site-packages|node_modules|goroutine \d+ \[)"),
    re.compile(r"\bpanic: runtime error"),
)
_LINK = re.compile(r"https?://[^\s\"']+")


def leak(exchange: Exchange) -> str | None:
    """A stack trace or file path that an error shows and that the request did not bring along."""
    brought = exchange.request.body.decode("utf-8", "replace")
    text = _LINK.sub("", exchange.text).replace('\\"', '"')
    for pattern in _TRACES:
        for found in pattern.finditer(text):
            if found.group() not in brought:
                return found.group()[:120]
    return None


# ------------------------------------------------------------------ the form of a 200


def form(exchange: Exchange) -> Said:
    """Everything about the shape of a 200."""
    reply = exchange.reply
    if reply is None:
        return
    media = (reply.header("Content-Type") or "").partition(";")[0].strip().lower()
    body = exchange.json
    if media != "application/json":
        yield "SHAPE-1", f"a 200 is {media or 'without a content type'}; expected application/json"
        return
    if not isinstance(body, dict):
        yield "SHAPE-1", "a 200 has a body that is no JSON object"
        return
    yield "SHAPE-1", next(schema_faults(cast("JsonObject", body)), "")
    yield from _constants(Answer(exchange))
    yield "SHAPE-3", _timings_fault(cast("JsonObject", body)) or ""


def schema_faults(body: JsonObject) -> Iterator[str]:
    """Violations of the effective contract, less those that a promise of their own judges."""
    from trigger_contracts.validation import response_violations

    try:
        violations = response_violations(200, body)
    except (ValueError, TypeError, RecursionError):
        return  # a number that JSON cannot hold: the promise about timings says so
    for one in violations:
        if not _judged_elsewhere(one.pointer, body):
            yield f"{one.pointer}: {one.message}"


def _judged_elsewhere(pointer: str, body: JsonObject) -> bool:
    parts = [part for part in pointer.removeprefix("#").split("/") if part]
    value = _at(body, parts)
    match parts:
        case ["context"]:
            return isinstance(value, str) or value is None
        case ["context_selection_applied"]:
            return isinstance(value, bool)
        case ["stage_timings", *_]:
            return isinstance(value, dict) or is_number(value) or isinstance(value, float) or value is None
        case ["data", _, "type"]:
            return value in ("fact", "artifact", "episode")
        case ["data", _, "score"]:
            return value is None or is_number(value)
        case ["data", _, "id" | "created_at" | "updated_at"]:
            return isinstance(value, str)
        case ["data", _, "details", "because" | "last_confirmed_at"]:
            return value is None or isinstance(value, str)
        case ["data", _, "details", "confidence"]:
            return value is None or is_number(value)
        case ["data", _, "details", "matched_on"]:
            return value in (None, [])
        case []:
            return "stage_timings" not in body
        case _:
            return False


def _at(value: Any, parts: list[str]) -> Any:
    for part in parts:
        try:
            value = value[int(part)] if is_array(value) else value[part.replace("~1", "/").replace("~0", "~")]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value


_RFC3339 = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt "
    r"]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)


def is_timestamp(text: str) -> bool:
    """Whether a text is an RFC 3339 date-time of a day that exists."""
    if not _RFC3339.fullmatch(text) or not text.isascii():
        return False
    try:
        datetime.strptime(text[:10], "%Y-%m-%d")  # noqa: DTZ007 - the day alone is read
    except ValueError:
        return False
    return True


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in its usual spelling."""
    try:
        return len(text) == 36 and str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _constants(answer: Answer) -> Said:
    said = answer.body.get("object", "search")
    yield "SHAPE-2", "" if said == "search" else f"object is {said!r}; expected 'search'"
    ids = [row.id for row in answer.rows]
    if len(set(ids)) != len(ids):
        yield "SHAPE-2", "two rows of one answer carry the same id"
    for row in answer.rows:
        yield "SHAPE-2", next(_row_constants(row), "")
        score = row.raw.get("score")
        yield "SHAPE-4", "" if score is None else f"a row has score {score!r}; expected null"


def _row_constants(row: RowView) -> Iterator[str]:
    said = row.raw.get("object", "memory")
    if said != "memory":
        yield f"a row says object {said!r}; expected 'memory'"
    if not isinstance(row.raw.get("id"), str) or not is_uuid(str(row.raw["id"])):
        yield f"a row has id {row.raw.get('id')!r}; expected a UUID"
    if "details" in row.raw and not isinstance(row.raw["details"], dict):
        yield "a row has details that are no object"
    for where, name in ((row.raw, "created_at"), (row.raw, "updated_at"), (row.details, "last_confirmed_at")):
        stamp = where.get(name)
        if stamp is not None and not (isinstance(stamp, str) and is_timestamp(stamp)):
            yield f"{name} is {stamp!r}; expected an RFC 3339 date-time"


def _timings_fault(body: JsonObject) -> str | None:
    timings = body.get("stage_timings")
    if not isinstance(timings, dict):
        return (
            "stage_timings is missing"
            if "stage_timings" not in body
            else f"stage_timings is {timings!r}; expected an object"
        )
    for name, value in cast("Mapping[str, Any]", timings).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"stage_timings.{name} is {value!r}; expected a number"
        if not math.isfinite(value) or value < 0:
            return f"stage_timings.{name} is {value!r}; expected a finite number of at least 0"
    return None


# ------------------------------------------------------------------ what a 200 says


def _mode(answer: Answer, ask: JsonObject) -> Said:
    asked = ask.get("mode", "compose")
    said = answer.body.get("mode")
    if asked not in ("retrieve", "compose"):
        return
    yield (
        "MODE-1",
        ""
        if said == asked
        else (
            f"mode is {said!r}; the request "
            f"{'said' if 'mode' in ask else 'left it to the default,'} {asked!r}"
        ),
    )
    if said != asked:
        return  # what was done is told by what was said; the echo has its own promise
    if asked == "retrieve":
        wrong = ""
        if answer.context is not None:
            wrong = "context is not null under retrieve"
        elif answer.applied not in (False, None):
            wrong = f"context_selection_applied is {answer.applied!r} under retrieve"
        yield "MODE-2", wrong
        for row in answer.rows:
            present = [name for name in ("because", "confidence") if row.details.get(name) is not None]
            yield "MODE-3", f"a row carries {' and '.join(present)} under retrieve" if present else ""
    elif answer.rows:
        filled = isinstance(answer.context, str) and bool(answer.context.strip())
        yield (
            "MODE-4",
            "" if filled else f"compose kept {len(answer.rows)} rows and context is {answer.context!r}",
        )
    for row in answer.rows:
        confidence = row.details.get("confidence")
        if confidence is not None:
            fits = is_number(confidence) and 0 <= confidence <= 1
            yield "MODE-6", "" if fits else f"confidence is {confidence!r}; expected a number from 0 to 1"


def _directives(answer: Answer, ask: JsonObject) -> Said:
    include = ask.get("include")
    entities = ask.get("entities")
    for row in answer.rows:
        if row.type not in ("lesson", "procedure"):
            yield "TYPE-1", f"a row is a {row.type!r}; only lessons and procedures are recalled"
        else:
            yield "TYPE-1", ""
            if isinstance(include, list) and include:
                fits = row.type in include
                yield "TYPE-2", "" if fits else f"include is {include} and a row is a {row.type}"
        if isinstance(row.raw.get("details"), dict):
            yield (
                "MATCH-5",
                _matched_fault(
                    row, cast("list[str]", entities) if ask.get("action") is None and entities else None
                )
                or "",
            )


def _matched_fault(row: RowView, sent: list[str] | None) -> str | None:
    matched = row.details.get("matched_on")
    if not isinstance(matched, list) or not matched:
        return f"matched_on is {matched!r}; expected at least one of the row's trigger_entities"
    if "trigger_entities" in row.details and (beyond := set(row.matched_on) - set(row.trigger_entities)):
        return f"matched_on names {sorted(beyond)}, which the row's trigger_entities do not hold"
    if sent is not None and (beyond := set(row.matched_on) - set(sent)):
        return f"matched_on names {sorted(beyond)}, which was not sent"
    return None


def _scope(answer: Answer, ask: JsonObject) -> Said:
    for row in answer.rows:
        yield "SCOPE-1", outside(row, ask) or ""


def outside(row: RowView, ask: Mapping[str, Any]) -> str | None:
    """Which axis of the request a row does not meet, or None."""
    for axis in AXES:
        wanted = ask.get(axis)
        if wanted is not None and row.raw.get(axis) != wanted:
            return f"the request pins {axis} to {wanted!r} and a row has {row.raw.get(axis)!r}"
    groups = ask.get("group_ids")
    if groups and not row.groups & set(cast("list[str]", groups)):
        return f"the request names group_ids {groups} and a row has {sorted(row.groups)}"
    return None
