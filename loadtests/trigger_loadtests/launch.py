"""Starting a run: in this process, in several on this machine, or as the master of workers on others.

Children get the key by their environment, never on their command line. Importing this module imports
Locust.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import gevent

from trigger_loadtests import acquaintance, engine
from trigger_loadtests.conductor import Conductor
from trigger_loadtests.finished import Run
from trigger_loadtests.objectives import Objective
from trigger_loadtests.plan import Plan


class NoWorkersError(Exception):
    """The workers that were expected did not all come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """Who does the work: `children` started here, or (`master`) workers that come to `host:port`."""

    children: int = 0
    master: bool = False
    host: str = "127.0.0.1"
    port: int = 5557


def run(
    plan: Plan,
    secret: str,
    objectives: Sequence[Objective],
    company: Company,
    *,
    watch: Callable[[Conductor], None],
) -> Run:
    """Conduct a run to its end; Ctrl-C ends it early and everything is still added up."""
    _prepare()
    environment = engine.environment_for(plan)
    with contextlib.ExitStack() as stack:
        children: list[subprocess.Popen[bytes]] = []
        if company.master or company.children:
            runner: Any = environment.create_master_runner(
                company.host, 0 if company.children else company.port
            )
            port = runner.server.port if company.children else company.port
            children = stack.enter_context(_children(company.children, port, secret))
            _gather(runner, plan.workers, children)
        else:
            environment.create_local_runner()
            engine.attend(environment, lambda _: secret)
        conductor = Conductor(
            plan,
            environment,
            objectives,
            watch=watch,
            lost_children=lambda: frozenset(child.pid for child in children if child.poll() is not None),
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            gevent.signal_handler(number, conductor.interrupt)
        return conductor.run()


def _prepare() -> None:
    """Let this process hold as many connections as the system allows, and keep Locust's own log quiet."""
    logging.getLogger("locust").setLevel(logging.ERROR)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextlib.contextmanager
def _children(count: int, port: int, secret: str) -> Generator[list[subprocess.Popen[bytes]]]:
    command = [
        sys.executable,
        "-m",
        "trigger_loadtests",
        "--worker",
        "--master-host",
        "127.0.0.1",
        "--master-port",
        str(port),
        "--quiet",
    ]
    started = [
        subprocess.Popen(  # noqa: S603 - this interpreter, with our own module
            command, env=acquaintance.handed_down(secret), stdin=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(count)
    ]
    try:
        yield started
    finally:
        for child in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=3)
        for child in started:
            if child.poll() is None:
                child.kill()
                child.wait(timeout=3)


def _gather(runner: Any, expected: int, children: Sequence[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + engine.MEETING_SECONDS
    while runner.worker_count < expected:
        if time.monotonic() > until or any(child.poll() is not None for child in children):
            raise NoWorkersError(
                f"{runner.worker_count} of {expected} workers reported in within {engine.MEETING_SECONDS} s"
            )
        gevent.sleep(0.05)


def work(master_host: str, master_port: int, key_of: Callable[[Plan], str]) -> int:
    """Be a worker until the master ends the run."""
    _prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the master says when to stop
    return engine.work(master_host, master_port, key_of)
