"""One pytest session that judges a target: options in, outcomes collected, verdict and reports out."""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trigger_contracts import ahead, engine
from trigger_contracts.asked import asked_for
from trigger_contracts.document import is_other
from trigger_contracts.first_answer import no_service
from trigger_contracts.options import Options
from trigger_contracts.promises import GENERATING, Promise, catalogue, running_order, select
from trigger_contracts.report import write
from trigger_contracts.run import Run
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
        """The session of a pytest run, or `WrongUse`."""
        asked = asked_for(config)
        session = cls(
            asked.options, asked.reports, asked.hint, as_command=asked.as_command, quiet=asked.is_worker
        )
        for told in asked.repairs:
            session.run.remark(told)
        return session

    def begin(self) -> str | None:
        """Send the first request; what is wrong when there is nothing to talk to, else None."""
        self.progress.begin(self.options, self.hint)
        if self.as_command:
            # What is loaded stays, and what a run makes lasts or goes at once: looking through it all again
            # and again would cost a tenth of the run.
            gc.freeze()
            gc.set_threshold(50_000, 50, 50)
        first = engine.settle_style(self.run)
        if first is not None and first.reply is None and "in time" not in (first.failure or ""):
            first = engine.settle_style(self.run)  # one hiccup does not mean that nothing is there
        trouble = None if first is None else no_service(self.run, first)
        drawn = self.options.profile.generated or is_other()
        if self.as_command and not trouble and drawn and any(one.id in GENERATING for one in self.wanted):
            ahead.begin(self.options.seed, self.options.profile.generated)
        return trouble

    def write_down(self, trouble: str) -> None:
        """Write the reports of a run that did not start."""
        self.progress.end()
        self._write(replace(self._verdict(trouble), not_begun=trouble))

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
        ahead.forget()
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


def _mistake(error: Exception) -> str:
    """Where the suite itself failed, for whoever mends it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {error}"[:300]
    return f"the suite itself failed ({said}, in {Path(last.filename).name} line {last.lineno})"
