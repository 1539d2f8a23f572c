"""pytest learns to judge a target: the options `--trigger-*`, one item a promise, the verdict at the end.

Loaded in every pytest run of whoever installs the kit, so nothing but pytest is imported at the top and
nothing happens without `--trigger-base-url`. Keys come by the names of environment variables, never by
value: an argument list is for everyone to read. Each item writes its outcome into its report, so that the
process which collects them (under xdist: the controller) can make the one verdict.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from trigger_contracts.session import Session

SESSION = pytest.StashKey["Session"]()
_WRONG = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what a run may be told."""
    group = parser.getgroup("trigger", "contract of POST /v1/memories/trigger")
    option = group.addoption
    option("--trigger-base-url", metavar="URL", help="the implementation to judge")
    option(
        "--trigger-api-key-env",
        metavar="NAME",
        default="TRIGGER_API_KEY",
        help="environment variable that holds the key",
    )
    option("--trigger-other-api-key-env", metavar="NAME", help="the same, of a key of another organisation")
    option(
        "--trigger-limited-api-key-env",
        metavar="NAME",
        help="the same, of a key whose limit may be exhausted",
    )
    option("--trigger-probes", metavar="FILE", help="known directives at the target")
    option(
        "--trigger-probes-from-fixtures",
        metavar="PATH",
        help="derive them from fixtures ('default': the shipped set)",
    )
    option("--trigger-contract", metavar="FILE", help="judge by this contract, not by the published one")
    option("--trigger-profile", default="standard", choices=("quick", "standard", "deep"))
    option("--trigger-seed", type=int, default=None)
    option("--trigger-rate", type=float, default=None, metavar="N", help="requests a second at most")
    option("--trigger-max-requests", type=int, default=None, metavar="N")
    option("--trigger-max-compose", type=int, default=None, metavar="N")
    option("--trigger-max-wait", type=float, default=120.0, metavar="SECONDS")
    option("--trigger-timeout", type=float, default=15.0, metavar="SECONDS")
    option("--trigger-exhaust-rate-limit", action="store_true", default=False)
    option("--trigger-accept-envelope", choices=("detail", "error"), default="detail")
    option("--trigger-ca-bundle", metavar="FILE")
    option("--trigger-client-cert", metavar="FILE")
    option("--trigger-insecure", action="store_true", default=False)
    option("--trigger-require", action="append", default=[], metavar="ID|CHAPTER|all")
    option("--trigger-only", action="append", default=[], metavar="ID|CHAPTER")
    option("--trigger-skip", action="append", default=[], metavar="ID|CHAPTER")
    option("--trigger-strict", action="store_true", default=False)
    option(
        "--trigger-report",
        action="append",
        default=[],
        metavar="KIND=FILE",
        help="junit, json, markdown or html",
    )
    option("--trigger-as-command", action="store_true", default=False, help="print as trigger-verify does")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the run, when there is a target."""
    if not config.getoption("--trigger-base-url"):
        return
    from trigger_contracts.options import WrongUse
    from trigger_contracts.session import Session

    try:
        session = Session.of(config)
    except WrongUse as error:
        config.stash[_WRONG] = str(error)
    else:
        config.stash[SESSION] = session
        _current[:] = [session]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Leave the talking to the verdict, where pytest is only the engine of the command."""
    if session.config.getoption("--trigger-as-command"):
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            session.config.pluginmanager.unregister(reporter)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """See whether anything answers, before a hundred items find out one by one."""
    config = session.config
    trouble = config.stash.get(_WRONG, None)
    if SESSION in config.stash:
        ours = config.stash[SESSION]
        trouble = ours.begin()
        if hasattr(config, "workerinput"):
            trouble = None  # the controller says it, once
        elif trouble:
            ours.write_down(trouble)
            ours.over = True
    if trouble:
        if config.getoption("--trigger-as-command"):
            sys.stderr.write(f"trigger-verify: {trouble}\n")
        pytest.exit(trouble, returncode=2)
    return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run what looks back at the others last, whatever order the files had."""
    if SESSION not in config.stash:
        return
    order = {one.id: at for at, one in enumerate(config.stash[SESSION].running_order)}
    ours = [item for item in items if "promise" in getattr(getattr(item, "callspec", None), "params", {})]
    places = [at for at, item in enumerate(items) if item in ours]
    ours.sort(key=lambda item: order.get(_promise_id(item), 0))
    for at, item in zip(places, ours, strict=True):
        items[at] = item


def _promise_id(item: pytest.Item) -> str:
    callspec: Any = getattr(item, "callspec", None)
    return str(callspec.params["promise"])


@pytest.fixture(scope="session")
def trigger_session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """The run that all promises share."""
    if SESSION not in request.config.stash:
        pytest.skip("no target: give --trigger-base-url URL")
    session = request.config.stash[SESSION]
    yield session
    session.run.target.close()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the outcome of one item, from this process or from a worker."""
    session = _current[0] if _current else None
    if session is None or report.when != "call":
        return
    for name, value in report.user_properties:
        if name == "trigger":
            session.collect(json.loads(str(value)))


_current: list[Session] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Know which promises this run is about."""
    if SESSION in session.config.stash:
        session.config.stash[SESSION].expect(
            [
                _promise_id(item)
                for item in session.items
                if "promise" in getattr(getattr(item, "callspec", None), "params", {})
            ]
        )


def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """An interrupted run still has a verdict: what is open stays open."""
    if _current and isinstance(excinfo.value, KeyboardInterrupt):
        _current[0].interrupted = True
        # Impatience must not cost the reports: a second Ctrl-C waits until they are written.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
    """Write the reports, and end with the exit code that the verdict calls for."""
    if SESSION not in session.config.stash or hasattr(session.config, "workerinput"):
        return
    ours = session.config.stash[SESSION]
    if ours.over or exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        return
    ours.over = True
    if ours.expected or ours.interrupted:
        session.exitstatus = ours.finish()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind for another session of this process."""
    if SESSION in config.stash and config.getoption("--trigger-contract"):
        from trigger_contracts.document import judge_by
        from trigger_contracts.validation import compile_all

        judge_by(None)
        compile_all()
    _current.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the verdict in an ordinary pytest run."""
    verdict = config.stash[SESSION].verdict if SESSION in config.stash else None
    if verdict is not None:
        from trigger_contracts.report.plain import lines

        terminalreporter.section("promises of the contract")
        for line in lines(verdict):
            terminalreporter.write_line(line)
