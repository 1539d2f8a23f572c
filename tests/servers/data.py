"""What the reference server stores: two organisations, their keys, and the memories that tell mistakes apart.

Made for the purpose: the same entity sits on rows of every scope and of both organisations, rows carry
several entities, every scope axis occurs alone and combined, and facts share the directives' entities. Only
the probed rows are told to a verifier, as an operator would: the rest may rightly fire beside them. Knows
nothing of HTTP.
"""

from __future__ import annotations

import uuid
from functools import cache
from typing import Any, NamedTuple

#: The organisation whose rows are probed, and the neighbour that must never see them.
HOME, NEIGHBOUR = "northwind", "southgate"

#: Every key by its organisation; invented, safe to publish.
KEYS: dict[str, str] = {
    "rk_North-4Hq8Zt2m": HOME,
    "rk_North-9Bw3Lx7c": HOME,
    "rk_South-6Jd1Vn5p": NEIGHBOUR,
}

TEAM = "grp_11aa22bb33cc44dd55ee66ff77008811"
GUILD = "grp_22bb33cc44dd55ee66ff770088119922"
CREW = "grp_33cc44dd55ee66ff77008811992200aa"

_NAMESPACE = uuid.UUID("6d0f5c1e-9a41-4b5e-8f3d-2c7b1a90e4d6")


@cache
def _named(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))


class Row(NamedTuple):
    """One memory as stored."""

    organisation: str
    type: str
    text: str
    entities: tuple[str, ...]
    user: str | None
    agent: str | None
    app: str | None
    groups: tuple[str, ...]
    observed: int
    updated: str
    steps: tuple[str, ...]
    probed: bool

    @property
    def id(self) -> str:
        """The same for the same row, whenever it is asked for."""
        return _named(f"{self.organisation}/{self.type}/{self.text}")

    def probe(self) -> dict[str, Any]:
        """What an operator would write down about this row."""
        scope = {"user_id": self.user, "agent_id": self.agent, "app_id": self.app}
        known: dict[str, Any] = {"id": self.id, "type": self.type}
        known |= {axis: value for axis, value in scope.items() if value is not None}
        if self.groups:
            known["group_ids"] = list(self.groups)
        return known | {"trigger_entities": list(self.entities)}


def _row(
    type_: str,
    text: str,
    *entities: str,
    org: str = HOME,
    user: str | None = None,
    agent: str | None = None,
    app: str | None = None,
    groups: tuple[str, ...] = (),
    observed: int = 1,
    day: int = 1,
    probed: bool = True,
) -> Row:
    steps = (
        (f"Look at {entities[0]} first.", "Change one thing.", "Run it again.")
        if type_ == "procedure"
        else ()
    )
    updated = f"2026-03-{day:02d}T09:30:00Z"
    return Row(org, type_, text, entities, user, agent, app, groups, observed, updated, steps, probed)


