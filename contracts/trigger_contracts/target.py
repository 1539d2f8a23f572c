"""The implementation under test: how it is reached, as whom, how gently, and what was seen of it.

Pacing, waiting out a 429, and the budgets of requests and compose calls are decided here, so that no
property can forget them. A 429 is waited out and judged by nobody but the promises about rates. Every
exchange passes `watch`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import metadata
from typing import cast

from trigger_contracts.exchange import Exchange, Reply, Request
from trigger_contracts.json_values import is_object
from trigger_contracts.options import Options
from trigger_contracts.promises import Unjudged
from trigger_contracts.redaction import Redactor
from trigger_contracts.wire import Unreachable, Wire


def _version() -> str:
    try:
        return metadata.version("trigger-kit")
    except metadata.PackageNotFoundError:  # a checkout that was never installed
        return "0"


USER_AGENT = f"trigger-verify/{_version()}"
JSON = "application/json"

Note = Callable[[str], None]


class Target:
    """One base URL with its keys, and the manners of talking to it."""

    def __init__(
        self,
        options: Options,
        *,
        note: Note = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self.redact = Redactor((options.api_key, options.other_api_key, options.limited_api_key))
        self.sent = 0
        self.composed = 0
        self.rate_limited = 0
        self.waited = 0.0
        self.style = "x-api-key"
        self.on_limited: Callable[[Exchange], None] = lambda _: None
        self.meanwhile: Callable[[], None] = lambda: None
        self._wire = Wire(options)
        self._note = note
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._next = 0.0
        self._idle_zeros = 0
        self._not_before: dict[str, float] = {}
        self._asleep: dict[int, float] = {}  # which threads wait, and until when

    def credentials(self, role: str, style: str | None = None) -> tuple[tuple[str, str], tuple[str, str]]:
        """The header that carries a key, as sent and as a report shows it."""
        options = self.options
        key, name = {
            "main": (options.api_key, options.key_name),
            "other": (options.other_api_key, options.other_key_name),
            "limited": (options.limited_api_key, options.limited_key_name),
        }[role]
        if (style or self.style) == "bearer":
            return ("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer ${name}")
        return ("x-api-key", key), ("x-api-key", f"${name}")

    def send(self, request: Request, *, fresh: bool = False, patient: bool = True) -> Exchange:
        """Send within the manners; a 429 is waited out when `patient`, and given back when it stays."""
        while True:
            exchange = self._once(request, fresh=fresh, patient=patient)
            if not over_the_limit(exchange) or not patient:
                return exchange
            self.on_limited(exchange)
            with self._lock:
                self.rate_limited += 1
            wait = _wanted_wait(cast("Reply", exchange.reply))
            if not self._pause(wait, "rate limited"):
                raise Unjudged(
                    f"rate limited: the target asked to wait {wait:g} "
                    f"s more, and {self.waited:.0f} s were waited already"
                    " (--max-wait)",
                    "rate",
                )

    def close(self) -> None:
        """Close every connection."""
        self._wire.close()

    def drop_connection(self) -> None:
        """Close this thread's connection."""
        self._wire.forget()

    def _once(self, request: Request, *, fresh: bool, patient: bool) -> Exchange:
        options = self.options
        if patient:
            ahead = self._not_before.get(request.role, 0.0) - self._clock()
            if ahead > 0:
                self._pause(ahead, "the target's window is used up")
            self._not_before.pop(request.role, None)
        with self._lock:
            if options.max_requests is not None and self.sent >= options.max_requests:
                raise Unjudged(
                    f"the budget of {options.max_requests} requests is spent (--max-requests)", "budget"
                )
            self.sent += 1
            number = self.sent
            turn = 0.0
            if options.rate:
                turn = max(self._next, self._clock())
                self._next = turn + 1 / options.rate
        if turn > self._clock():
            self._sleep(turn - self._clock())
        try:
            reply, failure = self._wire.send(request, fresh=fresh, meanwhile=self.meanwhile), None
        except Unreachable as error:
            reply, failure = None, str(error)
        exchange = Exchange(request, reply, failure, number)
        if reply is not None:
            self._mind_the_window(request.role, reply)
            if reply.status == 200 and _is_compose(exchange):
                with self._lock:
                    self.composed += 1
        return exchange

    def _mind_the_window(self, role: str, reply: Reply) -> None:
        """When the target says that nothing remains, the next request waits; a target that cries wolf is
        not heeded.
        """
        remaining, reset = (
            _whole(reply.header("RateLimit-Remaining")),
            _whole(reply.header("RateLimit-Reset")),
        )
        if reply.status == 429 or remaining != 0 or not reset:
            if remaining:
                self._idle_zeros = 0
            return
        self._idle_zeros += 1
        if self._idle_zeros <= 2 and reset < 3600:
            self._not_before[role] = self._clock() + reset

    def wait(self, seconds: float, why: str) -> None:
        """A wait that the caller has bounded; it is said and counted."""
        with self._lock:
            self.waited += seconds
        self._note(f"{why}: waiting {seconds:.1f} s")
        self._sleep(seconds)

    def _pause(self, seconds: float, why: str) -> bool:
        with self._lock:
            # Threads that wait at the same time cost the run that time once.
            began = self._clock()
            covered = max(self._asleep.values(), default=began)
            more = max(0.0, began + seconds - max(began, covered))
            if self.waited + more > self.options.max_wait:
                return False
            self.waited += more
            self._asleep[threading.get_ident()] = began + seconds
        self._note(f"{why}: waiting {seconds:.1f} s")
        try:
            self._sleep(seconds)
        finally:
            with self._lock:
                del self._asleep[threading.get_ident()]
        return True


def json_headers(*extra: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers of an ordinary request."""
    return (("User-Agent", USER_AGENT), ("Accept", JSON), ("Content-Type", JSON), *extra)


def over_the_limit(exchange: Exchange) -> bool:
    """Whether this is a refusal for asking too often, in the status that says so or in another."""
    reply = exchange.reply
    if reply is None or reply.status == 429 or reply.status < 400:
        return reply is not None and reply.status == 429
    spent = _whole(reply.header("RateLimit-Remaining")) == 0 or reply.header("Retry-After") is not None
    return exchange.code == "rate_limited" or (reply.status in (402, 403, 420, 503, 509) and spent)


def _wanted_wait(reply: Reply) -> float:
    for name in ("Retry-After", "RateLimit-Reset"):
        seconds = _whole(reply.header(name))
        if seconds is not None:
            return float(max(seconds, 0)) + 0.05
    return 1.0


def _whole(text: str | None) -> int | None:
    return (
        int(text)
        if text is not None and text.isascii() and text.strip().isdigit() and len(text) < 10
        else None
    )


def _is_compose(exchange: Exchange) -> bool:
    body = exchange.json
    return is_object(body) and body.get("mode") == "compose"
