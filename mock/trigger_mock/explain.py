"""Why a request is answered as it is: what it fired and from where, the fate of every row that carries it,
and, when nothing was recalled, what nearly was and what to change.

Nothing is decided here: extraction, recall, gate and refusals are the endpoint's own, so an explanation
cannot tell another story than the answer. Rows of other organisations are counted and never shown, as a key
must not see them, unless the reader is the `operator`, who holds the fixtures. However big the store and the
request, an explanation is bounded and says how much it leaves out. Knows nothing of Flask.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trigger_fixtures import DIRECTIVES, Row
from trigger_mock import hints
from trigger_mock.advice import advice_on
from trigger_mock.ask import Ask, decode, require_signal_and_scope, validate
from trigger_mock.explanation import Explanation, Identifier, Miss, Missed
from trigger_mock.fates import Fates, admission, fates, in_words
from trigger_mock.identifiers import read, sources
from trigger_mock.near_misses import KINDS, near_misses
from trigger_mock.numbers import json_text
from trigger_mock.recall import Memories
from trigger_mock.refusals import Refusal
from trigger_mock.unread import rows as counted
from trigger_mock.unread import sentence, spoken, unread_signals

MOST_IDENTIFIERS = 50
MOST_ROWS = 50
MOST_MISSES = 10
MOST_PLACES = 3
#: Of the rows that carry one near miss, how many are looked at for the one that is easiest to recall.
MOST_TRIED = 200


def explain_bytes(
    raw: bytes, content_type: str | None, organisation: str, rows: Iterable[Row], *, operator: bool = False
) -> Explanation:
    """Explain a request as it came over the wire; `rows` are those of the whole store."""
    try:
        body = decode(raw, content_type)
    except Refusal as refusal:
        return Explanation(organisation=organisation, refusal=advice_on(refusal), summary=_refused(refusal))
    return explain(body, organisation, rows, operator=operator)


def explain(body: object, organisation: str, rows: Iterable[Row], *, operator: bool = False) -> Explanation:
    """Explain a request by its decoded body, for a key of this organisation; `rows` are those of the whole
    store.
    """
    spoken_hints = tuple(hints.unread(body))
    try:
        ask = validate(body)
    except Refusal as refusal:
        return Explanation(
            organisation=organisation,
            refusal=advice_on(refusal),
            summary=_refused(refusal),
            hints=spoken_hints,
        )
    declined = _declined(ask)
    store = list(rows)
    places = places_of(ask)
    fired = frozenset(places)
    candidates = [row for row in store if not fired.isdisjoint(row.trigger_entities)]
    own = [row for row in candidates if row.organisation == organisation]
    outcome = fates(
        candidates if operator else own, fired, ask, organisation, served=declined is None, most=MOST_ROWS
    )
    empty = not (outcome.recalled or outcome.dropped)
    directives = [row for row in store if row.organisation == organisation and row.type in DIRECTIVES]
    misses, misses_left_out = _misses(places, directives, ask) if empty else ((), 0)
    told = [*outcome.recalled, *outcome.dropped, *outcome.kept_out]
    return Explanation(
        organisation=organisation,
        refusal=advice_on(declined) if declined else None,
        summary=_refused(declined) if declined else _summary(outcome, len(own), fired, organisation),
        mode=ask.mode,
        signal="entities" if ask.entities else "action" if ask.action is not None else None,
        scope=_scope(ask),
        include=tuple(sorted(ask.types)),
        identifiers=tuple(_identifiers(places, own, candidates)),
        identifiers_left_out=max(0, len(places) - MOST_IDENTIFIERS),
        recalled=tuple(fate.row.id for fate in outcome.recalled),
        dropped=tuple(fate.row.id for fate in outcome.dropped),
        kept_out=outcome.kept_out_count,
        rows=tuple(told[:MOST_ROWS]),
        elsewhere=len(candidates) - len(own),
        unread=tuple(_missed(body, directives, ask)),
        near_misses=misses,
        near_misses_left_out=misses_left_out,
        hints=spoken_hints,
    )


def places_of(ask: Ask) -> dict[str, list[str]]:
    """The identifiers that a request fires, each with the places of the request that it was read from."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    if ask.entities:
        for at, entity in enumerate(ask.entities):
            places[entity].append(f"entities[{at}]")
    elif ask.action is not None:
        for place, value in sources(ask.action):
            found: set[str] = set()
            if isinstance(value, str):
                read(value, found)
            else:
                found.add(json_text(value))
            # The whole text first, then its parts.
            for identifier in sorted(found, key=lambda text: (-len(text), text)):
                places[identifier].append(place)
    return dict(places)


