"""What is printed of a bench's calls when a test fails: what was sent, what came back, and, where that is not
what was hoped for, what would have matched.

Bounded, printable whatever the calls hold, and without keys. Nothing but Python's own library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trigger_mock.bench_calls import Call

#: The last calls are told of; so much of each text and of each list.
MOST_CALLS = 10
MOST_TEXT = 400
MOST_LINES = 5
MASK = "***"

Explanation = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a bench's calls are told of. `explain` says why a call was answered as it was; `keys` are never
    shown.
    """

    bench: str
    keys: tuple[str, ...]
    explain: Callable[[Call], Explanation]

    def of(self, calls: Sequence[Call], rows: frozenset[str] = frozenset()) -> str:
        """Tell of these calls; `rows`: ids of rows whose fate is told in any case."""
        if not calls:
            return (
                f"no call reached the bench {self.bench!r}: a client reaches it at trigger_mock.url "
                "(or .endpoint), with trigger_mock.api_key"
            )
        told = calls[-MOST_CALLS:]
        title = f"bench {self.bench!r}: {len(calls)} {'call' if len(calls) == 1 else 'calls'}"
        lines = [title if len(told) == len(calls) else f"{title}, of which the last {len(told)}"]
        for call in told:
            lines.append(self._shown(str(call)))
            lines += [f"    {name:<9} {self._shown(text)}" for name, text in self._details(call, rows)]
        return "\n".join(lines)

    def _details(self, call: Call, rows: frozenset[str]) -> Iterator[tuple[str, str]]:
        answered = call.response
        yield "sent", _text(call.body)
        yield "got", _text(answered.json if answered.text is None else answered.text)
        if call.fired:
            yield "fired", ", ".join(call.fired)
        explanation = None if call.recalled and not rows else self._explanation(call)
        if explanation is None:
            yield from (("unread", hint) for hint in (call.missed or call.hints)[:MOST_LINES])
            return
        yield "why", str(explanation.get("summary"))
        for missed in _some(explanation, "unread"):
            yield "unread", f"{missed['sentence']}; {missed['change']}"
        for miss in _some(explanation, "near_misses"):
            yield "near", f"{miss['sentence']}; {miss['change']}"
        for fate in _not_recalled(explanation, rows):
            reasons = ", ".join(map(str, fate.get("reasons") or ())) or fate.get("because")
            change = f"; {fate['change']}" if fate.get("change") else ""
            yield "row", f"{fate['id']} was {fate['fate']}: {reasons}{change}"

    def _explanation(self, call: Call) -> Explanation | None:
        try:
            return self.explain(call)
        except Exception:  # noqa: BLE001 - whatever it is, the rest of the report is worth more
            return None

    def _shown(self, text: str) -> str:
        """One line of it, on any terminal; masked before it is cut, for half a key tells something too."""
        for key in self.keys:
            text = text.replace(key, MASK)
        text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
        return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} [{len(text) - MOST_TEXT} more]"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _some(explanation: Explanation, name: str) -> list[Mapping[str, Any]]:
    some: list[Mapping[str, Any]] = explanation.get(name) or []
    return some[:MOST_LINES]


def _not_recalled(explanation: Explanation, rows: frozenset[str]) -> list[Mapping[str, Any]]:
    """The rows that were kept out or dropped, those that are asked for first."""
    fates = [fate for fate in explanation.get("rows") or () if fate["fate"] != "recalled"]
    return sorted(fates, key=lambda fate: fate["id"] not in rows)[:MOST_LINES]
