"""What is printed of a bench's calls when a test fails: what was sent, what came back, and, where that is not
what was hoped for, what would have matched.

Bounded, whatever the calls hold, and without keys. Nothing but Python's own library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trigger_mock.bench_calls import Call

#: The last calls are told of; so much of each body and of each list.
MOST_CALLS = 10
MOST_TEXT = 400
MOST_LINES = 5
MASK = "***"

Explanation = Mapping[str, Any]
Explain = Callable[[Call], Explanation | None]


def report(bench: str, calls: Sequence[Call], explain: Explain, rows: frozenset[str] = frozenset()) -> str:
    """Tell of these calls; `rows`: ids of rows whose fate is told in any case."""
    if not calls:
        return (
            f"no call reached the bench {bench!r}: a client reaches it at trigger_mock.url (or .endpoint), "
            "with trigger_mock.api_key"
        )
    told = calls[-MOST_CALLS:]
    lines = [f"bench {bench!r}: {len(calls)} {'call' if len(calls) == 1 else 'calls'}"]
    if len(calls) > len(told):
        lines[0] += f", of which the last {len(told)}"
    for call in told:
        lines += [str(call), *(f"    {name:<9} {text}" for name, text in _details(call, explain, rows))]
    return "\n".join(lines)


def explained(ask: Callable[[Call], Explanation]) -> Explain:
    """Explanations as far as they can be had: one that fails must not hide the failure that is told of."""

    def explain(call: Call) -> Explanation | None:
        try:
            return ask(call)
        except Exception:  # noqa: BLE001 - whatever it is, the rest of the report is worth more
            return None

    return explain


def masked(text: str, keys: Iterable[str]) -> str:
    """The text without these keys."""
    for key in keys:
        text = text.replace(key, MASK)
    return text


def _details(call: Call, explain: Explain, rows: frozenset[str]) -> Iterator[tuple[str, str]]:
    yield "sent", _shown(call.body)
    answered = call.response
    yield "got", _shown(answered.json if answered.text is None else answered.text)
    if call.fired:
        yield "fired", _list(call.fired)
    explanation = None if call.recalled and not rows else explain(call)
    if explanation is None:
        yield from (("unread", hint) for hint in (call.missed or call.hints)[:MOST_LINES])
        return
    yield "why", str(explanation.get("summary"))
    for missed in _some(explanation, "unread"):
        yield "unread", f"{missed['sentence']}; {missed['change']}"
    for miss in _some(explanation, "near_misses"):
        yield "near", f"{miss['sentence']}; {miss['change']}"
    for fate in _kept_out(explanation, rows):
        reasons = ", ".join(map(str, fate.get("reasons") or ())) or fate.get("because") or fate["fate"]
        change = f"; {fate['change']}" if fate.get("change") else ""
        yield "row", f"{fate['id']} is {fate['fate'].replace('_', ' ')}: {reasons}{change}"


def _some(explanation: Explanation, name: str) -> list[Mapping[str, Any]]:
    some: list[Mapping[str, Any]] = explanation.get(name) or []
    return some[:MOST_LINES]


def _kept_out(explanation: Explanation, rows: frozenset[str]) -> list[Mapping[str, Any]]:
    """The rows that were not recalled: those that are asked for first."""
    fates = [fate for fate in explanation.get("rows") or () if fate["fate"] != "recalled"]
    return sorted(fates, key=lambda fate: fate["id"] not in rows)[:MOST_LINES]


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    text = " ".join(text.split())
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} [{len(text) - MOST_TEXT} more]"


def _list(texts: Sequence[str]) -> str:
    shown = ", ".join(text if len(text) <= 80 else f"{text[:80]}…" for text in texts[:20])
    return shown if len(texts) <= 20 else f"{shown} [{len(texts) - 20} more]"
