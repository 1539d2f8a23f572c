"""pytest learns to steer a mock: `trigger_mock`, a bench of its own for each test, on one server for the run.

Loaded in every pytest run of whoever installs the kit, so nothing but pytest is imported at the top; the rest
comes with the first test that asks for it. A test that fails shows what its client sent, what came back, and
what would have matched.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from trigger_mock.bench_client import MockServer, TriggerMock

_BENCH = pytest.StashKey["TriggerMock"]()
_MARK = (
    "trigger_mock(start='empty', fixtures=None, expires_after=None, journal=None, fault_header=None): "
    "how the bench of this test begins"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what a run may be told."""
    group = parser.getgroup("trigger-mock", "mock of POST /v1/memories/trigger")
    group.addoption(
        "--trigger-mock-url",
        metavar="URL",
        help="use the mock that runs there (or at $TRIGGER_MOCK_URL) in place of one that the run starts",
    )
    group.addoption(
        "--trigger-mock-token-env",
        metavar="NAME",
        default="TRIGGER_MOCK_TOKEN",
        help="environment variable that holds its control plane's token",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture(scope="session")
def trigger_mock_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MockServer]:
    """One mock for the whole run: all workers of pytest-xdist share it, and it ends with the last of them."""
    from trigger_mock.bench_client import MockServer
    from trigger_mock.leases import lease

    option = request.config.getoption
    url: str | None = option("--trigger-mock-url") or os.environ.get("TRIGGER_MOCK_URL")
    if url:
        server = MockServer(url, os.environ.get(str(option("--trigger-mock-token-env")), ""))
        server.wait_until_ready()
        yield server
        return
    folder = tmp_path_factory.getbasetemp()
    # The workers of pytest-xdist have folders of their own in the one of their run.
    held = lease(folder.parent if hasattr(request.config, "workerinput") else folder)
    try:
        yield MockServer(held.url)
    finally:
        held.release()


@pytest.fixture
def trigger_mock(trigger_mock_server: MockServer, request: pytest.FixtureRequest) -> Iterator[TriggerMock]:
    """A bench of this test's own, with its own key, rows, calls, faults, limits and clock."""
    test = cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType]
    mark = test.get_closest_marker("trigger_mock")
    with trigger_mock_server.bench(_name(test.name), **(mark.kwargs if mark else {})) as bench:
        test.stash[_BENCH] = bench
        try:
            yield bench
        finally:
            del test.stash[_BENCH]


def _name(test: str) -> str:
    """A name by which a reader of the page finds the test, and that no other bench has."""
    words = re.sub("[^a-z0-9]+", "-", test.lower())[:40].strip("-")
    return f"{words or 'test'}-{os.urandom(4).hex()}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the calls of a test that failed."""
    report = yield
    bench = item.stash.get(_BENCH, None)
    if bench is not None and report.failed and call.when != "teardown" and not _tells_of_calls(call):
        try:
            text = bench.report()
        except Exception as error:  # noqa: BLE001 - a server that is gone must not hide why the test failed
            text = f"not to be had: {type(error).__name__}"
        report.sections.append(("trigger-mock calls", text))
    return report


def _tells_of_calls(call: pytest.CallInfo[None]) -> bool:
    """Whether the failure itself shows the calls."""
    from trigger_mock.bench_client import Unmet

    return call.excinfo is not None and isinstance(call.excinfo.value, Unmet)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show compared calls by a line each."""
    calls: Any = sys.modules.get("trigger_mock.bench_calls")
    if calls is None or not (_holds_calls(left, calls.Call) or _holds_calls(right, calls.Call)):
        return None
    lines = [f"calls {op} expected"]
    for name, side in (("left", left), ("right", right)):
        many = _several(side)
        lines += [f"{name}:", *(f"  {each}" for each in many)] if many else [f"{name}: none"]
    return lines


def _holds_calls(side: object, kind: type) -> bool:
    return any(isinstance(each, kind) for each in _several(side))


def _several(side: object) -> list[object]:
    many: Any = side
    return list(many) if isinstance(side, list | tuple) else [side]
