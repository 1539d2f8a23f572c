"""Known rows at the target: what an operator knows, so that the suite can tell right from wrong.

A probe file is YAML or JSON: `probes:` with, for each directive, its `id`, `type`, `trigger_entities` and
every scope field that it carries at the target. Probes can be derived from fixtures as well, so that
verifying the mock needs no file. Nothing here talks to the target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trigger_contracts.json_values import is_array, is_object

AXES = ("user_id", "agent_id", "app_id", "group_ids")

_FIELDS = frozenset({"id", "type", "trigger_entities", *AXES})


class ProbeMistake(Exception):
    """A probe file that cannot be used; the message lists every mistake in it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One directive that the target is known to hold."""

    id: str
    type: str
    trigger_entities: tuple[str, ...]
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    group_ids: tuple[str, ...] = ()

    @property
    def scope(self) -> dict[str, Any]:
        """The request fields that name all of its scope."""
        found: dict[str, Any] = {
            axis: value for axis in AXES[:3] if (value := getattr(self, axis)) is not None
        }
        return found | ({"group_ids": list(self.group_ids)} if self.group_ids else {})

    def within(self, ask: Mapping[str, Any]) -> bool:
        """Whether a request's scope admits this row."""
        pinned = all(ask.get(axis) is None or ask[axis] == getattr(self, axis) for axis in AXES[:3])
        groups = ask.get("group_ids") or ()
        return pinned and (not groups or any(one in self.group_ids for one in groups))


def load(path: Path) -> tuple[Probe, ...]:
    """Read a probe file, or raise `ProbeMistake` with all that is wrong in it."""
    import yaml

    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise ProbeMistake(f"{path}: {said}") from None
    entries = document.get("probes") if is_object(document) else None
    if not is_array(entries) or not entries:
        raise ProbeMistake(
            f"{path}: expected `probes:` with a list of directives, "
            "each with id, type, trigger_entities and scope"
        )
    mistakes: list[str] = []
    probes = [_probe(entry, f"{path}, probe {number}", mistakes) for number, entry in enumerate(entries, 1)]
    seen: set[str] = set()
    for number, one in enumerate(probes, 1):
        if one is not None and one.id in seen:
            mistakes.append(f"{path}, probe {number}: id {one.id!r} is given twice")
        elif one is not None:
            seen.add(one.id)
    if mistakes:
        raise ProbeMistake("\n".join(mistakes))
    return tuple(one for one in probes if one is not None)


def _probe(entry: object, where: str, mistakes: list[str]) -> Probe | None:
    before = len(mistakes)
    if not is_object(entry):
        mistakes.append(f"{where}: expected a mapping, saw {type(entry).__name__}")
        return None
    fields = entry
    known = ", ".join(sorted(_FIELDS))
    mistakes += [f"{where}: unknown field {name!r}; known are {known}" for name in fields.keys() - _FIELDS]
    mistakes += [
        f"{where}, {name}: expected a text (quote it), saw {fields.get(name)!r}"
        for name in ("id", *AXES[:3])
        if (name == "id" or fields.get(name) is not None) and not isinstance(fields.get(name), str)
    ]
    if fields.get("type") not in ("lesson", "procedure"):
        mistakes.append(f'{where}, type: expected "lesson" or "procedure", saw {fields.get("type")!r}')
    for name, needed in (("trigger_entities", True), ("group_ids", False)):
        values = fields.get(name)
        if values is not None and not (is_array(values) and all(isinstance(one, str) for one in values)):
            mistakes.append(f"{where}, {name}: expected a list of texts, saw {values!r}")
        elif needed and not values:
            mistakes.append(f"{where}, {name}: at least one is needed")
    if not any(fields.get(axis) for axis in AXES):
        mistakes.append(f"{where}: name its scope, at least one of {', '.join(AXES)}")
    if len(mistakes) > before:
        return None
    return Probe(
        id=fields["id"].lower(),
        type=fields["type"],
        trigger_entities=tuple(fields["trigger_entities"]),
        user_id=fields.get("user_id"),
        agent_id=fields.get("agent_id"),
        app_id=fields.get("app_id"),
        group_ids=tuple(fields.get("group_ids") or ()),
    )


def from_fixtures(path: Path | None, api_key: str) -> tuple[Probe, ...]:
    """Derive probes from fixtures: the directives of the organisation that owns the key. None: the shipped
    set.
    """
    from trigger_fixtures import FixtureErrors, default
    from trigger_fixtures import load as load_fixtures

    try:
        corpus = default() if path is None else load_fixtures(path)
    except FixtureErrors as error:
        raise ProbeMistake(str(error)) from None
    owner = next(
        (
            name
            for name, organisation in corpus.organisations.items()
            if any(one.key == api_key for one in organisation.keys)
        ),
        None,
    )
    if owner is None:
        raise ProbeMistake("no organisation of these fixtures owns the key that was given")
    return tuple(
        [
            Probe(
                id=row.id.lower(),
                type=row.type,
                trigger_entities=row.trigger_entities,
                user_id=row.user_id,
                agent_id=row.agent_id,
                app_id=row.app_id,
                group_ids=row.group_ids,
            )
            for row in corpus.rows
            if row.organisation == owner
            and row.type in ("lesson", "procedure")
            and row.trigger_entities
            and (row.user_id or row.agent_id or row.app_id or row.group_ids)
        ]
    )


def diverse(probes: list[Probe], most: int) -> tuple[Probe, ...]:
    """The few that differ most: first one of each combination of type, scope and how widely an entity is
    shared.
    """
    if len(probes) <= most:
        return tuple(probes)
    carriers: dict[str, int] = {}
    for one in probes:
        for entity in one.trigger_entities:
            carriers[entity] = carriers.get(entity, 0) + 1

    def shared(one: Probe) -> int:
        return max(carriers[entity] for entity in one.trigger_entities)

    ranked = sorted(probes, key=lambda one: (-min(shared(one), 12), one.id))
    seen: dict[object, int] = {}
    keyed: list[tuple[int, int, Probe]] = []
    for position, one in enumerate(ranked):
        kind = (one.type, tuple(sorted(one.scope)), one.user_id, one.group_ids)
        seen[kind] = seen.get(kind, 0) + 1
        keyed.append((seen[kind], position, one))
    keyed.sort(key=lambda entry: entry[:2])
    return tuple(one for _, _, one in keyed[:most])
