"""The command `trigger-mock`: options, environment, the lines it prints, and its exit codes.

Every option is also `TRIGGER_MOCK_<OPTION>` in the environment, read by the same parser, for CI and for
embedding servers. Exit 0: served until told to stop, or fixtures checked; 1: `--check` found mistakes;
2: wrong use, said in one line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import shlex
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from trigger_contracts import ENDPOINT
from trigger_fixtures import DEFAULT, DIRECTIVES, Corpus, FixtureErrors, Rate, default, load
from trigger_fixtures.notations import rate
from trigger_fixtures.sources import stamp_of
from trigger_mock import explain_command
from trigger_mock.journal import SIZE
from trigger_mock.limits import UNLIMITED, Overrides
from trigger_mock.settings import MEBIBYTE, Settings

if TYPE_CHECKING:
    from flask import Flask

PREFIX = "TRIGGER_MOCK"
#: In place of a path: the set that ships with the kit, for overlaying it.
SHIPPED = "default"
_PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)


class _Limit(click.ParamType[Rate | str]):
    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rate | str:
        if value == UNLIMITED:
            return UNLIMITED
        read = value if isinstance(value, Rate) else rate(value)
        if read is None:
            self.fail(
                f"{value!r} is no rate; expected AMOUNT/PERIOD such as 600/minute or 5/4second, or none",
                param,
                ctx,
            )
        return read


class _Cap(click.ParamType[int | str]):
    name = "cap"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == UNLIMITED:
            return UNLIMITED
        if not (str(value).isascii() and str(value).isdecimal()) or int(value) < 1:
            self.fail(f"{value!r} is no daily cap; expected a number of requests from 1, or none", param, ctx)
        return int(value)


class _Latency(click.ParamType[float | str]):
    name = "latency"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == "realistic":
            return "realistic"
        text = str(value).strip()
        number, scale = (text[:-2], 0.001) if text.endswith("ms") else (text.removesuffix("s"), 1.0)
        try:
            seconds = float(number) * scale
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= 60:
            self.fail(
                f"{value!r} is no latency; expected seconds up to 60 such as 0.2, 200ms, or realistic",
                param,
                ctx,
            )
        return seconds


class _Served(click.Group):
    """Serves when no subcommand is named; what is no subcommand is an argument too many."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"Got unexpected extra argument ({args[0]})", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Served,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND]",
    context_settings={"auto_envvar_prefix": PREFIX, "help_option_names": ["-h", "--help"]},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8900, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option(
    "--fixtures", multiple=True, type=click.Path(), metavar="PATH",
    help="File or folder, in place of the shipped set (`default`); repeat to overlay by id.",
)  # fmt: skip
@click.option(
    "--reload/--no-reload",
    default=True,
    show_default=True,
    help="Read --fixtures again when they change.",
)
@click.option(
    "--rate-limit",
    type=_Limit(),
    metavar="RATE",
    help="Rate of every key, as 600/minute, or none; overrides fixtures.",
)
@click.option(
    "--daily-cap", type=_Cap(), metavar="N", help="Requests a day of every key, or none; overrides fixtures."
)
@click.option(
    "--storage",
    default="memory://",
    show_default=True,
    metavar="URI",
    help="Where requests are counted; redis://… to share.",
)
@click.option(
    "--body-limit",
    default=MEBIBYTE,
    show_default=True,
    type=click.IntRange(1),
    metavar="BYTES",
    help="Largest body.",
)
@click.option(
    "--latency",
    default="0",
    type=_Latency(),
    metavar="TIME",
    help="Simulated latency: 0.2, 200ms, or realistic.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the realistic latency.")
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Processes; several need trigger-kit[fast].",
)
@click.option(
    "--server",
    type=click.Choice(["waitress", "granian"]),
    help="Server; granian when there are several workers.",
)
@click.option(
    "--journal",
    default=SIZE,
    show_default=True,
    type=click.IntRange(0, 1_000_000),
    help="Calls that are kept; 0 for none.",
)
@click.option(
    "--fault-header",
    is_flag=True,
    help="Let a request ask for a fault by X-Trigger-Mock-Fault.",
)
@click.option(
    "--control/--no-control",
    default=True,
    show_default=True,
    help="Serve the control plane under /_mock.",
)
@click.option(
    "--control-token-env",
    metavar="NAME",
    help="Variable that holds the control plane's token; without one it answers on this machine only.",
)
@click.option("--allow-token-scheme", is_flag=True, help="Accept `Authorization: Token` as `Bearer`.")
@click.option(
    "--log-level", default="info", show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    help="info: hints and refusals.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Validate the fixtures and exit.")
