"""A bench in a test's hands: its rows, calls, faults, clock and explanations, over the control plane.

The pytest plugin makes one a test; `MockServer(url).bench()` makes one anywhere else. Nothing but Python's
own library.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from trigger_mock.bench_calls import Call, call_of
from trigger_mock.bench_parts import BenchClock, Faults, Rows
from trigger_mock.call_report import Report
from trigger_mock.control_client import Control, ControlError

ENDPOINT = "/v1/memories/trigger"
#: Seconds that one request may wait for calls; longer waits are several.
LONGEST_POLL = 20.0
PAGE = 500


class Unmet(AssertionError):
    """What a test says of its bench does not hold; the message ends in a report of the calls."""


class MockServer:
    """A mock that runs somewhere; `token` is its control plane's, if it has one."""

    def __init__(self, url: str, token: str = "") -> None:
        self.control = Control(url, token)
        self.url = self.control.url

    def __repr__(self) -> str:
        return f"MockServer({self.url!r})"

    def wait_until_ready(self) -> None:
        """Raise `Unreachable` unless it answers."""
        self.control.send("GET", "ready")

    def bench(
        self,
        name: str | None = None,
        *,
        start: str = "empty",
        fixtures: Mapping[str, Any] | None = None,
        expires_after: float | None = None,
        journal: int | None = None,
        fault_header: bool | None = None,
    ) -> TriggerMock:
        """Make a bench: a world of its own, with a key of its own.

        `start`: "empty", or "default" to begin with what the server was started with. `fixtures`: a document
        as in files, in place of `start`. `expires_after`: seconds without use after which it is gone.
        `journal`: calls that it keeps. `fault_header`: whether clients may ask for faults by header.
        """
        wanted: dict[str, Any] = {
            "name": name,
            "from": start if fixtures is None else None,
            "fixtures": fixtures,
            "expires_after": expires_after,
            "journal": journal,
            "fault_header": fault_header,
        }
        body = {field: value for field, value in wanted.items() if value is not None}
        return TriggerMock(self.control, self.control.send("POST", "benches", body=body))


