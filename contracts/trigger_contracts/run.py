"""One run: what it remembers of the target, and the view of it that a property gets.

`Run` outlives the properties: which rows were seen, what the same request brought before, what every answer
showed. `Api` is one property's hands: it builds requests, counts what was really exercised, and turns
trouble of the target into 'not judged' so that a property accuses of nothing but its own sentence.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

from trigger_contracts.exchange import Answer, Exchange, JsonObject, Kind, Request, RowView
from trigger_contracts.options import Options
from trigger_contracts.probes import Probe, diverse
from trigger_contracts.promises import Broken, NotExercised, Unjudged
from trigger_contracts.target import Note, Target, json_headers
from trigger_contracts.watch import Watch

T = TypeVar("T")

#: How often a request that met trouble is tried again before its property gives up.
TRIES = 4
#: After so many requests in a row without any answer, each property tries once more and then gives up.
_GONE = 8
#: After so many, nothing is sent any more: a target that hangs must not cost every property a timeout.
_GONE_FOR_GOOD = 12


class Run:
    """What one run knows."""

    def __init__(self, options: Options, note: Note = lambda _: None, **manners: Any) -> None:
        self.options = options
        self.profile = options.profile
        self.target = Target(options, note=note, **manners)
        self.probes: tuple[Probe, ...] = diverse(list(options.probes), options.profile.probes)
        self.watch = Watch(options)
        self.unanswered = 0
        self.memory: dict[str, Any] = {}
        self.remarks: list[str] = []
        self.lock = threading.RLock()
        self.target.on_limited = self.watch
        self.target.meanwhile = self.watch.catch_up
        self._prints = _fingerprints(self.probes)

    def identify(self, answer: Answer) -> tuple[str, ...]:
        """The rows of an answer by the id of their probe, or their own; a target with unstable ids stays
        judgeable.
        """
        ids = {probe.id for probe in self.probes}
        present = {row.id for row in answer.rows}
        found: list[str] = []
        for row in answer.rows:
            likely = None if row.id in ids else self._prints.get(_fingerprint(row))
            found.append(likely if likely and likely not in present else row.id)
        return tuple(found)

    def remark(self, text: str) -> None:
        """Something a reader should know that is no verdict; said once."""
        text = self.target.redact(text)
        with self.lock:
            if text not in self.remarks:
                self.remarks.append(text)


class Api:
    """One property's view of the target."""

    def __init__(self, run: Run, name: str) -> None:
        self.run = run
        self.name = name
        self.seen = 0
        self.profile = run.profile
        self.probes = run.probes
        self.rng = random.Random(f"{run.options.seed}/{name}")
        self._tokens = 0
        self._gave_up = False

    # ------------------------------------------------------------ what is asked

    def token(self, label: str = "nobody") -> str:
        """A name that nothing at the target carries; the same for the same seed."""
        self._tokens += 1
        text = f"{self.run.options.seed}/{self.name}/{self._tokens}"
        return f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"

    def plain(self, **fields: Any) -> JsonObject:
        """An ordinary valid request that costs nothing and finds nothing, with `fields` laid over it."""
        ask: JsonObject = {
            "entities": [self.token("symbol")],
            "user_id": self.token("user"),
            "mode": "retrieve",
        }
        return ask | fields

    def sample(self, items: Sequence[T], share: float | None = None, least: int = 6) -> list[T]:
        """All items, or as many of them (in their order) as the profile wants."""
        wanted = max(least, round(len(items) * (self.profile.sample if share is None else share)))
        if wanted >= len(items):
            return list(items)
        chosen = set(self.rng.sample(range(len(items)), wanted))
        return [item for at, item in enumerate(items) if at in chosen]

    def call(
        self,
        ask: JsonObject | None = None,
        *,
        body: bytes | None = None,
        kind: Kind = Kind.PLAIN,
        role: str = "main",
        style: str | None = None,
        credentials: Sequence[tuple[tuple[str, str], tuple[str, str]]] | None = None,
        headers: Sequence[tuple[str, str]] | None = None,
        method: str = "POST",
        owner: str | None = None,
        fresh: bool = False,
        alone: bool = True,
        patient: bool = True,
    ) -> Exchange:
        """Send one request and let every passive promise look at the answer."""
        run = self.run
        with run.lock:
            if run.unanswered >= _GONE:
                if self._gave_up or run.unanswered >= _GONE_FOR_GOOD:
                    raise Unjudged("the target no longer answers")
                self._gave_up = True
        costs = ask is not None and ask.get("mode", "compose") == "compose" and kind in (Kind.PLAIN, Kind.ODD)
        if costs and not self.may_compose():
            raise NotExercised("the compose budget is spent (--max-compose)", "inputs")
        sent = credentials if credentials is not None else [run.target.credentials(role, style)]
        base = json_headers() if headers is None else tuple(headers)
        request = Request(
            method=method,
            body=encode(ask) if body is None else body,
            headers=(*base, *(real for real, _ in sent)),
            shown=(
                *(pair for pair in base if pair[0] not in ("User-Agent", "Accept")),
                *(shown for _, shown in sent),
            ),
            ask=ask,
            kind=kind,
            role=role if sent else "nobody",
            owner=owner,
            alone=alone,
        )
        exchange = run.target.send(request, fresh=fresh, patient=patient)
        with run.lock:
            run.unanswered = run.unanswered + 1 if exchange.reply is None else 0
        run.watch(exchange)
        return exchange

    def answer(self, ask: JsonObject, **how: Any) -> Answer:
        """The answer to a valid request; when none can be had, this property is not judged."""
        exchange = self.call(ask, **how)
        for _ in range(TRIES - 1):
            if not exchange.trouble:
                break
            exchange = self.call(ask, **how)
        return self.read(exchange)

    def read(self, exchange: Exchange) -> Answer:
        """An exchange as an answer, or the reason why it is none."""
        if exchange.status == 200 and isinstance(exchange.json, dict):
            return Answer(exchange)
        raise Unjudged(f"a valid request {self.why_not(exchange)}")

    def why_not(self, exchange: Exchange) -> str:
        """Why an exchange is no answer, and whose verdict that is."""
        reply = exchange.reply
        if reply is None:
            return f"got no answer ({exchange.failure})"
        if 300 <= reply.status < 400:
            where = self.run.target.redact(reply.header("Location") or "nowhere")
            return (
                f"was redirected ({reply.status} to {where}); redirects are not followed: give the final URL"
            )
        if is_edge(exchange):
            return f"met something in front of the service ({reply.status}, HTML), not the service itself"
        if reply.status == 200:
            return "brought a 200 whose body is no JSON object (see SHAPE-1)"
        if reply.status >= 500:
            return f"drew a {reply.status} (see ERR-3)"
        if reply.status == 401:
            return "was refused with 401 although the key is the one given (see AUTH-4)"
        return f"was refused with {reply.status}"

    def rows(self, ask: JsonObject, **how: Any) -> tuple[str, ...]:
        """The ids that a valid request brings, in order."""
        return self.run.identify(self.answer(ask, **how))

    def firm(self, again: Callable[[], Exchange]) -> Exchange:
        """An exchange of a request that must be refused; trouble that does not repeat is somebody else's
        verdict.
        """
        exchange = again()
        for _ in range(2):
            if not exchange.trouble:
                return exchange
            exchange = again()
        if exchange.trouble and self.call(self.plain()).trouble:
            raise Unjudged(f"the target fails on everything ({exchange.came()})")
        return exchange

    # ------------------------------------------------------------ what was exercised

    def saw(self, times: int = 1) -> None:
        """Count that the promise was really put to the test."""
        with self.run.lock:
            self.seen += times

    @property
    def witnessed(self) -> int:
        """How often the answers of this run, whoever asked, have put the promise to the test."""
        return self.run.watch.seen.get(self.name, 0)

    def rest_on_watch(self, otherwise: str) -> None:
        """Leave the verdict to what the watch saw; `otherwise` says what it never did see."""
        if not self.witnessed:
            raise NotExercised(otherwise)
        self.saw(self.witnessed)

    def need_rows(self) -> tuple[Probe, ...]:
        """The probes, when there are any."""
        if not self.probes:
            raise NotExercised("no known rows: give --probes FILE", "inputs")
        return self.probes

    def may_compose(self, calls: int = 1) -> bool:
        """Whether the compose budget has room for so many calls."""
        return self.run.target.composed + calls <= self.run.options.compose_budget

    def each(self, items: Iterable[T], check: Callable[[T], object], *, whole: bool = False) -> None:
        """Check every item, or (unless `whole`) as many as the profile allows. Of those that break the
        promise, the one with the smallest request is shown.
        """
        worst: Broken | None = None
        failures = 0
        tries = list(items)
        share = 1.0 if whole else min(1.0, self.profile.most / max(len(tries), 1))
        for item in self.sample(tries, share):
            try:
                check(item)
            except Broken as broken:
                failures += 1
                worst = smaller(worst, broken)
                if failures >= 8:
                    break
            except NotExercised:
                if worst is None:
                    raise
                break
        if worst is not None:
            raise worst

    def generate(
        self, strategy: Callable[[ModuleType], Any], check: Callable[[Any], None], share: float = 1.0
    ) -> None:
        """Check generated examples with Hypothesis, repeatably, and show the smallest failure found.

        `strategy` makes the strategy of `hypothesis.strategies`, which take a while to load: a profile that
        wants no examples never asks. `share` is that of the profile's examples.
        """
        examples = round(self.profile.examples * share)
        if not examples:
            return
        from hypothesis import strategies

        from trigger_contracts.generation import drive

        drive(
            strategy(strategies),
            check,
            examples=examples,
            seed=int.from_bytes(
                hashlib.sha256(f"{self.run.options.seed}/{self.name}".encode()).digest()[:8], "big"
            ),
        )


