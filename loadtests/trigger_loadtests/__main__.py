"""The command `trigger-load`: its options, and what is written where."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from trigger_loadtests import acquaintance, objectives, safety, shapes
from trigger_loadtests.objectives import ObjectiveError
from trigger_loadtests.plan import Plan
from trigger_loadtests.scenarios import USUAL_MIX, WRITERS
from trigger_loadtests.shapes import PROFILES, USUAL, Profile

CONTEXT = {
    "auto_envvar_prefix": "TRIGGER_LOAD",
    "max_content_width": 110,
    "help_option_names": ["-h", "--help"],
}


def seconds(text: str) -> float:
    """Read a time: seconds, or a number with s, m or h."""
    number, unit = text.strip(), 1.0
    if number[-1:] in ("s", "m", "h"):
        number, unit = number[:-1], {"s": 1.0, "m": 60.0, "h": 3600.0}[number[-1]]
    try:
        value = float(number) * unit
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time; write 30, 30s, 5m or 1h") from None
    if not 0 < value <= safety.MOST_SECONDS:
        raise click.BadParameter(f"{text!r} is not between 0 and 24 h")
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


@click.command(
    context_settings=CONTEXT,
    epilog="Compare two runs: trigger-load compare A.json B.json.  Exit 0 objectives met, 1 missed, "
    "2 wrong use or nothing there, 3 the generator fell short, workers were lost or the run was interrupted.",
)
@click.argument("target", metavar="URL", required=False)
@click.option(
    "-p",
    "--profile",
    type=click.Choice(PROFILES),
    default="smoke",
    show_default=True,
    help="Shape of the run.",
)
@click.option(
    "-r",
    "--rate",
    type=click.FloatRange(0.01, 100_000),
    help="Open model: calls a second (capacity: the first).",
)
@click.option(
    "-u",
    "--users",
    type=click.IntRange(1, 50_000),
    help="Closed model: agents. With --rate: most calls in flight.",
)
@click.option(
    "-d",
    "--duration",
    type=seconds,
    metavar="TIME",
    help="Length of the run: 30s, 5m, 1h (capacity: at most).",
)
@click.option(
    "-o", "--objective", "written", multiple=True, help="p95<800ms, errors<1%, coding:p99<2s, ... Repeatable."
)
@click.option("--no-default-objectives", is_flag=True, help="Leave out the profile's own objectives.")
@click.option("-s", "--scenario", multiple=True, help=f"NAME[=WEIGHT] of {', '.join(WRITERS)}. Repeatable.")
@click.option(
    "-k", "--api-key-env", metavar="NAME", help="Variable that holds the key (else TRIGGER_API_KEY)."
)
@click.option(
    "--fixtures", multiple=True, metavar="PATH", help="Draw identities and entities from fixtures ..."
)
@click.option("--probes", metavar="FILE", help="... or from a probe file; else they are invented.")
@click.option(
    "--compose",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Share of calls under compose.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed sends the same bodies.")
@click.option("--poisson", is_flag=True, help="Arrivals of independent agents instead of even ones.")
@click.option(
    "--retry-after",
    type=click.Choice(["obey", "ignore"]),
    default="obey",
    show_default=True,
    help="After a 429.",
)
@click.option(
    "--timeout",
    type=seconds,
    metavar="TIME",
    default="10s",
    show_default=True,
    help="Longest wait for an answer.",
)
@click.option(
    "--max-requests", type=click.IntRange(1, safety.MOST_REQUESTS), default=1_000_000, show_default=True
)
@click.option(
    "--max-rate",
    type=click.FloatRange(0.1, 100_000),
    default=2000.0,
    show_default=True,
    help="Capacity: where to stop.",
)
@click.option("--insecure", is_flag=True, help="Do not verify TLS certificates.")
@click.option(
    "--i-own-this-target",
    "owned",
    multiple=True,
    metavar="HOST",
    help="Needed for any host but this machine.",
)
@click.option(
    "--html", "html_path", type=click.Path(dir_okay=False), help="Write a self-contained page with plots."
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False),
    help="Write the whole account (report.schema.json).",
)
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False), help="Write the timeline.")
@click.option(
    "--junit", "junit_path", type=click.Path(dir_okay=False), help="Write the objectives as test cases."
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Worker processes on this machine.",
)
@click.option("--master", is_flag=True, help="Wait for --expect-workers workers on other machines.")
@click.option("--worker", is_flag=True, help="Be a worker of --master-host; needs no URL.")
@click.option("--expect-workers", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option(
    "--master-host", default="127.0.0.1", show_default=True, help="Master: listen here. Worker: connect here."
)
@click.option("--master-port", type=click.IntRange(1, 65535), default=5557, show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No live view.")
@click.version_option(package_name="trigger-kit", message="trigger-load %(version)s")
def run_command(**options: Any) -> None:
    """Load an implementation of POST /v1/memories/trigger as agents do; say whether it copes."""
    if options["worker"]:
        sys.exit(_work(options))
    if not options["target"]:
        raise click.UsageError("give the base URL of a target, such as http://127.0.0.1:8080")
    try:
        sys.exit(_conduct(options))
    except (safety.TargetError, ObjectiveError, acquaintance.UnknownError) as error:
        raise click.UsageError(str(error)) from error


def _work(options: dict[str, Any]) -> int:
    from trigger_loadtests import launch

    def key_of(plan: Plan) -> str:
        loopback = safety.is_loopback(urlsplit(plan.target).hostname or "")
        return acquaintance.key_from(os.environ, options["api_key_env"], loopback=loopback).secret

    return launch.work(options["master_host"], options["master_port"], key_of)


def _plan(options: dict[str, Any], target: str, key: acquaintance.Key) -> Plan:
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


def _conduct(options: dict[str, Any]) -> int:
    target = safety.base_url(options["target"])
    safety.allow(target, options["owned"])
    chosen = objectives.gather(
        options["profile"], options["written"], defaults=not options["no_default_objectives"]
    )
    key = acquaintance.key_from(
        os.environ, options["api_key_env"], loopback=safety.is_loopback(urlsplit(target).hostname or "")
    )
    plan = _plan(options, target, key)
    click.echo(f"trigger-load: {plan.profile} against {plan.target}, key from {key.source}", err=True)

    from trigger_loadtests import account, launch, live, preflight, reports

    files = {
        name: Path(written) if (written := options[f"{name}_path"]) else None
        for name in ("html", "json", "csv", "junit")
    }
    if complaint := reports.unwritable(*files.values()):
        raise click.UsageError(complaint)
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    try:
        preflight.look(plan, key.secret, key.source)
        with live.view(plan, quiet=options["quiet"]) as watch:
            run = launch.run(plan, key.secret, chosen, _company(options), watch=watch)
    except preflight.NothingThereError as error:
        click.echo(f"trigger-load: {error}", err=True)
        return account.NOTHING
    except launch.NoWorkersError as error:
        click.echo(f"trigger-load: {error}", err=True)
        return account.SHORT
    document = account.document(run, chosen, started=started, version=reports.version())
    click.echo(reports.table(document), nl=False)
    reports.write(document, **files)
    return int(document["verdict"]["exit_code"])


def _company(options: dict[str, Any]) -> Any:
    from trigger_loadtests.launch import Company

    children = options["processes"] if options["processes"] > 1 and not options["master"] else 0
    return Company(
        children=children, master=options["master"], host=options["master_host"], port=options["master_port"]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `trigger-load`, or `trigger-load compare`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["compare"]:
        from trigger_loadtests.comparison import compare_command

        compare_command.main(given[1:], prog_name="trigger-load compare")
    run_command.main(given, prog_name="trigger-load")


if __name__ == "__main__":
    main()
