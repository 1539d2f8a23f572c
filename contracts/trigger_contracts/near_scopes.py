"""SCOPE-5: a value that nearly is a row's own sees nothing.

A near miss may be another row's own value, so it is judged by the probed rows. It may be refused as well:
what is refused sees nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import cast

from trigger_contracts.asks import Vocabulary
from trigger_contracts.exchange import JsonObject, Kind
from trigger_contracts.json_values import is_array
from trigger_contracts.near import near_misses
from trigger_contracts.probes import AXES, Probe
from trigger_contracts.promises import Broken, Unjudged, promise
from trigger_contracts.run import Api, is_edge

_REQUEST = "components.schemas.TriggerRequest"

#: What stands for no value, or for any, in some client or console.
_NOTHING = (" ", "\t", "null", "None", "undefined", "all", "any", "default", "0")


@promise("SCOPE-5", needs=("rows",), pointer=_REQUEST)
def near_miss_scopes(api: Api) -> None:
    """Near-miss scope values (case, prefix, suffix, blanks, wildcards, the empty string) see none of the
    rows.
    """
    words = Vocabulary(api.need_rows(), api.token("stranger"))
    tries: list[tuple[Probe, JsonObject, str]] = []
    for axis in AXES:
        for number, value in enumerate(words.values(axis)):
            text = value[0] if axis == "group_ids" else value
            holders = [
                one
                for one in api.probes
                if (text in one.group_ids if axis == "group_ids" else getattr(one, axis) == text)
            ]
            if not holders or number >= (1 if api.profile.sample < 1 else 8):
                continue
            alone = min(holders, key=lambda one: len(one.scope))
            many = max(holders, key=lambda one: len(one.scope))
            misses = near_misses(text)
            if axis == "group_ids":
                # Any one of a list suffices, so all may travel together; some go by themselves as well.
                tries.append((alone, {axis: misses}, axis))
                misses = api.sample(misses, 0.1, least=8)
            elif number:
                misses = api.sample(misses, 0.25)
            for at, miss in enumerate(["", *misses]):
                one = (alone, many)[at % 2]
                given: object = [miss] if axis == "group_ids" else miss
                tries.append((one, {**(one.scope if one is many else {}), axis: given}, axis))
    # A blank variable of a client, on an axis that the row lacks or has, must not widen the read.
    for one in api.sample(api.probes, 0.5, least=6):
        tries += [(one, {**one.scope, axis: ""}, axis) for axis in AXES[:3]]
    # Nor may what a client writes for nothing, or for everything.
    for number, (one, word) in enumerate(itertools.product(_one_of_each_axis(api.probes), _NOTHING)):
        lacking = [axis for axis in AXES[:3] if axis not in one.scope]
        axes = [next(iter(one.scope)), *(lacking[number % len(lacking)] for _ in lacking[:1])]
        # A quick look takes the axis that the row has and one that it lacks by turns.
        for axis in axes if api.profile.sample == 1 else axes[number % len(axes) :][:1]:
            tries.append((one, {**one.scope, axis: [word] if axis == "group_ids" else word}, axis))

    def check(item: tuple[Probe, JsonObject, str]) -> None:
        one, scope, axis = item
        given = scope[axis]
        values = given if is_array(given) else [given]
        if axis != "group_ids" and given == getattr(one, axis):
            return
        ask: JsonObject = {"entities": list(one.trigger_entities), **scope, "mode": "retrieve"}
        exchange = api.firm(lambda: api.call(ask, kind=Kind.ODD, owner=api.name))
        if exchange.trouble:
            raise Unjudged(f"a near miss {api.why_not(exchange)}")
        if (
            exchange.status is not None
            and 400 <= exchange.status < 500
            and exchange.status != 401
            and not is_edge(exchange)
        ):
            api.saw()  # refused: it sees nothing
            if len(values) > 1:
                for each in values:
                    check((one, {**scope, axis: [each]}, axis))
            return
        answer = api.read(exchange)
        api.saw()
        probed = {probe.id: probe for probe in api.probes}
        for name in api.run.identify(answer):
            holder = probed.get(name)
            if holder is None:
                continue
            held = holder.group_ids if axis == "group_ids" else (getattr(holder, axis),)
            if not set(values) & set(held):
                broken = Broken(f"{axis} {_shown(given)} sees a row of {axis} {_shown(held)}", exchange)
                if len(values) > 1:  # one of them by itself says more
                    for each in values:
                        check((one, {**scope, axis: [each]}, axis))
                raise broken

    # Each is what another loose comparison takes for the value: none stands for the rest.
    api.each(tries, check, whole=True)


def _shown(value: object) -> str:
    """A scope value, or how many there are."""
    several = list(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else [value]
    return repr(several[0]) if len(several) == 1 else f"of {len(several)} values"


def _one_of_each_axis(probes: Sequence[Probe]) -> list[Probe]:
    """For each axis, the probe with the fewest axes that has it."""
    found: list[Probe] = []
    for axis in AXES:
        holders = sorted((one for one in probes if axis in one.scope), key=lambda one: len(one.scope))
        found += [one for one in holders[:1] if one not in found]
    return found
