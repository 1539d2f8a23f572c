"""The account of a run as one self-contained HTML page: no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from trigger_loadtests.plots import Series, plot
from trigger_loadtests.table import became

Account = Mapping[str, Any]

_STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:1040px;margin:2rem auto;padding:0 1rem}
body{color:#1c2430;background:#fff}
h1{font-size:1.35rem;margin:0 0 .25rem}h2{font-size:1.05rem;margin:2rem 0 .5rem}
.verdict{padding:.8rem 1rem;border-left:6px solid;margin:1rem 0}
.met{border-color:#2e7d4f;background:#edf7f0}.missed{border-color:#b3264a;background:#fbeef1}
.none{border-color:#a8860c;background:#fbf6e4}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .55rem;text-align:right;border-bottom:1px solid #e3e7ec;white-space:nowrap}
th:first-child,td:first-child,td.text{text-align:left}td.text{white-space:normal}
th{font-weight:600;color:#4a5563}figure{margin:1.2rem 0}figcaption{font-weight:600}
.legend{margin:.1rem 0;font-size:.85rem;color:#4a5563}.legend span{margin-right:1rem}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}
svg{width:100%;min-width:34rem;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:#4a5563}.grid{stroke:#e3e7ec}
.quiet{color:#4a5563;font-size:.88rem}
"""


def render(account: Account) -> str:
    """Return the page."""
    run, verdict = account["run"], account["verdict"]
    kind = {0: "met", 1: "missed"}.get(verdict["exit_code"], "none")
    title = f"trigger-load: {run['profile']} against {run['target']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        _circumstances(account),
        _verdict(verdict, kind),
        _objectives(account),
        _figures(account),
        _failures(account),
        _capacity(account),
        "<h2>Over time</h2>",
        *_plots(account),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _circumstances(account: Account) -> str:
    run = account["run"]
    told = (
        account["started"],
        f"{run['model']} model",
        f"{run['elapsed']:.1f} s",
        f"seed {run['seed']}",
        "1 process" if run["workers"] == 1 else f"{run['workers']} processes",
        f"identities and entities: {run['population']}",
        f"kit {account['version']}",
    )
    return f'<p class="quiet">{escape(" · ".join(told))}</p>'


def _verdict(verdict: Mapping[str, Any], kind: str) -> str:
    notes = "".join(f"<br>{escape(note)}" for note in verdict["notes"])
    word, why = escape(verdict["word"].capitalize()), escape(verdict["why"])
    said = f"<strong>{word}</strong> (exit {verdict['exit_code']}): {why}{notes}"
    return f'<div class="verdict {kind}">{said}</div>'


def _table(head: list[str], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _objectives(account: Account) -> str:
    rows = [
        [row["objective"], row["shown"], "met" if row["met"] else "MISSED"] for row in account["objectives"]
    ]
    return f"<h2>Objectives</h2>{_table(['objective', 'measured', ''], rows)}" if rows else ""


def _figures(account: Account) -> str:
    rate, overall = account["rate"], account["overall"]
    named = {"all": overall, **account["scenarios"], **account["modes"]}
    names = ("p50", "p90", "p95", "p99", "p99.9", "max")
    rows = [
        [
            name,
            *(str(figures[field]) for field in ("sent", "failed", "throttled")),
            *(_ms(figures["response_ms"][at]) for at in names),
            *(_ms(figures["service_ms"][at]) for at in ("p50", "p99")),
        ]
        for name, figures in named.items()
    ]
    wanted = "" if rate["wanted"] is None else f" of {rate['wanted']:.1f}/s wanted"
    budgets = ", ".join(
        f"{budget} s: {'–' if share is None else f'{share:.2f} %'}"
        for budget, share in overall["missed_budget_percent"].items()
    )
    return (
        f"<h2>Figures</h2><p>Answered {rate['achieved']:.1f}/s{wanted}; sent {rate['sent']}, "
        f"withheld {rate['withheld']}, unsent {rate['unsent']}; {rate['schema_checked']} answers held "
        f"against the whole schema. Calls that would have missed a client's budget: {budgets}.</p>"
        + _table(["", "sent", "failed", "throttled", *names, "service p50", "service p99"], rows)
        + '<p class="quiet">Milliseconds. Response time counts from the moment a call was due, service time '
        "from when it was sent. Wrong and throttled answers are counted and not timed.</p>"
    )


def _failures(account: Account) -> str:
    failures = account["overall"]["failures"]
    rows = [[reason, str(count)] for reason, count in failures.items()]
    return f"<h2>Failures by reason</h2>{_table(['reason', 'calls'], rows)}" if rows else ""


def _capacity(account: Account) -> str:
    found = account["capacity"]
    if not found:
        return ""
    steps = sorted(found["steps"], key=lambda step: step["rate"])
    curve = [
        Series(at, [(step["rate"], step[f"{at}_ms"]) for step in steps], dots=True)
        for at in ("p50", "p95", "p99")
    ]
    rate = [
        Series("answered", [(step["rate"], step["achieved"]) for step in steps], dots=True),
        Series("wanted", [(step["rate"], step["rate"]) for step in steps], dashed=True),
    ]
    rows = [
        [
            f"{step['rate']:.1f}/s",
            f"{step['achieved']:.1f}/s",
            *(_ms(step[f"{at}_ms"]) for at in ("p50", "p95", "p99")),
            str(step["errors"]),
            str(step["throttled"]),
            became(step),
        ]
        for step in found["steps"]
    ]
    head = ["rate", "answered", "p50", "p95", "p99", "errors", "throttled", ""]
    return (
        "<h2>Capacity</h2>"
        + plot("Response time by rate", curve, x_label="requests per second", y_label="ms")
        + plot("Answered by rate", rate, x_label="requests per second wanted", y_label="answers per second")
        + _table(head, rows)
    )


def _plots(account: Account) -> list[str]:
    line = account["timeline"]
    at = [part["at"] for part in line]
    # A slice that the run's end cut short would look like a drop of the rate.
    whole = [part for part in line if part["at"] + part["seconds"] <= account["run"]["elapsed"]] or line

    def over_time(field: str, slices: list[Any] = line) -> list[tuple[float, float | None]]:
        return [(part["at"], part[field]) for part in slices]

    rates = [Series(name, over_time(name, whole)) for name in ("sent", "answered")]
    if account["run"]["model"] == "open":
        rates.insert(0, Series("wanted", over_time("wanted", whole), dashed=True))
    total: Counter[str] = Counter()
    for part in line:
        total.update(part["failures"])
    reasons = [
        Series(reason, [(when, part["failures"].get(reason, 0)) for when, part in zip(at, line, strict=True)])
        for reason, _ in total.most_common(7)
    ]
    seconds = "seconds since the start"
    plots = [
        plot("Rate", rates, x_label=seconds, y_label="requests per second"),
        plot(
            "Response time (of the calls due in each slice)",
            [Series(name, over_time(f"{name}_ms")) for name in ("p50", "p95", "p99", "max")],
            x_label=seconds,
            y_label="ms",
        ),
    ]
    if reasons:
        plots.append(plot("Failures by reason", reasons, x_label=seconds, y_label="calls"))
    if any(part["throttled"] for part in line):
        plots.append(
            plot(
                "Throttled and withheld",
                [Series("calls", over_time("throttled"))],
                x_label=seconds,
                y_label="calls",
            )
        )
    return plots
