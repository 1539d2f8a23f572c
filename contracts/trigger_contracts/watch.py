"""What every answer must keep, whichever property asked for it.

A service that fails once in fifty requests is caught here: each exchange of the run passes these checks,
and what they find is held against the promise that it breaks. An exchange made to tempt one promise (a near
miss, a crowd of concurrent requests) names its owner, and then only that promise and those about form may
judge it.

Looking takes nearly as long as a quick service does to answer, so an exchange waits to be looked at until the
next request is on its way; whoever asks for what was found gets all of it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind, RowView, is_number
from trigger_contracts.form import form
from trigger_contracts.options import Options
from trigger_contracts.refused import rates, refusal, status
from trigger_contracts.target import over_the_limit

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


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A row that the target showed, and to whom."""

    role: str
    view: RowView


class Watch:
    """Looks at every exchange; keeps the first findings of each promise, and how often each was exercised."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._waiting: deque[Exchange] = deque()
        self._lock = threading.RLock()
        self._mistake: Exception | None = None
        self._findings: dict[str, list[Finding]] = {}
        self._seen: dict[str, int] = {}
        self._known: dict[str, KnownRow] = {}
        self._orders: dict[bytes, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._forms: dict[tuple[str | None, bytes], tuple[tuple[str, str], ...]] = {}

    def __call__(self, exchange: Exchange) -> None:
        """Take an exchange, to be looked at soon."""
        self._waiting.append(exchange)

    @property
    def findings(self) -> dict[str, list[Finding]]:
        """What was found against each promise, the smallest requests first."""
        self.settle()
        return self._findings

    @property
    def seen(self) -> dict[str, int]:
        """How often each promise was put to the test."""
        self.settle()
        return self._seen

    @property
    def known(self) -> dict[str, KnownRow]:
        """The rows that the target showed, by id."""
        self.settle()
        return self._known

    def settle(self) -> None:
        """Look at all that waits; what went wrong in looking, now or before, is raised here."""
        self.catch_up()
        mistake, self._mistake = self._mistake, None
        if mistake is not None:
            raise mistake

    def catch_up(self) -> None:
        """Look at all that waits, and raise nothing: this runs while an answer is on its way."""
        with self._lock:
            while self._waiting:
                try:
                    self._look(self._waiting.popleft())
                except Exception as mistake:  # noqa: BLE001 - kept for whoever settles
                    self._mistake = mistake

    def _look(self, exchange: Exchange) -> None:
        for promise, message in self._said(exchange):
            if message:
                kept = self._findings.setdefault(promise, [])
                kept.append(Finding(promise, message, exchange))
                kept.sort(key=lambda finding: len(finding.exchange.request.body))
                del kept[_MOST_KEPT:]
            self._seen[promise] = self._seen.get(promise, 0) + 1

    def _said(self, exchange: Exchange) -> Said:
        if over_the_limit(exchange) and exchange.status != 429:
            yield "RATE-2", f"over the limit the answer is {exchange.status}; expected 429"
            return
        yield from status(exchange)
        if exchange.reply is None:
            return
        yield from rates(exchange)
        if exchange.reply.status >= 400:
            yield from refusal(exchange, envelope_error=self._options.accept_envelope_error)
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
        role = answer.exchange.request.role
        for row in answer.rows:
            if row.id and answer.exchange.request.alone:
                self._known.setdefault(row.id, KnownRow(role, row))

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