@click.version_option(package_name="trigger-kit", allow_from_autoenv=False)
def command(**options: Any) -> None:
    """Answer POST /v1/memories/trigger on this machine as the real service does, from fixtures."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    _log_at(options["log_level"])
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    files = [DEFAULT if path == SHIPPED else Path(path) for path in options["fixtures"]]
    stamp = stamp_of(files)  # before they are read: what is saved from here on is a change
    corpus = corpus_of(options["fixtures"], exit_code=1 if options["check"] else 2)
    if options["check"]:
        _tell_of(corpus, options["fixtures"])
        return
    source = click.get_current_context().get_parameter_source("control")
    asked = options["control_token_env"] or (source is not ParameterSource.DEFAULT and options["control"])
    if asked and options["workers"] > 1:
        click.echo(
            "note: the control plane is off: several workers would each be steered by themselves", err=True
        )
    _serve(corpus, _settings(options), options | {"files": files, "stamp": stamp})


command.add_command(explain_command.explain)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; a wrong use is one line on stderr and exit code 2."""
    try:
        code = command.main(arguments, prog_name="trigger-mock", standalone_mode=False)
    except click.ClickException as error:
        _give_up(" ".join(error.format_message().split()))
    except click.Abort:
        code = 130
    sys.exit(code)


def from_environment() -> tuple[Corpus, Settings]:
    """What the `TRIGGER_MOCK_*` variables say, for a server that is not ours. Raises `click.UsageError`."""
    with command.make_context("trigger-mock", []) as context:
        options = context.params
    _log_at(options["log_level"])
    try:
        return _load(options["fixtures"]), _settings(options)
    except FixtureErrors as error:
        raise click.UsageError(str(error)) from None


def _log_at(level: str) -> None:
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    logging.getLogger("trigger_mock").setLevel(level.upper())


def _settings(options: dict[str, Any]) -> Settings:
    return Settings(
        limits=Overrides(options["rate_limit"], options["daily_cap"]),
        storage=options["storage"],
        body_limit=options["body_limit"],
        latency=options["latency"],
        seed=options["seed"],
        allow_token_scheme=options["allow_token_scheme"],
        journal=options["journal"],
        fault_header=options["fault_header"],
        # Several workers would each be steered, and each tell, by themselves.
        control=options["control"] and options["workers"] == 1,
        control_token=_token(options["control_token_env"]),
    )


def _token(variable: str | None) -> str:
    if variable is None:
        return ""
    token = os.environ.get(variable, "").strip()
    if not token:
        raise click.UsageError(f"--control-token-env {variable}: the variable is empty or not set")
    return token


def _load(paths: tuple[str, ...]) -> Corpus:
    return load(*(DEFAULT if path == SHIPPED else path for path in paths)) if paths else default()


def corpus_of(paths: tuple[str, ...], *, exit_code: int = 2) -> Corpus:
    """The fixtures at these paths, or the shipped ones; leaves with what is wrong with them."""
    for path in paths:
        if path != SHIPPED and not (path and (Path(path).is_file() or Path(path).is_dir())):
            _give_up(f"--fixtures {path!r}: no such file or folder")
    try:
        return _load(paths)
    except FixtureErrors as error:
        click.echo(f"trigger-mock: {error}", err=True)
        sys.exit(exit_code)
    except OSError as error:
        _give_up(f"cannot read fixtures {error.filename}: {error.strerror}")


def _serve(corpus: Corpus, settings: Settings, options: dict[str, Any]) -> None:
    several = options["workers"] > 1
    if several and options["server"] == "waitress":
        raise click.UsageError("waitress serves in one process; leave --server out, or take --server granian")
    if several or options["server"] == "granian":
        _serve_on_granian(corpus, settings, options)
    else:
        _serve_on_waitress(corpus, settings, options)


def _serve_on_waitress(corpus: Corpus, settings: Settings, options: dict[str, Any]) -> None:
    from trigger_mock import server

    with _listening(options):
        listening = server.bind(options["host"], options["port"])
    with listening:
        application = _application(corpus, settings)
        if options["fixtures"] and options["reload"]:
            _keep_at_files(application, options)
        ready = partial(_announce, server.url_of(listening), corpus, options["fixtures"])
        server.serve(application, listening, body_limit=settings.body_limit, ready=ready)


def _keep_at_files(application: Flask, options: dict[str, Any]) -> None:
    from trigger_mock.benches import Benches
    from trigger_mock.reloading import Reloading

    benches: Benches = application.extensions["trigger_mock"]
    load = partial(_load, options["fixtures"])
    benches.reloading = Reloading(benches, options["files"], load, read=options["stamp"])
    benches.reloading.start()


