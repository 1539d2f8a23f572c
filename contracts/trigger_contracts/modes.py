"""MODE: what `retrieve` leaves out and `compose` adds.

An LLM may stand behind `compose`: its choice may differ from call to call, so nothing here compares two
compose answers; each is held against what `retrieve` brings for the same request. Compose calls are spent
from a budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trigger_contracts.exchange import Answer, JsonObject
from trigger_contracts.json_values import is_array
from trigger_contracts.promises import Broken, Unjudged, promise
from trigger_contracts.run import Api, without
from trigger_contracts.sets import Sets

_RESPONSE = "components.schemas.SearchResponse"
_MODE = "components.schemas.TriggerRequest.mode"

#: Goals that have nothing to do with anyone's directives, so that a gate has a reason to drop rows.
_BESIDE = ("bake a sourdough loaf", "qwxz vvkj")


def _composed(api: Api) -> list[tuple[JsonObject, Answer]]:
    """Compose answers, with many rows in the pool and few; they cost, so all promises of a run share them."""
    memory = api.run.memory
    if "composed" not in memory:
        memory["composed"] = list(_compose(api))
    found: list[tuple[JsonObject, Answer]] = memory["composed"]
    return found


def _compose(api: Api) -> Iterator[tuple[JsonObject, Answer]]:
    """Answers to a task that helps, to one that does not, and to none."""
    probes = api.need_rows()
    wide = sorted(probes, key=lambda one: -sum(other.within(one.scope) for other in probes))
    entities = list(dict.fromkeys(entity for one in probes for entity in one.trigger_entities))[:40]
    asks: list[JsonObject] = []
    for number, one in enumerate(wide[:3]):
        axis = next(iter(one.scope))
        pool: JsonObject = {"entities": entities, axis: one.scope[axis]}
        asks.append({**pool, "task": f"work on {one.trigger_entities[0]}"})
        asks.append(pool)
        asks.append({**pool, "include": [("lesson", "procedure")[number % 2]]})
        asks.append({**pool, "task": _BESIDE[number % 2]})
        if number == 0:
            asks.append({**pool, "task": _in_its_own_words(api, pool)})
    for one in api.sample(probes, 0.2, least=4):
        asks.append(
            {"entities": list(one.trigger_entities), **one.scope, "task": f"use {one.trigger_entities[0]}"}
        )
        action = {"tool": one.trigger_entities[0], "args": {"k": list(one.trigger_entities)}}
        asks.append({"action": action, **one.scope})
    for ask in asks[: 16 + api.profile.repeats // 40]:
        if not api.may_compose():
            break
        yield ask, api.answer({**ask, "mode": "compose"})


def _in_its_own_words(api: Api, pool: JsonObject) -> str:
    """A task that says all that the rows of a request say, so that a gate is as sure of them as it gets."""
    rows = api.answer({**pool, "mode": "retrieve"}).rows
    return " ".join(f"{row.text} {' '.join(row.trigger_entities)}" for row in rows)[:2000] or _BESIDE[0]


@promise("MODE-1", pointer=_MODE)
def mode_is_echoed(api: Api) -> None:
    """`mode` is echoed; an absent one means `compose`."""
    for mode in ("retrieve", "compose", None, "retrieve", None, "compose", "retrieve", "retrieve"):
        ask = (
            api.plain()
            if mode == "retrieve"
            else without(api.plain(), "mode") | ({"mode": mode} if mode else {})
        )
        if mode == "retrieve" or api.may_compose():
            api.answer(ask)
    for one in api.probes[:4]:
        ask = {"entities": list(one.trigger_entities), **one.scope}
        api.answer(ask | {"mode": "retrieve"})
        if api.may_compose():
            api.answer(ask)
    api.rest_on_watch("no 200 was seen")


@promise("MODE-2", pointer=f"{_RESPONSE}.context")
def retrieve_has_no_context(api: Api) -> None:
    """Under `retrieve`, `context` is null and `context_selection_applied` is false."""
    for task in (None, "tidy up", ""):
        api.answer(api.plain(task=task))
    for one in api.sample(api.probes, least=8):
        api.answer(
            {
                "entities": list(one.trigger_entities),
                **one.scope,
                "mode": "retrieve",
                "task": f"use {one.trigger_entities[0]}",
            }
        )
    api.rest_on_watch("no 200 was seen")


@promise("MODE-3", needs=("rows",), pointer="components.schemas.DirectiveDetails.because")
def retrieve_has_no_reasons(api: Api) -> None:
    """Under `retrieve`, `because` and `confidence` are null (or absent) in every row."""
    for one in api.sample(api.need_rows(), least=8):
        api.answer(
            {
                "entities": list(one.trigger_entities),
                **one.scope,
                "mode": "retrieve",
                "task": f"use {one.trigger_entities[0]}",
            }
        )
    api.rest_on_watch("no rows came back")


@promise("MODE-4", needs=("rows", "compose"), pointer=f"{_RESPONSE}.context")
def compose_has_context(api: Api) -> None:
    """Under `compose`, an answer with rows has a `context` that is a non-empty string."""
    for _ in _composed(api):
        pass
    api.rest_on_watch("no compose answer held rows")


@promise("MODE-5", needs=("rows", "compose"), pointer=_MODE)
def compose_adds_nothing(api: Api) -> None:
    """The rows under `compose` are among the rows under `retrieve`."""
    sets = Sets(api)
    for ask, answer in _composed(api):
        raw = sets.of(without(ask, "task"))
        if sets.capped(raw):
            continue
        extra = set(api.run.identify(answer)) - raw - sets.again(without(ask, "task"))
        if extra:
            raise Broken(f"compose brought {len(extra)} row(s) that retrieve does not bring", answer.exchange)
        if answer.rows:
            api.saw()


@promise("MODE-6", needs=("rows", "compose"), pointer="components.schemas.DirectiveDetails.confidence")
def confidence_is_a_share(api: Api) -> None:
    """`confidence`, when present, lies within 0 and 1."""
    for _ in _composed(api):
        pass
    api.rest_on_watch("no row carried a confidence")


@promise("MODE-7", level="should", needs=("rows", "compose"), pointer=f"{_RESPONSE}.context")
def context_carries_rows(api: Api) -> None:
    """The context block carries every kept row."""
    for _, answer in _composed(api):
        if not isinstance(answer.context, str):
            continue
        block = squeezed(answer.context)
        words = set(re.findall(r"\w{4,}", answer.context.lower()))
        for row in answer.rows:
            own = set(re.findall(r"\w{4,}", row.text.lower()))
            told = len(own & words) >= 0.6 * len(own) if own else squeezed(row.text) in block
            if not (told or squeezed(row.text)[:40] in block or (row.id and row.id in answer.context)):
                raise Broken(f"the context says nothing of the kept row {row.id}", answer.exchange)
            api.saw()


@promise("MODE-8", needs=("rows", "compose"), pointer=f"{_RESPONSE}.context_selection_applied")
def unapplied_drops_nothing(api: Api) -> None:
    """Under `compose`, `context_selection_applied: false` means that no row was dropped."""
    sets = Sets(api)
    for ask, answer in _composed(api):
        raw = sets.of(without(ask, "task"))
        if sets.capped(raw) or not raw:
            continue
        if answer.applied not in (True, False) or not is_array(answer.body.get("data")):
            raise Unjudged("a composed answer has not the form of one (see SHAPE-1)")
        dropped = raw - set(api.run.identify(answer))
        if dropped and not answer.applied:
            raise Broken(
                f"context_selection_applied is false and {len(dropped)} of {len(raw)} rows were dropped",
                answer.exchange,
            )
        api.saw()


def squeezed(text: str) -> str:
    """A text less everything that layout may change."""
    return "".join(one for one in text.lower() if one.isalnum())


__all__ = ["squeezed"]