ROWS: tuple[Row, ...] = (
    # One user, with and without agent and app.
    _row(
        "lesson",
        "Flush the ledger before closing it.",
        "ledger_sync.py",
        "E-4407",
        user="mira-81",
        observed=3,
    ),
    _row(
        "lesson",
        "Ledger totals drift when rounding twice.",
        "ledger_sync.py",
        user="mira-81",
        agent="scribe-5",
        day=4,
    ),
    _row(
        "procedure",
        "Rebuild the ledger index after a restore.",
        "ledger_sync.py",
        "Ledger.rebuild",
        user="mira-81",
        day=9,
    ),
    _row(
        "procedure",
        "Replay the outbox with a fresh cursor.",
        "OutboxCursor",
        "E-4407",
        user="mira-81",
        app="desk-2",
        day=3,
    ),
    _row(
        "lesson",
        "Close the cursor in a finally block.",
        "OutboxCursor",
        user="mira-81",
        agent="scribe-5",
        app="desk-2",
    ),
    _row(
        "lesson",
        "The press plugin caches templates for an hour.",
        "press.render",
        "E-5120",
        user="mira-81",
        groups=(TEAM,),
    ),
    _row(
        "procedure",
        "Warm the press cache before the nightly run.",
        "press.render",
        user="mira-81",
        groups=(TEAM, GUILD),
        day=6,
    ),
    _row(
        "lesson",
        "Retry a torn page once, never twice.",
        "TornPageError",
        user="mira-81",
        agent="scribe-5",
        groups=(GUILD,),
    ),
    # Another user: the same entities, so that a leak shows.
    _row(
        "lesson",
        "Ledger locks are per shard for this user.",
        "ledger_sync.py",
        user="otto-17",
        day=12,
        observed=9,
    ),
    _row(
        "procedure",
        "Drain the outbox through the spare worker.",
        "OutboxCursor",
        "E-4407",
        user="otto-17",
        agent="scribe-5",
    ),
    _row(
        "lesson",
        "Press needs the serif font package.",
        "press.render",
        user="otto-17",
        app="desk-2",
        groups=(TEAM,),
        day=2,
    ),
    _row(
        "lesson",
        "Torn pages come from the old kernel driver.",
        "TornPageError",
        "E-5120",
        user="otto-17",
        groups=(CREW,),
    ),
    _row(
        "procedure",
        "Ask for a new shard map, then retry.",
        "shard_map.json",
        user="otto-17",
        agent="tiller-9",
        day=5,
    ),
    # No user: shared by agent, by app, by group.
    _row(
        "lesson",
        "Scribe agents must not hold the ledger lock.",
        "ledger_sync.py",
        agent="scribe-5",
        day=20,
        observed=5,
    ),
    _row(
        "procedure",
        "Tiller agents rotate the shard map weekly.",
        "shard_map.json",
        "E-6001",
        agent="tiller-9",
        day=8,
    ),
    _row("lesson", "Desk exports are in local time.", "OutboxCursor", "desk_export", app="desk-2", day=7),
    _row(
        "procedure",
        "Desk imports run in two passes.",
        "desk_export",
        "ledger_sync.py",
        app="desk-2",
        agent="tiller-9",
        day=11,
    ),
    _row(
        "lesson",
        "The team's ledger is read only on Sundays.",
        "ledger_sync.py",
        "E-4407",
        groups=(TEAM,),
        day=14,
        observed=2,
    ),
    _row(
        "procedure",
        "The guild signs a press release twice.",
        "press.render",
        "sign_release",
        groups=(GUILD,),
        day=15,
    ),
    _row(
        "lesson",
        "Crew and team share one outbox.",
        "OutboxCursor",
        "ledger_sync.py",
        groups=(TEAM, CREW),
        day=16,
    ),
    _row(
        "lesson",
        "The crew keeps torn pages for a week.",
        "TornPageError",
        groups=(CREW,),
        agent="scribe-5",
        day=17,
    ),
    _row(
        "procedure",
        "Guild agents sign with the spare key.",
        "sign_release",
        groups=(GUILD,),
        agent="scribe-5",
        app="desk-2",
    ),
    _row(
        "procedure",
        "Compact the crew's outbox before a move.",
        "OutboxCursor",
        "E-6001",
        groups=(CREW,),
        app="desk-2",
    ),
    # Ties in everything but the id, under one user.
    _row("lesson", "Pin the tie breaker to the first column.", "tie_break", user="mira-81"),
    _row("lesson", "Pin the tie breaker to the last column.", "tie_break", user="mira-81"),
    _row("lesson", "Pin the tie breaker to any column at all.", "tie_break", user="mira-81"),
    # Directives that no probe names: they may rightly fire beside the probed ones.
    _row(
        "lesson",
        "The ledger tests want a clean clock.",
        "ledger_sync.py",
        "ledger_test.py",
        user="mira-81",
        probed=False,
    ),
    _row(
        "lesson",
        "An upper case ledger is another file.",
        "LEDGER_SYNC.PY",
        user="mira-81",
        probed=False,
        day=2,
    ),
    _row(
        "procedure",
        "Ask otto's agent for the press proofs.",
        "press.render",
        user="otto-17",
        agent="scribe-5",
        probed=False,
    ),
    _row("lesson", "Unfiled notes on the outbox.", "OutboxCursor", probed=False),
    # Stored, never recalled.
    _row("fact", "The ledger has twelve shards.", "ledger_sync.py", "E-4407", user="mira-81", probed=False),
    _row(
        "fact",
        "The outbox cursor is an integer.",
        "OutboxCursor",
        user="mira-81",
        groups=(TEAM,),
        probed=False,
    ),
    _row(
        "fact",
        "The press runs at night.",
        "press.render",
        agent="scribe-5",
        groups=(TEAM, GUILD),
        probed=False,
    ),
    _row("fact", "The shard map lives in the bucket.", "shard_map.json", app="desk-2", probed=False),
    # The neighbour: the same entities in the same scopes, even the same group handles.
    _row(
        "lesson",
        "South ledger: never flush by hand.",
        "ledger_sync.py",
        "E-4407",
        org=NEIGHBOUR,
        user="mira-81",
        probed=False,
    ),
    _row(
        "procedure",
        "South outbox: restart, then replay.",
        "OutboxCursor",
        org=NEIGHBOUR,
        user="mira-81",
        probed=False,
    ),
    _row(
        "lesson",
        "South press: proofs are in grey.",
        "press.render",
        org=NEIGHBOUR,
        groups=(TEAM,),
        probed=False,
    ),
    _row(
        "lesson",
        "South agents read the ledger twice.",
        "ledger_sync.py",
        org=NEIGHBOUR,
        agent="scribe-5",
        probed=False,
    ),
    _row(
        "procedure",
        "South desk: export before noon.",
        "desk_export",
        org=NEIGHBOUR,
        app="desk-2",
        probed=False,
    ),
    _row("fact", "South has one shard.", "ledger_sync.py", org=NEIGHBOUR, user="mira-81", probed=False),
)

#: The probe file of the home organisation's rows, as an operator would write it (JSON is YAML).
PROBES: dict[str, Any] = {"probes": [row.probe() for row in ROWS if row.probed]}