def encode(ask: Mapping[str, Any] | None) -> bytes:
    """A request body as JSON bytes."""
    return b"" if ask is None else json.dumps(ask, separators=(",", ":")).encode("utf-8", "surrogatepass")


def smaller(one: Broken | None, two: Broken) -> Broken:
    """Of two failures, the one with the smaller request."""

    def size(broken: Broken) -> int:
        return len(broken.exchange.request.body) if broken.exchange else 0

    return two if one is None or size(two) < size(one) else one


def without(ask: JsonObject, *fields: str) -> JsonObject:
    """A request less some of its fields."""
    return {name: value for name, value in ask.items() if name not in fields}


def is_edge(exchange: Exchange) -> bool:
    """Whether an answer looks like that of a gateway or firewall in front of the service."""
    if exchange.reply is None or exchange.reply.status not in (
        403,
        407,
        413,
        502,
        503,
        504,
        520,
        521,
        522,
        524,
    ):
        return False
    return "html" in (exchange.reply.header("Content-Type") or "").lower()


def _fingerprint(row: RowView) -> tuple[object, ...]:
    scope = tuple(row.raw.get(axis) for axis in ("user_id", "agent_id", "app_id"))
    return (row.type, *scope, tuple(sorted(row.groups)), tuple(sorted(row.trigger_entities)))


def _fingerprints(probes: Sequence[Probe]) -> dict[tuple[object, ...], str]:
    """What tells a probe from all others, where anything does."""
    found: dict[tuple[object, ...], str] = {}
    twins: set[tuple[object, ...]] = set()
    for one in probes:
        mark = (
            one.type,
            one.user_id,
            one.agent_id,
            one.app_id,
            tuple(sorted(one.group_ids)),
            tuple(sorted(one.trigger_entities)),
        )
        twins |= {mark} & found.keys()
        found[mark] = one.id
    return {mark: name for mark, name in found.items() if mark not in twins}