def _serve_on_granian(corpus: Corpus, settings: Settings, options: dict[str, Any]) -> None:
    from trigger_mock import server, workers

    with _listening(options):
        host, port = workers.free_port(options["host"], options["port"])
    _application(corpus, settings)  # what a worker could not do either is said here, once
    if options["workers"] > 1 and settings.storage == "memory://":
        click.echo(
            "note: each worker counts requests by itself; --storage redis://… makes them share a limit",
            err=True,
        )
    try:
        workers.serve(
            partial(_application_in_worker, options["fixtures"], settings, options["log_level"]),
            host,
            port,
            workers=options["workers"],
            body_limit=settings.body_limit,
            ready=partial(_announce, server.url(host, port), corpus, options["fixtures"]),
        )
    except ImportError:
        _give_up(
            "several workers and granian need an extra; install it with: pip install 'trigger-kit[fast]'"
        )


@contextlib.contextmanager
def _listening(options: dict[str, Any]) -> Generator[None]:
    """Say in one line why an address cannot be had."""
    host, port = options["host"], options["port"]
    try:
        yield
    except UnicodeError:
        _give_up(f"cannot listen on {host}:{port}: this is no host name")
    except OSError as error:
        advice = "; choose another --port, 0 takes a free one" if error.errno in _PORT_ERRORS else ""
        # Python adds the address to some reasons; it is said already. Those of a name look-up are negative.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or error
        _give_up(f"cannot listen on {host}:{port}: {reason}{advice}")


def _application(corpus: Corpus, settings: Settings) -> Flask:
    from trigger_mock.app import create_app

    try:
        return create_app(corpus, settings=settings)
    except ImportError:
        _give_up("counting in Redis needs an extra; install it with: pip install 'trigger-kit[redis]'")
    except (ConnectionError, ValueError) as error:
        _give_up(f"--storage: {error}")


def _application_in_worker(paths: tuple[str, ...], settings: Settings, log_level: str) -> Flask:
    _log_at(log_level)
    return _application(_load(paths), settings)


def _announce(url: str, corpus: Corpus, paths: tuple[str, ...]) -> None:
    stdout: Any = sys.stdout
    # A terminal that knows no such letters shows their escapes, which JSON reads as well.
    with contextlib.suppress(AttributeError):  # what stands in for a terminal in a test may know no encoding
        stdout.reconfigure(errors="backslashreplace")
    keys = "; ".join(
        f"{' '.join(organisation.name.split())} {', '.join(key.key for key in organisation.keys)}"
        for organisation in corpus.organisations.values()
    )
    click.echo(f"trigger-mock answers at {url} | keys: {keys} | fixtures: {_summary(corpus, paths)}")
    click.echo(_example(url, corpus))
    stdout.flush()


def _summary(corpus: Corpus, paths: tuple[str, ...]) -> str:
    directives = sum(row.type in DIRECTIVES for row in corpus.rows)
    held = f"{len(corpus.rows)} {'memory' if len(corpus.rows) == 1 else 'memories'}"
    return f"{', '.join(paths) or SHIPPED} ({held}, of which the endpoint recalls {directives})"


def _tell_of(corpus: Corpus, paths: tuple[str, ...]) -> None:
    click.echo(f"fixtures are valid: {_summary(corpus, paths)}")
    unreachable = sum(row.type in DIRECTIVES and not _axis(row) for row in corpus.rows)
    if unreachable:
        click.echo(
            f"note: {unreachable} of these rows carry no scope, so no request can recall them", err=True
        )


def _example(url: str, corpus: Corpus) -> str:
    """A `curl` that returns rows: the contract's own example where it is there, or the first row."""
    reachable = [
        row
        for row in corpus.rows
        if row.type in DIRECTIVES and _axis(row) and corpus.organisations[row.organisation].keys
    ]
    if not reachable:
        return "no lesson or procedure of these fixtures can be recalled: none has a scope"
    row = next(
        (row for row in reachable if row.user_id == "user-123" and "tool_loop.py" in row.trigger_entities),
        reachable[0],
    )
    body = json.dumps({**_axis(row), "entities": [row.trigger_entities[0]]}, ensure_ascii=False)
    words = [
        "curl",
        "-sS",
        url + ENDPOINT,
        "-H",
        f"x-api-key: {corpus.organisations[row.organisation].keys[0].key}",
    ]
    words += ["-H", "Content-Type: application/json", "-d", body]
    return " ".join(map(shlex.quote, words))


def _axis(row: Any) -> dict[str, Any]:
    for axis in ("user_id", "agent_id", "app_id"):
        if getattr(row, axis):
            return {axis: getattr(row, axis)}
    return {"group_ids": [row.group_ids[0]]} if row.group_ids else {}


def _give_up(why: str) -> NoReturn:
    click.echo(f"trigger-mock: {why}", err=True)
    sys.exit(2)
