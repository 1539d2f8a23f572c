"""VAL-5 and VAL-6: how long a task may be, and of which JSON type each field.

Lengths count characters, whatever they take in bytes, units or what a reader sees. Some of the wrong types
come from the contract's own schema, by way of Schemathesis.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from trigger_contracts.asks import wrong_types
from trigger_contracts.exchange import JsonObject
from trigger_contracts.expected import accepted, acted, refused
from trigger_contracts.json_values import is_object
from trigger_contracts.promises import promise
from trigger_contracts.run import Api

_REQUEST = "components.schemas.TriggerRequest"


@promise("VAL-5", pointer=f"{_REQUEST}.task")
def task_length(api: Api) -> None:
    """A `task` of 2000 characters is accepted and one of 2001 draws a 422, counted in characters, not
    bytes.
    """
    letters = {"letters": "a", "accented letters": "é", "Chinese": "漢", "emoji": "🚀", "line breaks": "\n"}
    growing = "\ufb03\u0130\u00df"  # folded or taken apart, each of these is two characters or three
    marked = "e\u0301"  # composed, or counted as readers count, these are one

    def fits(one: tuple[str, str]) -> None:
        what, task = one
        accepted(api, api.plain(task=task), what)
        raw = json.dumps(api.plain(task=task), ensure_ascii=False).encode()
        accepted(api, api.plain(task=task), f"{what}, unescaped", body=raw)

    api.each([(f"a task of 2000 {what}", letter * 2000) for what, letter in letters.items()], fits)
    api.each([(f"a task of {size} letters", "a" * size) for size in (0, 1, 1000, 1999)], fits)
    api.each([("a task of 2000 ligatures and the like", (growing * 667)[:2000])], fits)
    api.each([("a task of 1000 letters with an accent apart", marked * 1000)], fits)
    long = [(f"a task of 2001 {what}", letter * 2001) for what, letter in letters.items()]
    long.append(("a task of 2001 letters and accents", marked * 1000 + "e"))
    long.append(("a task of 2001 joined emoji", ("\U0001f469\u200d" * 1001)[:2001]))
    long += [(f"a task of {size} letters", "a" * size) for size in (2002, 4001, 20_000)]
    long += [
        ("a task of 2001 characters with blanks around", " " + "a" * 1999 + " "),
        ("a task of 2001 blanks", " " * 2001),
    ]

    def too_long(one: tuple[str, str]) -> None:
        what, task = one
        for mode in ("retrieve", "compose"):
            refused(api, api.plain(task=task, mode=mode), what)

    api.each(long, too_long)
    beside = ("a task of 2001 letters beside an action", acted(api) | {"task": "a" * 2001})
    api.each([beside], lambda one: refused(api, one[1], one[0]))


@promise("VAL-6", pointer=_REQUEST)
def wrong_json_types(api: Api) -> None:
    """A wrong JSON type in any declared field draws a 422."""
    base = api.plain(
        agent_id=api.token("agent"),
        app_id=api.token("app"),
        group_ids=[api.token("grp")],
        include=["lesson"],
        task="t",
    )
    tries = [*wrong_types(base), *_from_the_schema(api)]
    api.each(api.sample(tries, least=60), lambda one: refused(api, one[1], one[0]))


def _from_the_schema(api: Api) -> Iterable[tuple[str, JsonObject]]:
    """What Schemathesis makes of the schema and is wrong in type alone."""
    from trigger_contracts.generation import bodies
    from trigger_contracts.validation import request_violations

    for one in bodies(api.run.options.seed, api.profile.generated):
        if one.positive or not is_object(one.value):
            continue
        rules = [violation.rule for violation in request_violations(one.value)]
        if rules and all(rule.endswith("/type") for rule in rules) and not _has_null(one.value):
            yield f"a body {one.origin}", one.value


def _has_null(value: JsonObject) -> bool:
    return any(part is None or (isinstance(part, list) and None in part) for part in value.values())
