"""The rows, faults and clock of a bench, as a test changes them over the control plane.

Nothing but Python's own library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from trigger_mock.control_client import Control

Row = dict[str, Any]


class _Part:
    """One room of one bench."""

    room = ""

    def __init__(self, control: Control, bench: str) -> None:
        self._control = control
        self._bench = bench

    def _ask(
        self, method: str, *path: str, body: object = None, query: Mapping[str, object] | None = None
    ) -> Any:
        __tracebackhide__ = True
        return self._control.send(method, "benches", self._bench, self.room, *path, body=body, query=query)


class Rows(_Part):
    """The memories of a bench, of all types and organisations."""

    room = "rows"

    def __init__(self, control: Control, bench: str, organisation: str) -> None:
        super().__init__(control, bench)
        self._organisation = organisation

    def __len__(self) -> int:
        return len(self.all())

    def add(self, row: Mapping[str, Any] | None = None, /, **fields: Any) -> Row:
        """Add one, validated as in files, or put it in the place of the one with its id; return it as it is
        stored.

        A lesson of the organisation that the bench's `api_key` is of, unless `type` and `organisation` say
        otherwise; `text`, `trigger_entities` and a scope (`user_id`, …) make it one that a request can
        recall.
        """
        (added,) = self.add_all([{**(row or {}), **fields}])
        return added

    def add_all(self, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
        """The same with many at once: all of them, or none when one is wrong."""
        return self._sent("POST", rows)

    def all(self, **filters: object) -> list[Row]:
        """Those that meet all filters: entity, user_id, agent_id, app_id, group_id, type, organisation,
        text.
        """
        found: list[Row] = []
        while True:
            page = _rows(self._ask("GET", query={**filters, "offset": len(found), "limit": 500}))
            found += page
            if len(page) < 500:
                return found

    def get(self, row: str) -> Row:
        """The one with this id."""
        answer: Row = self._ask("GET", row)
        return answer

    def remove(self, *rows: str | Mapping[str, Any]) -> None:
        """Remove these, each given by its id or as it was added."""
        for row in rows:
            self._ask("DELETE", row if isinstance(row, str) else str(row["id"]))

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
        """Have these in place of all that there were."""
        return self._sent("PUT", rows)

    def clear(self) -> None:
        """Remove all."""
        self._ask("DELETE")

    def _sent(self, method: str, rows: Iterable[Mapping[str, Any]]) -> list[Row]:
        unsaid = {"type": "lesson", "organisation": self._organisation}
        return _rows(self._ask(method, body=[{**unsaid, **row} for row in rows]))


class Faults(_Part):
    """What goes wrong on purpose, in the order in which it was asked for."""

    room = "faults"

    def add(
        self,
        fault: str | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        match: Mapping[str, Any] | None = None,
        api_key: str | None = None,
        times: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Make calls go wrong: those that `match` and carry `api_key`, the next `times` of them, or each with
        a `probability` drawn from `seed`. All of them unless said otherwise.
        """
        wanted: dict[str, Any] = {
            "fault": {"kind": fault} if isinstance(fault, str) else fault,
            "preset": preset,
            "match": match,
            "api_key": api_key,
            "times": times,
            "probability": probability,
            "seed": seed,
        }
        answer: dict[str, Any] = self._ask(
            "POST", body={name: value for name, value in wanted.items() if value is not None}
        )
        return answer

    def all(self) -> list[dict[str, Any]]:
        """Those that were asked for and not taken back, and how often each `struck`."""
        faults: list[dict[str, Any]] = self._ask("GET")["faults"]
        return faults

    def remove(self, fault: str | Mapping[str, Any]) -> None:
        """Take one back, given by its id or as it was added."""
        self._ask("DELETE", fault if isinstance(fault, str) else str(fault["id"]))

    def clear(self) -> None:
        """Let all go well again."""
        self._ask("DELETE")


class BenchClock(_Part):
    """The clock of a bench: rate windows, daily caps and the journal's times run on it."""

    room = "clock"

    @property
    def now(self) -> datetime:
        """What it shows."""
        return datetime.fromisoformat(self._ask("GET")["now"]).astimezone(UTC)

    @property
    def frozen(self) -> bool:
        """Whether it stands still."""
        return bool(self._ask("GET")["frozen"])

    def freeze(self) -> None:
        """Stand still."""
        self._ask("PUT", body={"frozen": True})

    def resume(self) -> None:
        """Run on from where it stands."""
        self._ask("PUT", body={"frozen": False})

    def advance(self, seconds: float) -> None:
        """Move forward, frozen or not."""
        self._ask("POST", "advance", body={"seconds": seconds})


def _rows(answer: Any) -> list[Row]:
    rows: list[Row] = answer["memories"]
    return rows