class TriggerMock:
    """One bench. Whoever sends its `api_key` to its `endpoint` is in it, and in no other."""

    def __init__(self, control: Control, made: Mapping[str, Any]) -> None:
        self._control = control
        self.name: str = made["name"]
        #: The base URL that a client is given.
        self.url = control.url
        #: The whole address of the endpoint.
        self.endpoint = control.url + ENDPOINT
        #: A key of the bench's first organisation.
        self.api_key: str = made["api_key"]
        #: The keys of each organisation.
        self.api_keys: dict[str, list[str]] = {
            each["name"]: list(each["api_keys"]) for each in made["organisations"]
        }
        owner = next(name for name, keys in self.api_keys.items() if self.api_key in keys)
        self.rows = Rows(control, self.name, owner)
        self.faults = Faults(control, self.name)
        self.clock = BenchClock(control, self.name)

    def __repr__(self) -> str:
        return f"<trigger_mock bench {self.name!r} at {self.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def headers(self) -> dict[str, str]:
        """What a request needs to be in this bench."""
        return {"x-api-key": self.api_key, "Content-Type": "application/json"}

    @property
    def calls(self) -> list[Call]:
        """All calls that the bench's journal keeps, oldest first."""
        return self.find_calls()

    def find_calls(self, **filters: object) -> list[Call]:
        """The calls that meet all filters: status, mode, tool, entity, user_id, agent_id, app_id, group_id,
        organisation, request_id, recalled, fault, method.
        """
        found: list[Call] = []
        while True:
            after = found[-1].number if found else 0
            page = self._ask("GET", "calls", query={**filters, "after": after, "limit": PAGE})["calls"]
            found += map(call_of, page)
            if len(page) < PAGE:
                return found

    def wait_for_calls(self, count: int = 1, *, timeout: float = 5.0, **filters: object) -> list[Call]:
        """Return the calls that meet the filters once there are `count` of them.

        Fails the test after `timeout` seconds, with what was sent instead.
        """
        __tracebackhide__ = True
        deadline = time.monotonic() + timeout
        while True:
            left = min(max(0.0, deadline - time.monotonic()), LONGEST_POLL)
            query = {**filters, "count": count, "timeout": round(left, 3)}
            answer = self._ask("GET", "calls", "wait", query=query, timeout=left)
            calls = list(map(call_of, answer["calls"]))
            if answer["satisfied"]:
                return calls
            if time.monotonic() >= deadline:
                seen = f"{len(calls)} of {_times(count)}{_having(filters)} within {timeout:g} s"
                raise Unmet(f"{seen}\n{self.report()}")

    def clear_calls(self) -> None:
        """Forget the calls so far."""
        self._ask("DELETE", "calls")

    def fail_next(
        self,
        times: int = 1,
        *,
        status: int | None = None,
        fault: str | Mapping[str, Any] | None = None,
        preset: str | None = None,
        match: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Answer the next calls (those that `match`) with an error, or with another fault.

        `status`: one that the contract documents (500 unless said otherwise). `fault`: a kind of fault, or a
        fault with its settings. `preset`: one by its name, such as "flaky".
        """
        if (status is not None) + (fault is not None) + (preset is not None) > 1:
            raise TypeError("say what goes wrong by one of status, fault and preset")
        if fault is None and preset is None:
            fault = {"kind": "error", "status": 500 if status is None else status}
        return self.faults.add(fault, preset=preset, match=match, times=times)

    def explain(self, body: object, *, organisation: str | None = None) -> dict[str, Any]:
        """Say why this request would be answered as it would be, without sending it."""
        query = {"organisation": organisation} if organisation else None
        answer: dict[str, Any] = self._ask("POST", "explain", body=body, query=query)
        return answer

    def explain_call(self, call: Call | int) -> dict[str, Any]:
        """The same of a call that was made."""
        number = call if isinstance(call, int) else call.number
        answer: dict[str, Any] = self._ask("GET", "calls", number, "explanation")
        return answer

    def assert_called(self, times: int | None = None, **filters: object) -> list[Call]:
        """Fail unless calls that meet the filters came: so many `times`, or at least once."""
        __tracebackhide__ = True
        calls = self.find_calls(**filters)
        if len(calls) == times or (times is None and calls):
            return calls
        wanted = "a call" if times is None else _times(times)
        raise Unmet(f"expected {wanted}{_having(filters)}, got {len(calls)}\n{self.report()}")

    def assert_recalled(self, *rows: str | Mapping[str, Any], **filters: object) -> Call:
        """Fail unless the last call (of those that meet the filters) recalled these rows, each given by its
        id or as it was added; without any, unless it recalled something.
        """
        __tracebackhide__ = True
        call = self.assert_called(None, **filters)[-1]
        wanted = [row if isinstance(row, str) else str(row["id"]) for row in rows]
        missing = [row for row in wanted if row not in call.recalled]
        if missing or not call.recalled:
            seen = f"expected {', '.join(missing) or 'any row'} to be recalled by #{call.number}"
            raise Unmet(f"{seen}\n{self.report(rows=missing)}")
        return call

    def report(self, *, rows: Iterable[str] = ()) -> str:
        """What was sent, what came back, and what would have matched; no key of the bench in it. `rows`: ids
        whose fate is told in any case.
        """
        keys = tuple(key for keys in self.api_keys.values() for key in keys)
        report = Report(bench=self.name, keys=keys, explain=self.explain_call)
        return report.of(self.calls, frozenset(rows))

    def reset(self) -> None:
        """Begin anew: rows as at the start; no calls, faults or counted requests; the clock runs."""
        self._ask("POST", "reset")

    def close(self) -> None:
        """End the bench; its keys are unknown from here on."""
        try:
            self._ask("DELETE")
        except ControlError as error:
            if error.status != 404:  # expired meanwhile, or closed by the test itself
                raise

    def _ask(
        self,
        method: str,
        *room: str | int,
        body: object = None,
        query: Mapping[str, object] | None = None,
        timeout: float = 0.0,
    ) -> Any:
        __tracebackhide__ = True
        return self._control.send(
            method, "benches", self.name, *room, body=body, query=query, timeout=timeout
        )


def _times(count: int) -> str:
    return f"{count} {'call' if count == 1 else 'calls'}"


def _having(filters: Mapping[str, object]) -> str:
    return f" with {', '.join(f'{name}={value!r}' for name, value in filters.items())}" if filters else ""
