"""The account of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def render(account: Mapping[str, Any], *, width: int = 110, colour: bool = False) -> str:
    """Return the whole table, ready to print."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    run, rate, verdict = account["run"], account["rate"], account["verdict"]
    console.print(
        Text(f"trigger-load  {run['target']}  {run['profile']}, {run['model']} model, {run['elapsed']:.1f} s")
    )
    wanted = "" if rate["wanted"] is None else f" of {rate['wanted']:.1f}/s wanted"
    console.print(
        f"answered {rate['achieved']:.1f}/s{wanted} · sent {rate['sent']}"
        f" · throttled {account['overall']['throttled']} · withheld {rate['withheld']}"
        f" · unsent {rate['unsent']} · schema-checked {rate['schema_checked']}"
    )
    console.print(f"identities and entities: {run['population']}")
    console.print(_figures(account))
    console.print(
        "milliseconds; response time counts from when a call was due, service time from when it was sent"
    )
    _budgets(console, account["overall"])
    _failures(console, account["overall"]["failures"])
    if account["capacity"]:
        console.print(_curve(account["capacity"]))
    for row in account["objectives"]:
        console.print(f"  {'met   ' if row['met'] else 'MISSED'}  {row['objective']:<28} {row['shown']}")
    for note in verdict["notes"]:
        console.print(Text(note))
    for said in verdict["shortfalls"]:
        console.print(Text(f"GENERATOR FELL SHORT: {said}", style="bold red"))
    console.print(
        Text(f"{verdict['word'].upper()} (exit {verdict['exit_code']}): {verdict['why']}", style="bold")
    )
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _figures(account: Mapping[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="")
    table.add_column("")
    for name in (
        "sent",
        "failed",
        "throttled",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "max",
        "service p50",
        "service p99",
    ):
        table.add_column(name, justify="right")
    rows = {"all": account["overall"], **account["scenarios"], **account["modes"]}
    for name, figures in rows.items():
        response, service = figures["response_ms"], figures["service_ms"]
        table.add_row(
            name,
            str(figures["sent"]),
            str(figures["failed"]),
            str(figures["throttled"]),
            *(_ms(response[at]) for at in ("p50", "p95", "p99", "p99.9", "max")),
            *(_ms(service[at]) for at in ("p50", "p99")),
        )
    return table


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _budgets(console: Console, overall: Mapping[str, Any]) -> None:
    parts = [
        f"{budget} s: {'-' if share is None else f'{share:.2f} %'}"
        for budget, share in overall["missed_budget_percent"].items()
    ]
    console.print(f"calls that would have missed a client's budget of  {'   '.join(parts)}")


def _failures(console: Console, failures: Mapping[str, int]) -> None:
    for reason, count in failures.items():
        console.print(Text(f"  failed  {reason:<28} {count}"))


def became(step: Mapping[str, Any]) -> str:
    """Return what became of a step of a capacity search, and why."""
    reasons = [*step["missed"], *([] if step["kept_up"] else ["backlog grew"]), *step["shortfalls"]]
    return "met" if step["met"] else "broke: " + ", ".join(reasons)


def _curve(capacity: Mapping[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="")
    for name in ("rate", "answered", "p50", "p95", "p99", "errors", "throttled", ""):
        table.add_column(name, justify="left" if not name else "right")
    for step in capacity["steps"]:
        table.add_row(
            f"{step['rate']:.1f}/s",
            f"{step['achieved']:.1f}/s",
            *(_ms(step[f"{at}_ms"]) for at in ("p50", "p95", "p99")),
            str(step["errors"]),
            str(step["throttled"]),
            became(step),
        )
    return table
