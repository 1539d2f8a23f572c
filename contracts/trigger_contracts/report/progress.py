"""What a run says while it runs: a line that moves on a terminal, plain lines elsewhere; on the error
stream.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from trigger_contracts.verdict import Outcome

if TYPE_CHECKING:
    from trigger_contracts.options import Options


class Progress:
    """Counts promises as they are judged."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._quiet = quiet
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def begin(self, options: Options, hint: str | None) -> None:
        """Say what is about to happen."""
        if self._quiet:
            return
        if hint:
            self._say(f"hint: {hint}")
        if options.insecure:
            self._say("warning: the certificate is not checked (--insecure)")
        self._say(
            f"trigger-verify {options.url}: {self._total} promises, profile "
            f"{options.profile.name}, seed {options.seed}, {len(options.probes)} probes"
        )
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("judging", total=self._total)
            self._bar.start()

    def note(self, text: str) -> None:
        """Something that takes time, or that a person would want to know."""
        if not self._quiet:
            self._say(text)

    def judged(self, outcome: Outcome) -> None:
        """One more promise is done."""
        self._done += 1
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=f"{outcome.id:<8}")
            if outcome.state in ("broken", "warned"):
                self._say(
                    f"{outcome.id} {outcome.state}: {outcome.evidence.message if outcome.evidence else ''}"
                )
        elif outcome.state in ("broken", "warned"):
            self._say(
                f"[{self._done}/{self._total}] {outcome.id} {outcome.state}: "
                f"{outcome.evidence.message if outcome.evidence else ''}"
            )
        elif self._done % 10 == 0:
            self._say(f"[{self._done}/{self._total}] judged")

    def end(self) -> None:
        """Give the terminal back."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, text: str) -> None:
        visible = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)
        if self._bar is not None:
            self._bar.console.print(visible, markup=False, highlight=False)
            return
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(visible.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stderr.flush()
