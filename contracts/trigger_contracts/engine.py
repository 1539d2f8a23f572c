"""Judging promises, one after another: what a property raises becomes an outcome.

`verify` judges them all in this process; the pytest plugin judges one a test, by the same code. What the
watch found during one property counts against the promise that it breaks, whenever that one is judged.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from trigger_contracts.exchange import Exchange, curl
from trigger_contracts.options import Options
from trigger_contracts.promises import (
    Broken,
    NotExercised,
    Promise,
    catalogue,
    running_order,
    select,
)
from trigger_contracts.run import Api, Run
from trigger_contracts.transport import soundness
from trigger_contracts.verdict import Defect, Evidence, Outcome, Verdict

_LONGEST_SHOWN = 1500


def verify(
    options: Options,
    *,
    note: Callable[[str], None] = lambda _: None,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> Verdict:
    """Judge every selected promise at one target."""
    run = Run(options, note)
    wanted = select(catalogue(), options.only, options.skip)
    began = time.monotonic()
    started = now()
    outcomes: dict[str, Outcome] = {}
    interrupted = False
    try:
        settle_style(run)
        for promise in running_order(wanted):
            outcomes[promise.id] = judge(run, promise)
            progress(outcomes[promise.id])
    except KeyboardInterrupt:
        interrupted = True
    finally:
        run.target.close()
    found = [
        outcomes.get(one.id) or open_outcome(one, "the run was interrupted", "interrupted") for one in wanted
    ]
    return Verdict(
        url=options.base_url,
        profile=options.profile.name,
        seed=options.seed,
        outcomes=tuple(after_thought(run, promise, one) for promise, one in zip(wanted, found, strict=True)),
        defects=contract_defects(),
        remarks=tuple(run.remarks),
        requests=run.target.sent,
        compose_calls=run.target.composed,
        rate_limited=run.target.rate_limited,
        waited=run.target.waited,
        seconds=time.monotonic() - began,
        started=started,
        strict=options.strict,
        require=options.require,
        interrupted=interrupted,
    )


def now() -> str:
    """The time of day as reports write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def settle_style(run: Run) -> Exchange | None:
    """Find out which header the target takes the key in, so that one refused does not hide all else."""
    api = Api(run, "start")
    seen: list[Exchange] = []
    for style in ("x-api-key", "bearer"):
        try:
            exchange = api.call(api.plain(), style=style)
        except NotExercised:
            break
        seen.append(exchange)
        if exchange.status not in (401, 403):
            run.target.style = style
            break
    first = next(iter(seen), None)
    if first is not None and first.reply is not None:
        with contextlib.suppress(
            NotExercised
        ):  # a target in trouble from the start: ROB-2 will find that out
            soundness(api)
    return first


def judge(run: Run, promise: Promise) -> Outcome:
    """Put one promise to the test."""
    api = Api(run, promise.id)
    began = time.monotonic()
    wanting = _wanting(run, promise)
    broken: Broken | None = None
    reason, cause = "", ""
    if wanting:
        reason, cause = wanting, "inputs"
    else:
        try:
            promise.check(api)
            run.watch.settle()
            if not api.seen:
                reason, cause = "nothing that came back was what this promise is about", "unseen"
                if "compose" in promise.needs and not api.may_compose():
                    reason, cause = "the compose budget is spent (--max-compose)", "inputs"
        except Broken as found:
            broken = found
        except NotExercised as found:
            reason, cause = found.reason, found.cause
        except RecursionError:
            reason, cause = "an answer is nested too deep to read", "target"
    seconds = time.monotonic() - began
    if broken is not None:
        return _broken(run, promise, broken.message, broken.exchange, api.seen, seconds)
    outcome = Outcome(
        promise.id,
        promise.chapter,
        promise.level,
        promise.sentence,
        promise.pointer,
        "not exercised" if reason else "held",
        api.seen,
        run.target.redact(reason),
        cause,
        seconds=seconds,
    )
    return after_thought(run, promise, outcome)


def after_thought(run: Run, promise: Promise, outcome: Outcome) -> Outcome:
    """The outcome, unless answers to other properties' requests broke the promise."""
    findings = run.watch.findings.get(promise.id)
    if not findings or outcome.state in ("broken", "warned"):
        return outcome
    return _broken(run, promise, findings[0].message, findings[0].exchange, outcome.seen, outcome.seconds)


def open_outcome(promise: Promise, reason: str, cause: str) -> Outcome:
    """A promise that was never judged."""
    return Outcome(
        promise.id,
        promise.chapter,
        promise.level,
        promise.sentence,
        promise.pointer,
        "not exercised",
        0,
        reason,
        cause,
    )


def _wanting(run: Run, promise: Promise) -> str:
    options = run.options
    if "rows" in promise.needs and not run.probes:
        return "it needs known rows at the target: --probes FILE"
    if (
        "org2" in promise.needs
        and not options.other_api_key
        and not (promise.id == "RATE-3" and options.limited_api_key)
    ):
        return "it needs a key of another organisation: --other-api-key-env NAME"
    if "limit" in promise.needs and not options.exhaust_rate_limit:
        return "it needs leave to exhaust the rate limit: --exhaust-rate-limit"
    if "compose" in promise.needs and options.compose_budget <= 0:
        return "it needs leave to spend compose calls: --max-compose N"
    return ""


def _broken(
    run: Run, promise: Promise, message: str, exchange: Exchange | None, seen: int, seconds: float
) -> Outcome:
    return Outcome(
        promise.id,
        promise.chapter,
        promise.level,
        promise.sentence,
        promise.pointer,
        "broken" if promise.level == "must" else "warned",
        seen,
        run.target.redact(message),
        "",
        evidence(run, message, exchange),
        seconds,
    )


def evidence(run: Run, message: str, exchange: Exchange | None) -> Evidence:
    """What a reader needs to repeat a failure, and nothing secret."""
    redact = run.target.redact
    if exchange is None:
        return Evidence(redact(message), "", "", "")
    request = exchange.request
    headers = "\n".join(f"{name}: {value}" for name, value in request.shown)
    sent = (
        f"{request.method}\n{headers}\n\n{_shown(redact, request.body.decode('utf-8', 'backslashreplace'))}"
    )
    if exchange.reply is None:
        got = exchange.failure or "no answer"
    else:
        reply = "\n".join(f"{name}: {value}" for name, value in exchange.reply.headers)
        got = redact(f"{exchange.reply.status}\n{reply}") + f"\n\n{_shown(redact, exchange.text)}"
    return Evidence(redact(message), redact(sent), redact(got), redact(curl(exchange, run.options.url)))


def _shown(redact: Callable[[str], str], text: str) -> str:
    """The beginning of a text; what is not shown need not be searched for keys, which takes its time."""
    beginning = redact(text[: _LONGEST_SHOWN * 4])
    if len(text) <= _LONGEST_SHOWN * 4 and len(beginning) <= _LONGEST_SHOWN:
        return beginning
    return f"{beginning[:_LONGEST_SHOWN]}… ({len(text)} characters)"


def contract_defects() -> tuple[Defect, ...]:
    """What is wrong with the contract itself: told once, and never held against a target."""
    from trigger_contracts.document import source

    return _defects(source())


@lru_cache(maxsize=2)
def _defects(text: str) -> tuple[Defect, ...]:
    from trigger_contracts.lint import lint
    from trigger_contracts.reading import parse

    found = lint(parse(text), text)
    return tuple(Defect(one.defect, one.pointer, one.message, one.line) for one in found)
