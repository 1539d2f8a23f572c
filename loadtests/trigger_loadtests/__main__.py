"""The command `trigger-load`: conducts a run, and says what is written where."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from trigger_loadtests import acquaintance, objectives, safety
from trigger_loadtests.objectives import ObjectiveError
from trigger_loadtests.options import GroupedCommand, check, plan_from, with_options
from trigger_loadtests.plan import Plan

CONTEXT = {
    "auto_envvar_prefix": "TRIGGER_LOAD",
    "max_content_width": 110,
    "help_option_names": ["-h", "--help"],
}


@click.command(
    cls=GroupedCommand,
    context_settings=CONTEXT,
    epilog="Compare two runs: trigger-load compare A.json B.json.  Exit 0 objectives met, 1 missed, "
    "2 wrong use or nothing there, 3 the generator fell short, workers were lost or the run was interrupted.",
)
@click.argument("target", metavar="URL", required=False)
@with_options
def run_command(**options: Any) -> None:
    """Load an implementation of POST /v1/memories/trigger as agents do; say whether it copes."""
    check(options)
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

    where = f"{options['master_host']}:{options['master_port']}"
    if not options["quiet"]:
        click.echo(f"trigger-load: a worker for the master at {where}", err=True)
    code = launch.work(options["master_host"], options["master_port"], key_of)
    if code:
        click.echo(f"trigger-load: no master answered at {where}; start it with --master", err=True)
    return code


def _conduct(options: dict[str, Any]) -> int:
    target = safety.base_url(options["target"])
    safety.allow(target, options["owned"])
    chosen = objectives.gather(
        options["profile"], options["written"], defaults=not options["no_default_objectives"]
    )
    key = acquaintance.key_from(
        os.environ, options["api_key_env"], loopback=safety.is_loopback(urlsplit(target).hostname or "")
    )
    plan = plan_from(options, target, key)
    click.echo(f"trigger-load: {plan.profile} against {plan.target}, key from {key.source}", err=True)

    from trigger_loadtests import account, launch, live, preflight, reports, verdict

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
        return verdict.NOTHING
    except launch.NoWorkersError as error:
        click.echo(f"trigger-load: {error}", err=True)
        return verdict.SHORT
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
