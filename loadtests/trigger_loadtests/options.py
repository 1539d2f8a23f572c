"""The options of `trigger-load`: what can be asked for, in groups, and what it means as a plan.

`--help` shows what most runs need and fits a screen; `--help-all` shows the rest as well.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from trigger_loadtests import acquaintance, safety, shapes
from trigger_loadtests.mixture import USUAL_MIX
from trigger_loadtests.plan import Plan
from trigger_loadtests.scenarios import WRITERS
from trigger_loadtests.shapes import PROFILES, USUAL, Profile


def seconds(text: str) -> float:
    """Read a time: seconds, or a number with ms, s, m or h."""
    number = text.strip().rstrip("msh")
    scale = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}.get(text.strip()[len(number) :])
    try:
        value = float(number) * (scale or float("nan"))
    except ValueError:
        value = float("nan")
    if not 0 < value <= safety.MOST_SECONDS:
        raise click.BadParameter(f"{text!r} is no time between 0 and 24 h; write 800ms, 30s, 5m or 1h")
    return value


def _mix(written: Sequence[str]) -> dict[str, int]:
    """Read `--scenario name` or `--scenario name=weight`; only what is named takes part."""
    if not written:
        return dict(USUAL_MIX)
    mix: dict[str, int] = {}
    for item in written:
        name, _, weight = item.partition("=")
        if name not in WRITERS or not (weight or "1").isdecimal():
            raise click.BadParameter(
                f"{item!r}: write NAME or NAME=WEIGHT; there are {', '.join(WRITERS)}",
                param_hint="--scenario",
            )
        mix[name] = int(weight or 1)
    if not any(mix.values()):
        raise click.BadParameter("all weights are 0", param_hint="--scenario")
    return mix


#: How click describes a range, alone or behind a default.
_BOUNDS = re.compile(r"\s*\[[\d.]+<=x(?:<=[\d.]+)?\]|; [\d.]+<=x(?:<=[\d.]+)?(?=\])")


class Number(click.FloatRange):
    """A number within bounds; "nan", which is within any, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return it, or fail."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class GroupedOption(click.Option):
    """An option that stands under a heading; a `rare` one only in `--help-all`."""

    def __init__(self, *arguments: Any, group: str, rare: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.group, self.rare = group, rare

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return its line, without the bounds that only a mistake makes interesting."""
        record = super().get_help_record(ctx)
        return record and (record[0], _BOUNDS.sub("", record[1]))


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that this help is about."""
        everything = ctx.meta.get("trigger_loadtests.everything", False)
        groups: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            group, rare = getattr(option, "group", "Help"), getattr(option, "rare", False)
            if isinstance(option, click.Argument):
                continue
            record = option.get_help_record(ctx)
            if record is not None and (everything or not rare):
                groups.setdefault(group, []).append(record)
        for group, rows in sorted(groups.items(), key=lambda item: item[0] == "Help"):
            with formatter.section(group):
                formatter.write_dl(rows, col_max=32)


def _show_everything(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta["trigger_loadtests.everything"] = True
        click.echo(ctx.get_help())
        ctx.exit()


_SHAPE, _AGENTS, _TARGET, _TOLD, _COMPANY = "Load", "Agents", "Target", "Judgement and reports", "Processes"
_FILE, _RATE = click.Path(dir_okay=False), Number(0.01, 100_000)


def _option(group: str, *names: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=GroupedOption, group=group, **more)


def _rare(group: str, *names: str, **more: Any) -> Callable[[Any], Any]:
    return _option(group, *names, rare=True, show_default=True, **more)


_OPTIONS = (
    _option(_SHAPE, "-p", "--profile", type=click.Choice(PROFILES), default="smoke", metavar="SHAPE",
            help=f"{', '.join(PROFILES)}.  [smoke]"),
    _option(_SHAPE, "-r", "--rate", type=_RATE, metavar="N",
            help="Open model: calls a second (capacity: the first)."),
    _option(_SHAPE, "-u", "--users", type=click.IntRange(1, 50_000), metavar="N",
            help="Closed model: agents. With --rate: most calls in flight."),
    _option(_SHAPE, "-d", "--duration", type=seconds, metavar="TIME",
            help="30s, 5m, 1h (capacity: at most)."),
    _rare(_SHAPE, "--poisson", is_flag=True, help="Arrivals of independent agents instead of even ones."),
    _rare(_SHAPE, "--max-requests", type=click.IntRange(1, safety.MOST_REQUESTS), default=1_000_000,
          metavar="N", help="Calls of the whole run."),
    _rare(_SHAPE, "--max-rate", type=_RATE, default=2000, metavar="N", help="Where capacity stops."),
    _option(_AGENTS, "-s", "--scenario", multiple=True, metavar="NAME[=WEIGHT]",
            help=f"{', '.join(WRITERS)}; repeat."),
    _option(_AGENTS, "--probes", metavar="FILE", help="Whom and what to ask about: a probe file,"),
    _option(_AGENTS, "--fixtures", multiple=True, metavar="PATH", help="or fixtures; else invented."),
    _rare(_AGENTS, "--compose", type=Number(0, 1), default=0.2, metavar="SHARE",
          help="Share of calls under compose."),
    _rare(_AGENTS, "--seed", type=int, default=0, metavar="N", help="The same seed sends the same bodies."),
    _rare(_AGENTS, "--retry-after", type=click.Choice(["obey", "ignore"]), default="obey", help="On 429."),
    _option(_TARGET, "-k", "--api-key-env", metavar="NAME", help="Variable with the key.  [TRIGGER_API_KEY]"),
    _option(_TARGET, "--i-own-this-target", "owned", multiple=True, metavar="HOST",
            help="Needed for any host but this machine."),
    _rare(_TARGET, "--timeout", type=seconds, metavar="TIME", default="10s", help="Longest wait."),
    _rare(_TARGET, "--insecure", is_flag=True, help="Do not verify TLS certificates."),
    _option(_TOLD, "-o", "--objective", "written", multiple=True, metavar="TEXT",
            help="p95<800ms, errors<1%, coding:p99<2s, ...; repeat."),
    _rare(_TOLD, "--no-default-objectives", is_flag=True, help="Leave out the profile's own objectives."),
    _option(_TOLD, "--html", "html_path", type=_FILE, metavar="FILE", help="A page with plots."),
    _option(_TOLD, "--json", "json_path", type=_FILE, metavar="FILE", help="Everything; for compare."),
    _option(_TOLD, "--csv", "csv_path", type=_FILE, metavar="FILE", help="The timeline."),
    _option(_TOLD, "--junit", "junit_path", type=_FILE, metavar="FILE", help="The objectives as test cases."),
    _rare(_TOLD, "-q", "--quiet", is_flag=True, help="No live view."),
    _option(_COMPANY, "--processes", type=click.IntRange(1, 64), default=1, metavar="N",
            help="Workers on this machine.  [1]"),
    _rare(_COMPANY, "--master", is_flag=True, help="Wait for --expect-workers workers on other machines."),
    _rare(_COMPANY, "--worker", is_flag=True, help="Be a worker of --master-host; needs no URL."),
    _rare(_COMPANY, "--expect-workers", type=click.IntRange(1, 1000), default=1, metavar="N",
          help="How many the master waits for."),
    _rare(_COMPANY, "--master-host", default="127.0.0.1", metavar="HOST",
          help="Master: listen here. Worker: connect here."),
    _rare(_COMPANY, "--master-port", type=click.IntRange(1, 65535), default=5557, metavar="PORT",
          help="The port of either."),
    click.option("--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_everything,
                 help="Show every option."),
    click.version_option(package_name="trigger-kit", message="trigger-load %(version)s"),
)  # fmt: skip


def with_options(function: Any) -> Any:
    """Give a function all of them, in their order."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def check(options: dict[str, Any]) -> None:
    """Raise `click.UsageError` where options contradict each other."""
    if options["master"] and (options["worker"] or options["processes"] > 1):
        raise click.UsageError(
            "--master conducts workers that come to it; leave out --worker and --processes "
            "(start workers with: trigger-load --worker --master-host HOST)"
        )
    if options["worker"] and options["target"]:
        raise click.UsageError("a --worker loads what its master says; leave out the URL")
    written = [path for name in ("html", "json", "csv", "junit") if (path := options[f"{name}_path"])]
    if len({os.path.realpath(path) for path in written}) < len(written):
        raise click.UsageError("two reports would be written to the same file")


def plan_from(options: dict[str, Any], target: str, key: acquaintance.Key) -> Plan:
    """Return the plan that the options describe, or raise `click.UsageError`."""
    profile: Profile = options["profile"]
    usual, rate, users = USUAL[profile], options["rate"], options["users"]
    length = options["duration"] or usual.seconds
    closed = users is not None and rate is None
    if closed and profile == "capacity":
        raise click.UsageError(
            "capacity searches for a rate (open model): give --rate to start from, not --users alone"
        )
    stages = shapes.stages(profile, float((users if closed else rate) or usual.rate), length)
    if not closed and (asked := sum(stage.area for stage in stages)) > options["max_requests"]:
        raise click.UsageError(
            f"this run would make {asked:,.0f} calls, more than --max-requests {options['max_requests']:,}"
        )
    workers = options["expect_workers"] if options["master"] else options["processes"]
    return Plan(
        target=target,
        profile=profile,
        model="closed" if closed else "open",
        stages=stages,
        seconds=length,
        max_requests=options["max_requests"],
        max_in_flight=users if users and not closed else 4000,
        timeout=options["timeout"],
        seed=options["seed"],
        mix=_mix(options["scenario"]),
        compose=options["compose"],
        population=acquaintance.population_from(options["fixtures"], options["probes"], key, options["seed"]),
        obey_retry_after=options["retry_after"] == "obey",
        poisson=options["poisson"],
        insecure=options["insecure"],
        workers=workers,
        bin_seconds=max(1.0, float(-(-length // 120))),
        owned=tuple(options["owned"]),
        first_rate=rate or usual.rate,
        top_rate=options["max_rate"],
        stage_seconds=min(max(length / 20, 2.0), 15.0),
    )
