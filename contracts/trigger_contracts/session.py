"""One pytest session that judges a target: options in, outcomes collected, verdict and reports out."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trigger_contracts import engine, probes
from trigger_contracts.endpoint import ENDPOINT
from trigger_contracts.options import PROFILES, Options, WrongUse, checked_base_url
from trigger_contracts.promises import Promise, catalogue, running_order, select, unknown_names
from trigger_contracts.report import KINDS, write
from trigger_contracts.run import Run, is_edge
from trigger_contracts.verdict import Outcome, Verdict, outcome_from, outcome_to, worst_of

if TYPE_CHECKING:
    import pytest


class Session:
    """What one run of pytest knows about the target it judges."""

    def __init__(
        self,
        options: Options,
        reports: Sequence[tuple[str, Path]],
        hint: str | None,
        *,
        as_command: bool,
        quiet: bool = False,
    ) -> None:
        from trigger_contracts.report.progress import Progress

        self.options = options
        self.reports = reports
        self.hint = hint
        self.as_command = as_command
        self.wanted: list[Promise] = select(catalogue(), options.only, options.skip)
        self.running_order = running_order(self.wanted)
        self.progress = Progress(len(self.wanted), quiet=quiet or not as_command)
        self.run = Run(options, self.progress.note)
        self.expected: set[str] = set()
        self.interrupted = False
        self.over = False
        self.verdict: Verdict | None = None
        self._outcomes: dict[str, list[Outcome]] = {}
        self._began = time.monotonic()
        self._started = engine.now()
        self._counted: dict[str, tuple[int, int, int, float]] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> Session:
        """Read the options of a pytest run."""
        get = _options_of(config)
        base_url, hint = checked_base_url(get("--trigger-base-url"))
        only, skip, require = get("--trigger-only"), get("--trigger-skip"), get("--trigger-require")
        for names, beside in ((only, ()), (skip, ()), (require, ("all",))):
            unknown = unknown_names(names, beside=beside)
            if unknown:
                raise WrongUse(
                    f"no promise or chapter is called {', '.join(unknown)}; --list prints them all"
                )
        repairs = _contract(get("--trigger-contract"))
        key_name = get("--trigger-api-key-env")
        key = _key(key_name)
        options = Options(
            base_url=base_url,
            api_key=key,
            other_api_key=_key(get("--trigger-other-api-key-env")),
            limited_api_key=_key(get("--trigger-limited-api-key-env")),
            key_name=key_name,
            other_key_name=get("--trigger-other-api-key-env") or "TRIGGER_OTHER_API_KEY",
            limited_key_name=get("--trigger-limited-api-key-env") or "TRIGGER_LIMITED_API_KEY",
            probes=_probes(get("--trigger-probes"), get("--trigger-probes-from-fixtures"), key),
            profile=PROFILES[get("--trigger-profile")],
            seed=_seed(config),
            rate=get("--trigger-rate"),
            max_requests=get("--trigger-max-requests"),
            max_compose=get("--trigger-max-compose"),
            max_wait=get("--trigger-max-wait"),
            timeout=get("--trigger-timeout"),
            exhaust_rate_limit=get("--trigger-exhaust-rate-limit"),
            accept_envelope_error=get("--trigger-accept-envelope") == "error",
            ca_bundle=_file(get("--trigger-ca-bundle"), "--ca-bundle"),
            client_cert=_file(get("--trigger-client-cert"), "--client-cert"),
            insecure=get("--trigger-insecure"),
            only=tuple(only),
            skip=tuple(skip),
            require=tuple(require),
            strict=get("--trigger-strict"),
        )
        if options.other_api_key and options.other_api_key == options.api_key:
            raise WrongUse("the other organisation's key is the same as the key")
        reports = [_report(text) for text in get("--trigger-report")]
        worker = hasattr(config, "workerinput")
        session = cls(options, reports, hint, as_command=get("--trigger-as-command"), quiet=worker)
        for told in repairs:
            session.run.remark(told)
        return session

    def begin(self) -> str | None:
        """Send the first request; what is wrong when there is nothing to talk to, else None."""
        self.progress.begin(self.options, self.hint)
        try:
            first = engine.settle_style(self.run)
        except OSError as error:
            return f"TLS files: {error.strerror or error}"
        if first is None:
            return None
        url = self.options.base_url
        if first.reply is None:
            return f"nothing to talk to at {url}: {first.failure}{_advice(url, first.failure or '')}"
        status = first.reply.status
        where = self.run.target.redact(first.reply.header("Location") or "")
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
            return f"{self.options.url} is not found (404); give the base URL, without the endpoint's path"
        return None

    def write_down(self, trouble: str) -> None:
        """Write the reports of a run that did not start."""
        self.progress.end()
        self._write(self._verdict(trouble))

    def expect(self, ids: Sequence[str]) -> None:
        """The promises that this run will judge."""
        self.expected = set(ids)

    def judge(self, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Judge one promise; also give what its exchanges showed against others."""
        promise = next(one for one in catalogue() if one.id == name)
        try:
            outcome = engine.judge(self.run, promise)
        except Exception as error:  # noqa: BLE001 - a mistake of the suite is told, and accuses nobody
            outcome = engine.open_outcome(promise, self.run.target.redact(_mistake(error)), "target")
        target = self.run.target
        others = [
            outcome_to(engine.after_thought(self.run, one, engine.open_outcome(one, "", "")))
            for one in self.wanted
            if one.id != name and self.run.watch.findings.get(one.id)
        ]
        counted = {
            "counts": [f"{os.getpid()}", target.sent, target.composed, target.rate_limited, target.waited],
            "remarks": self.run.remarks,
        }
        return outcome_to(outcome), [*others, counted]

    def collect(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Take in what an item found."""
        for at, entry in enumerate(entries):
            if "counts" in entry:
                pid, sent, composed, limited, waited = entry["counts"]
                self._counted[pid] = (sent, composed, limited, waited)
                for text in entry["remarks"]:
                    self.run.remark(text)
                continue
            outcome = outcome_from(entry)
            self._outcomes.setdefault(outcome.id, []).append(outcome)
            if at == 0:
                self.progress.judged(outcome)

    def finish(self) -> int:
        """Make the verdict, write the reports; the exit code."""
        self.progress.end()
        self.verdict = self._verdict(
            "the run was interrupted" if self.interrupted else "the run ended before its turn"
        )
        if self.as_command:
            from trigger_contracts.report.terminal import show

            show(self.verdict)
        faults = self._write(self.verdict)
        return 2 if faults and self.verdict.exit_code == 0 else self.verdict.exit_code

    def _write(self, verdict: Verdict) -> bool:
        failed = False
        for kind, path in self.reports:
            try:
                write(kind, path, verdict)
            except OSError as error:
                failed = True
                print(f"trigger-verify: cannot write {path}: {error.strerror}", file=sys.stderr)
        return failed

    def _verdict(self, why_open: str) -> Verdict:
        options = self.options
        chosen = [one for one in self.wanted if not self.expected or one.id in self.expected]
        outcomes: list[Outcome] = []
        for one in chosen:
            found = [
                outcome
                for outcome in self._outcomes.get(one.id, [])
                if outcome.state != "not exercised" or outcome.reason
            ]
            judged = worst_of(found) if found else engine.open_outcome(one, why_open, "interrupted")
            seen = max((outcome.seen for outcome in found), default=0)
            outcomes.append(replace(judged, seen=seen))
        counts = list(self._counted.values()) or [(self.run.target.sent, 0, 0, 0.0)]
        return Verdict(
            url=options.base_url,
            profile=options.profile.name,
            seed=options.seed,
            outcomes=tuple(outcomes),
            defects=engine.contract_defects(),
            remarks=tuple(self.run.remarks),
            requests=sum(one[0] for one in counts),
            compose_calls=sum(one[1] for one in counts),
            rate_limited=sum(one[2] for one in counts),
            waited=sum(one[3] for one in counts),
            seconds=time.monotonic() - self._began,
            started=self._started,
            strict=options.strict,
            require=options.require,
            interrupted=self.interrupted,
        )


def _advice(url: str, failure: str) -> str:
    """What would probably help."""
    if failure == "connection refused" and ("127.0.0.1" in url or "localhost" in url):
        return "; is it running? the kit's own mock starts with: trigger-mock"
    if url.startswith("https:") and failure.startswith("TLS failed"):
        return "; does it speak plain http?"
    if url.startswith("http:") and failure in ("what came back is no HTTP", "the connection was reset"):
        return "; does it speak https?"
    return ""


def _mistake(error: Exception) -> str:
    """Where the suite itself failed, for whoever mends it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {error}"[:300]
    return f"the suite itself failed ({said}, in {Path(last.filename).name} line {last.lineno})"


def _options_of(config: pytest.Config) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        return config.getoption(name)

    return get


def _key(name: str | None) -> str:
    if not name:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise WrongUse(f"the environment variable {name} is not set; it should hold an API key")
    if not value.isascii() or any(ord(one) < 33 or ord(one) == 127 for one in value):
        raise WrongUse(f"the key in {name} holds characters that no header can carry")
    return value


def _contract(file: str | None) -> list[str]:
    """Judge by this document; what had to be mended in it."""
    if not file:
        return []
    from trigger_contracts.document import UnreadableDocument, judge_by
    from trigger_contracts.validation import compile_all

    try:
        repairs = judge_by(file)
        compile_all()
    except UnreadableDocument as error:
        raise WrongUse(str(error)) from None
    except (LookupError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())[:300]
        raise WrongUse(f"{file}: describes no POST {ENDPOINT} that can be judged by ({said})") from None
    return [
        f"{file}: {one.defect} repaired before judging, at {', '.join(one.pointers[:3])}"
        + (f" and {len(one.pointers) - 3} more places" if len(one.pointers) > 3 else "")
        for one in repairs
    ]


def _probes(file: str | None, fixtures: str | None, key: str) -> tuple[probes.Probe, ...]:
    try:
        if file:
            return probes.load(Path(file))
        if fixtures:
            return probes.from_fixtures(None if fixtures == "default" else Path(fixtures), key)
    except probes.ProbeMistake as error:
        raise WrongUse(str(error)) from None
    return ()


def _seed(config: pytest.Config) -> int:
    seed = config.getoption("--trigger-seed")
    if seed is not None:
        return int(seed)
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    # Every worker of one run draws from the same seed.
    return (
        int(str(worker.get("testrunuid", "")) or "0", 16) % 1_000_000
        if worker
        else int.from_bytes(os.urandom(3), "big") % 1_000_000
    )


def _file(path: str | None, option: str) -> str | None:
    if path and not Path(path).is_file():
        raise WrongUse(f"{option}: no such file: {path}")
    return path


def _report(text: str) -> tuple[str, Path]:
    kind, _, file = text.partition("=")
    if kind not in KINDS or not file:
        raise WrongUse(f"--report {text!r}: expected KIND=FILE, with KIND one of {', '.join(KINDS)}")
    return kind, Path(file)