def _identifiers(places: Mapping[str, list[str]], own: list[Row], every: list[Row]) -> list[Identifier]:
    """What was fired: first what rows of the organisation carry, then the rest, in the request's order."""
    carried: defaultdict[str, list[str]] = defaultdict(list)
    for row in own:
        for entity in dict.fromkeys(row.trigger_entities):
            if entity in places:
                carried[entity].append(row.id)
    everywhere = Counter(entity for row in every for entity in set(row.trigger_entities) if entity in places)
    # A stable sort: within both halves the request's order stands.
    ordered = sorted(places, key=lambda identifier: identifier not in carried)
    return [
        Identifier(
            text=identifier,
            places=tuple(where[:MOST_PLACES]),
            places_left_out=max(0, len(where) - MOST_PLACES),
            rows=tuple(sorted(carried[identifier])[:MOST_ROWS]) if identifier in carried else (),
            rows_count=len(carried[identifier]) if identifier in carried else 0,
            elsewhere=everywhere[identifier] - (len(carried[identifier]) if identifier in carried else 0),
        )
        for identifier, where in ((each, places[each]) for each in ordered[:MOST_IDENTIFIERS])
    ]


def _missed(body: object, directives: list[Row], ask: Ask) -> Iterator[Missed]:
    """What unread fields would have fired, and would so have recalled under this scope."""
    for unread in unread_signals(body):
        carriers = [row for row in directives if not unread.fires.isdisjoint(row.trigger_entities)]
        hits = Memories(carriers).recall(unread.fires, ask.scope, ask.types)
        matched = dict.fromkeys(
            entity
            for row in ([hit.row for hit in hits] or carriers)
            for entity in row.trigger_entities
            if entity in unread.fires
        )
        fired = list(matched) or sorted(unread.fires, key=lambda text: (-len(text), text))
        if hits:
            carried_by = counted(len(hits))
        elif carriers:
            carried_by = f"{counted(len(carriers))}, none of them in this scope"
        else:
            carried_by = "no row"
        yield Missed(
            field=unread.field,
            meant=unread.meant,
            identifiers=tuple(fired[:MOST_IDENTIFIERS]),
            rows_count=len(hits),
            sentence=sentence(unread, fired, carried_by),
            change=f"send it as {unread.meant}",
        )


def _misses(places: Mapping[str, list[str]], directives: list[Row], ask: Ask) -> tuple[tuple[Miss, ...], int]:
    carriers: defaultdict[str, list[Row]] = defaultdict(list)
    for row in directives:
        for entity in row.trigger_entities:
            carriers[entity].append(row)
    misses: list[Miss] = []
    left_out = 0
    for miss in near_misses(places, carriers):
        if len(misses) == MOST_MISSES:
            left_out += 1
            continue
        told = _miss(miss.kind, miss.fired, miss.trigger, carriers[miss.trigger], ask, places[miss.fired][0])
        # An identifier that is a trigger itself was meant as it is, unless the scope suits the other better.
        if told.in_scope or miss.fired not in carriers:
            misses.append(told)
    return tuple(misses), left_out


def _miss(kind: str, fired: str, trigger: str, carriers: list[Row], ask: Ask, place: str) -> Miss:
    patches = [patch for row in carriers[:MOST_TRIED] if (patch := admission(row, ask)) is not None]
    easiest = min(patches, key=len, default=None)
    extracted: set[str] = set()
    read(trigger, extracted)
    # What extraction would not give, such as a trigger with blanks around it, fires from entities alone.
    by_action = not ask.entities and trigger in extracted
    where = f"{spoken(place)}, or in entities" if by_action else "entities"
    change = f"send {spoken(trigger)} in {where}"
    if easiest is None:
        change += "; and yet no request recalls it: the row carries no scope"
    elif easiest:
        change += f", {in_words(easiest)}"
    return Miss(
        kind=kind, fired=fired, trigger=trigger, place=place,
        sentence=f"{spoken(fired)} was fired; the trigger {spoken(trigger)} {KINDS[kind]}",
        rows_count=len(carriers), in_scope=sum(not patch for patch in patches), change=change,
        patch=None if easiest is None else {"entities": [trigger]} | easiest,
    )  # fmt: skip


def _declined(ask: Ask) -> Refusal | None:
    try:
        require_signal_and_scope(ask)
    except Refusal as refusal:
        return refusal
    return None


def _scope(ask: Ask) -> dict[str, Any]:
    supplied = {axis: getattr(ask, axis) for axis in ("user_id", "agent_id", "app_id")}
    scope = {axis: value for axis, value in supplied.items() if value is not None}
    return scope | ({"group_ids": ask.group_ids} if ask.group_ids else {})


def _refused(refusal: Refusal) -> str:
    return f"{refusal.status} {refusal.code}: {refusal.reason}"


def _summary(outcome: Fates, carriers: int, fired: frozenset[str], organisation: str) -> str:
    if outcome.recalled:
        dropped = f"; the gate dropped {counted(len(outcome.dropped))}" if outcome.dropped else ""
        return f"200 with {counted(len(outcome.recalled))}{dropped}"
    if outcome.dropped:
        return f"200 with no rows: the gate dropped all it was given, {counted(len(outcome.dropped))}"
    if not fired:
        return "200 with no rows: nothing fires; tool, args and output of action hold no identifier"
    if carriers:
        one = carriers == 1
        which = f"the {counted(carriers)} that {'carries' if one else 'carry'} what fired"
        return f"200 with no rows: {which} {'is' if one else 'are'} kept out by scope or type"
    what = "the identifier" if len(fired) == 1 else f"any of the {len(fired)} identifiers"
    return f"200 with no rows: no row of {spoken(organisation)} carries {what} fired"
