"""Requests by construction: what is valid here is valid, what is near is near, what is wrong is wrong in
one place.

Everything is a plain value or a Hypothesis strategy named after what it makes. Nothing here talks to the
target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from trigger_contracts.exchange import JsonObject
from trigger_contracts.probes import AXES, Probe

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Identifiers that any reading of an action must extract: no blanks, no punctuation at the ends.
_GREPPABLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/:")


def greppable(entity: str) -> bool:
    """Whether every reading of 'greppable identifier' holds this one."""
    return (
        bool(entity)
        and set(entity) <= _GREPPABLE
        and entity[0].isalnum()
        and (entity[-1].isalnum() or entity[-1] == "_")
    )


def scope_choices(probe: Probe) -> list[JsonObject]:
    """Every way to name (some of) a row's scope: each non-empty set of its axes, one group at a time."""
    parts: list[tuple[str, Any]] = [
        (axis, value) for axis, value in probe.scope.items() if axis != "group_ids"
    ]
    groups: list[tuple[str, Any]] = [("group_ids", [one]) for one in probe.group_ids[:3]]
    found: list[JsonObject] = []
    for size in range(len(parts) + 1):
        for chosen in combinations(parts, size):
            if chosen:
                found.append(dict(chosen))
            found.extend({**dict(chosen), name: value} for name, value in groups)
    return found


class Vocabulary:
    """What the probes hold: the values that requests are made of so that they meet rows."""

    def __init__(self, probes: Sequence[Probe], stranger: str) -> None:
        self.entities = list(dict.fromkeys(entity for one in probes for entity in one.trigger_entities))
        self.axes: dict[str, list[str]] = {
            axis: list(dict.fromkeys(value for one in probes if (value := getattr(one, axis)) is not None))
            for axis in AXES[:3]
        }
        self.groups = list(dict.fromkeys(group for one in probes for group in one.group_ids))
        self.stranger = stranger
        self.probes = probes

    def values(self, axis: str) -> list[Any]:
        """The values of one axis as a request gives them."""
        return [[one] for one in self.groups] if axis == "group_ids" else list(self.axes[axis])

    def pairs(self) -> Iterator[tuple[str, Any]]:
        """Every axis with each of its values."""
        for axis in AXES:
            for value in self.values(axis):
                yield axis, value

    def scopes(self) -> SearchStrategy[JsonObject]:
        """A scope of one to three axes, of the values that rows carry (seldom a stranger's)."""
        from hypothesis import strategies as st

        def value(axis: str) -> SearchStrategy[Any]:
            known = self.values(axis)
            if axis == "group_ids":
                return st.lists(
                    st.sampled_from([*self.groups, self.stranger]), min_size=1, max_size=3, unique=True
                )
            return st.sampled_from([*known, self.stranger])

        usable = [axis for axis in AXES if self.values(axis)]
        whole = st.sampled_from([scope for one in self.probes for scope in scope_choices(one)])
        mixed = st.lists(st.sampled_from(usable), min_size=1, max_size=3, unique=True).flatmap(
            lambda axes: st.fixed_dictionaries({axis: value(axis) for axis in axes})
        )
        return st.one_of(whole, mixed)

    def entity_lists(self, most: int = 4) -> SearchStrategy[list[str]]:
        """Some entities that rows carry."""
        from hypothesis import strategies as st

        return st.lists(st.sampled_from(self.entities), min_size=1, max_size=most, unique=True)


#: One value of each JSON type, truthy and falsy: code that tests for truth takes the latter for absent.
_OF_TYPE: Mapping[str, tuple[Any, ...]] = {
    "string": ("text", ""),
    "number": (7, 0, 1.5, -1),
    "boolean": (True, False),
    "array": (["text"], [], [7]),
    "object": ({"key": "value"}, {}),
}

#: Every declared field, the types that it takes, and (for lists) the types of its items.
_FIELDS: tuple[tuple[str, str, str | None], ...] = (
    ("action", "object", None),
    ("action.tool", "string", None),
    ("action.args", "object", None),
    ("action.output", "string", None),
    ("entities", "array", "string"),
    ("include", "array", "string"),
    ("task", "string", None),
    ("mode", "string", None),
    ("user_id", "string", None),
    ("agent_id", "string", None),
    ("app_id", "string", None),
    ("group_ids", "array", "string"),
)


def wrong_types(valid: JsonObject) -> list[tuple[str, JsonObject]]:
    """A valid request with one field of a wrong JSON type: every field, every wrong type, every place of an
    item.

    Null is left out where a field is not nullable: some servers read it as absent, and the contract's prose
    lets them.
    """
    found: list[tuple[str, JsonObject]] = []
    for field, right, items in _FIELDS:
        for type_, values in _OF_TYPE.items():
            if type_ != right:
                found += [(f"{field} as {type_} {value!r}", _with(valid, field, value)) for value in values]
        if items is None:
            continue
        good = "lesson" if field == "include" else "text"
        for type_, values in _OF_TYPE.items():
            if type_ == items:
                continue
            found.append((f"{field} with a {type_} item", _with(valid, field, [values[0]])))
            found.append((f"{field} with a later {type_} item", _with(valid, field, [good, values[-1]])))
        if field == "entities":
            found.append((f"{field} with a null item", _with(valid, field, [good, None])))
    return found


def _with(valid: JsonObject, field: str, value: Any) -> JsonObject:
    outer, _, inner = field.partition(".")
    if not inner:
        return valid | {outer: value}
    return valid | {outer: {"tool": "probe_tool", inner: value}}
