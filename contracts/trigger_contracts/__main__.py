"""`trigger-verify URL`: judge any implementation by every promise of the contract.

The judging happens in a pytest of its own process, so that nobody's configuration, plugins or warnings
reach it. Keys stay in the environment; the argument list of the child names variables only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

import click

_EPILOG = """\b
Exit codes:
  0  every must that was exercised holds (warnings allowed, unless --strict)
  1  a promise is broken
  2  wrong use, or nothing to talk to
  3  could not be judged (rate limited, budget spent, interrupted, --require not met)
"""


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "TRIGGER_VERIFY"},
)
@click.argument("url", required=False)
@click.option(
    "--api-key-env",
    default="TRIGGER_API_KEY",
    show_default=True,
    metavar="NAME",
    help="Variable that holds the key.",
)
@click.option("--other-api-key-env", metavar="NAME", help="The same, of a key of another organisation.")
@click.option(
    "--limited-api-key-env", metavar="NAME", help="The same, of a key whose limit may be exhausted instead."
)
@click.option("--probes", metavar="FILE", help="Known directives at the target (YAML or JSON).")
@click.option(
    "--probes-from-fixtures", metavar="PATH", help="Derive them from fixtures; 'default' is the shipped set."
)
@click.option("--contract", metavar="FILE", help="Judge by this document, not by the published contract.")
@click.option(
    "--profile", type=click.Choice(["quick", "standard", "deep"]), default="standard", show_default=True
)
@click.option("--only", multiple=True, metavar="ID|CHAPTER", help="Judge these only. May be repeated.")
@click.option("--skip", multiple=True, metavar="ID|CHAPTER", help="Leave these out. May be repeated.")
@click.option(
    "--require", multiple=True, metavar="ID|CHAPTER|all", help="'Not exercised' is a failure for these."
)
@click.option("--strict", is_flag=True, help="Warnings are failures.")
@click.option("--seed", type=int, help="Repeat a run.")
@click.option("--exhaust-rate-limit", is_flag=True, help="Leave to run into the rate limit.")
@click.option("--max-compose", type=click.IntRange(0), metavar="N", help="Compose calls that may be spent.")
@click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Requests that may be sent.")
@click.option("--rate", metavar="N/s", help="Requests a second at most.")
@click.option(
    "--max-wait",
    type=click.FloatRange(0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest waiting for rate limits, in all.",
)
@click.option("--timeout", type=click.FloatRange(0.1), default=15.0, show_default=True, metavar="SECONDS")
@click.option(
    "--accept-envelope",
    type=click.Choice(["detail", "error"]),
    default="detail",
    help="Where errors may stand.",
)
@click.option("--ca-bundle", metavar="FILE", help="Trust these authorities.")
@click.option("--client-cert", metavar="FILE", help="Show this certificate (PEM with key).")
@click.option("--insecure", is_flag=True, help="Do not check the certificate.")
@click.option(
    "--report", multiple=True, metavar="KIND=FILE", help="junit, json, markdown or html. May be repeated."
)
@click.option("--list", "list_", is_flag=True, help="Print the promises and end.")
@click.version_option(package_name="trigger-kit", prog_name="trigger-verify")
def main(
    url: str | None, *, list_: bool, rate: str | None, **given: str | float | tuple[str, ...] | None
) -> None:
    """Check the implementation at URL against every promise of the contract."""
    if list_:
        _print_list()
        return
    if not url:
        raise click.UsageError("give the URL of the implementation to check, like http://127.0.0.1:5000")
    arguments = [f"--trigger-base-url={url}"]
    if rate is not None:
        arguments.append(f"--trigger-rate={_rate(rate)}")
    for name, value in given.items():
        flag = f"--trigger-{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif isinstance(value, tuple):
            arguments += [f"{flag}={one}" for one in value]
        elif value not in (None, False):
            arguments.append(f"{flag}={value}")
    sys.exit(_run(arguments))


def _rate(text: str) -> float:
    try:
        rate = float(text.removesuffix("/s").removesuffix("/second"))
    except ValueError:
        rate = 0
    if not rate > 0 or rate == float("inf"):
        raise click.UsageError(f"--rate {text!r}: expected requests a second, like 10 or 10/s")
    return rate


def _run(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="trigger-verify-") as scratch:
        settings = Path(scratch) / "pytest.ini"
        settings.write_text("[pytest]\naddopts =\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-c", str(settings), "--rootdir", scratch]
        command += [
            "-p",
            "no:cacheprovider",
            "-p",
            "trigger_contracts.plugin",
            "--import-mode=importlib",
            "-q",
        ]
        command += ["--trigger-as-command", *arguments, str(Path(__file__).with_name("test_promises.py"))]
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTEST_ADDOPTS", "PYTHONWARNINGS", "PYTEST_PLUGINS")
        }
        environment |= {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # A group of its own: the child is interrupted once, by us, and then writes its reports while we wait.
        child = subprocess.Popen(command, env=environment, process_group=0, stdin=subprocess.DEVNULL)  # noqa: S603 - our own interpreter

        told_to_stop = False

        def pass_on(_: int, __: FrameType | None) -> None:
            nonlocal told_to_stop
            told_to_stop = True
            child.send_signal(signal.SIGINT)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        code = child.wait()
    if told_to_stop and code not in (0, 1):
        return 3
    return code if code in (0, 1, 2, 3) else 2


def _print_list() -> None:
    from trigger_contracts.promises import catalogue

    for one in catalogue():
        needs = f" (needs {', '.join(one.needs)})" if one.needs else ""
        click.echo(f"{one.id:<8} {one.level:<6} {one.sentence}{needs}")


if __name__ == "__main__":
    main()
