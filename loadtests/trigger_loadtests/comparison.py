"""Two runs side by side: did the second get worse than the first by more than is allowed?

Percentiles and the achieved rate may move by a share; errors, throttling and missed budgets by percentage
points. A difference of a few milliseconds is noise whatever its share, so percentiles must also move by
an absolute amount. Runs that were not asked for the same thing are refused unless one insists: their
difference says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from trigger_loadtests.account import FORMAT

Account = Mapping[str, Any]

#: What must be equal for two runs to be comparable.
_SAME = ("profile", "model", "seconds", "stages", "mix", "compose", "timeout", "retry_after")


class IncomparableError(ValueError):
    """Files or runs that cannot be compared; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One figure in both runs."""

    name: str
    before: float | None
    after: float | None
    unit: str
    worse: bool

    @property
    def shown(self) -> str:
        """Return how it moved, for a person."""
        if self.before is None or self.after is None:
            return "-"
        moved = self.after - self.before
        if self.unit == "%":
            return f"{moved:+.2f} points"
        return f"{100 * moved / self.before:+.1f} %" if self.before else f"{moved:+.1f} {self.unit}"


def read(path: Path) -> dict[str, Any]:
    """Read an account of a run."""
    try:
        account: Any = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise IncomparableError(f"{path}: cannot be read as the JSON of a run: {error}") from error
    if not isinstance(account, dict) or account.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise IncomparableError(f"{path}: not written by trigger-load --json (format {FORMAT})")
    return account  # pyright: ignore[reportUnknownVariableType]


def differences(before: Account, after: Account) -> list[str]:
    """Say in what the two runs were not asked for the same thing."""
    said = [
        f"their {name} differ"
        if name == "stages"
        else f"{name}: {before['run'][name]!r} and {after['run'][name]!r}"
        for name in _SAME
        if before["run"][name] != after["run"][name]
    ]
    said += [
        f"the {which} run has no verdict of its own: {account['verdict']['why']}"
        for which, account in (("first", before), ("second", after))
        if account["verdict"]["exit_code"] > 1
    ]
    return said


def compare(before: Account, after: Account, *, share: float, points: float, floor_ms: float) -> list[Change]:
    """Return every figure that both runs have, and whether it got worse."""
    changes: list[Change] = []

    def higher_is_worse(name: str, was: float | None, now: float | None) -> None:
        worse = was is not None and (now is None or (now > was * (1 + share / 100) and now - was > floor_ms))
        changes.append(Change(name=name, before=was, after=now, unit="ms", worse=worse))

    def points_are_worse(name: str, was: float | None, now: float | None) -> None:
        worse = was is not None and (now is None or now - was > points)
        changes.append(Change(name=name, before=was, after=now, unit="%", worse=worse))

    def lower_is_worse(name: str, was: float | None, now: float | None) -> None:
        worse = was is not None and (now is None or now < was * (1 - share / 100))
        changes.append(Change(name=name, before=was, after=now, unit="/s", worse=worse))

    if before["capacity"] and after["capacity"]:
        lower_is_worse("capacity", before["capacity"]["rate"], after["capacity"]["rate"])
        return changes
    lower_is_worse("achieved rate", before["rate"]["achieved"], after["rate"]["achieved"])
    sections = [("all", before["overall"], after["overall"])]
    for kind in ("scenarios", "modes"):
        sections += [
            (name, figures, after[kind][name])
            for name, figures in before[kind].items()
            if name in after[kind]
        ]
    for name, was, now in sections:
        for at in ("p50", "p95", "p99"):
            if name == "all" or at == "p95":
                higher_is_worse(f"{name} {at}", was["response_ms"][at], now["response_ms"][at])
        points_are_worse(f"{name} errors", was["errors_percent"], now["errors_percent"])
    was, now = before["overall"], after["overall"]
    higher_is_worse("all service p95", was["service_ms"]["p95"], now["service_ms"]["p95"])
    points_are_worse("all throttled", _throttled(before), _throttled(after))
    for budget in was["missed_budget_percent"]:
        points_are_worse(
            f"missed budget {budget} s",
            was["missed_budget_percent"][budget],
            now["missed_budget_percent"].get(budget),
        )
    return changes


def _throttled(account: Account) -> float | None:
    asked = account["overall"]["sent"] + account["rate"]["withheld"]
    return 100 * (account["overall"]["throttled"] + account["rate"]["withheld"]) / asked if asked else None


@click.command(
    context_settings={"auto_envvar_prefix": "TRIGGER_LOAD_COMPARE", "help_option_names": ["-h", "--help"]},
    epilog="Exit 0: no figure got worse; 1: one did; 2: the files cannot be read or the runs not compared.",
)
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--threshold", "share", type=click.FloatRange(min=0), default=20, show_default=True, help="Percent."
)
@click.option(
    "--points", type=click.FloatRange(min=0), default=0.5, show_default=True, help="For shares of calls."
)
@click.option(
    "--floor", type=click.FloatRange(min=0), default=5, show_default=True, help="Milliseconds that are noise."
)
@click.option("--anyway", is_flag=True, help="Compare runs that were not asked for the same thing.")
def compare_command(
    before: Path, after: Path, share: float, points: float, floor: float, anyway: bool
) -> None:
    """Compare the JSON of two runs: is AFTER worse than BEFORE?"""
    try:
        one, two = read(before), read(after)
    except IncomparableError as error:
        raise click.UsageError(str(error)) from error
    unlike = differences(one, two)
    if unlike and not anyway:
        raise click.UsageError("the runs cannot be compared (--anyway to insist): " + "; ".join(unlike))
    changes = compare(one, two, share=share, points=points, floor_ms=floor)
    for change in changes:
        mark = "WORSE" if change.worse else ""
        click.echo(
            f"{mark:<6}{change.name:<24}{_value(change, change.before):>14}"
            f"{_value(change, change.after):>14}  {change.shown}"
        )
    worse = [change.name for change in changes if change.worse]
    click.echo(f"worse: {', '.join(worse)}" if worse else "no figure got worse")
    raise SystemExit(1 if worse else 0)


def _value(change: Change, value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f} {change.unit}"
