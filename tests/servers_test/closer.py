"""A closer look at each promise: on a condition, in a crowd, after a normalisation, beyond a length.

The oracle asks the plain question of each promise first; these are asked when that one is answered well.
They know the rows, as the oracle does, and each takes a fresh server.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

from tests.servers.data import CREW, GUILD, HOME, KEYS, NEIGHBOUR, ROWS, TEAM

Json = dict[str, Any]
Closer = Callable[[Any], Any]
CLOSER: dict[str, Closer] = {}

KEY = next(key for key, owner in KEYS.items() if owner == HOME)
OTHER_KEY = next(key for key, owner in KEYS.items() if owner == NEIGHBOUR)
PROBED = [row for row in ROWS if row.probed]
ENTITIES = sorted({entity for row in PROBED for entity in row.entities})
ACTION: Json = {"tool": "ledger_sync.py", "args": {"path": "OutboxCursor"}, "output": "E-4407"}
ACTED: Json = {"action": ACTION, "user_id": "mira-81", "mode": "retrieve"}
STRANGERS = [f"stranger-{number}" for number in range(40)]


def closer(*names: str) -> Callable[[Closer], Closer]:
    def register(check: Closer) -> Closer:
        CLOSER.update(dict.fromkeys(names, check))
        return check

    return register


def scope(row: Any) -> Json:
    axes = {"user_id": row.user, "agent_id": row.agent, "app_id": row.app, "group_ids": list(row.groups)}
    return {axis: value for axis, value in axes.items() if value}


def alike(text: str) -> Iterator[str]:
    """What becomes `text` by some normalisation, and is another value."""
    middle = len(text) // 2
    yield from (
        f"{text}{tail}" for tail in ("\n", "\t", " ", "\0", "\0x", " x", ",x", "s", "()", ":12", ".py")
    )
    yield from (f"{head}{text}" for head in ("x\n", "x,", "k=", "./", "@", "#"))
    yield from (f"'{text}'", f"`{text}`", text[1:2] + text[:1] + text[2:], text[:-1] + "~")
    yield from (f"{text[:middle]}{inner}{text[middle:]}" for inner in ("\u00ad", " "))
    yield from (text.replace("-", "_"), text.replace("_", "-"), re.sub(r"[\W_]", "", text))
    yield f"%{ord(text[0]):02x}{text[1:]}"
    yield f"&#{ord(text[0])};{text[1:]}"
    yield chr(ord(text[0]) + 0xFEE0) + text[1:]
    yield re.sub("s", "\u017f", text, count=1)
    yield re.sub(
        "[aeiouE]", lambda found: unicodedata.normalize("NFC", found.group() + "\u0301"), text, count=1
    )
    yield re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()
    yield text.rpartition(".")[0] or text


# ------------------------------------------------------------------ who

DOORS: list[Json] = [
    {"entities": ["zzz"], "user_id": "u"},
    {"action": {"tool": "zzz"}, "user_id": "u", "mode": "retrieve"},
    {"entities": ["zzz"], "group_ids": [TEAM], "mode": "retrieve"},
]


@closer("AUTH-1")
async def every_door_is_shut(client: Any) -> bool:
    answers = [await client.ask(body, key=None) for body in DOORS]
    crowd = await asyncio.gather(*(client.ask(DOORS[0], key=key) for key in (KEY, None, KEY, None)))
    return all(answer.status == 401 for answer in (*answers, *crowd[1::2]))


@closer("AUTH-2", "AUTH-3")
async def every_door_knows_its_keys(client: Any) -> bool:
    answers = [await client.ask(body, key="xtk_nobody") for body in DOORS]
    answers += [await client.ask(body, key=None, authorization="Bearer xtk_nobody") for body in DOORS]
    return all(answer.status == 401 for answer in answers)


@closer("AUTH-5")
async def keys_like_the_key(client: Any) -> bool:
    near = [f'"{KEY}"', f"{KEY} x", f"{KEY},x", re.sub("[-_]", "", KEY)]
    near += [KEY[:at] + ("x" if KEY[at] != "x" else "y") + KEY[at + 1 :] for at in range(len(KEY))]
    return all([(await client.ask(key=each)).status in (401, 403) for each in near])


# ------------------------------------------------------------------ fields


async def refused(client: Any, *bodies: Json) -> bool:
    return all([(await client.ask(body)).status == 422 for body in bodies])


@closer("VAL-1")
async def no_signal_beside_much(client: Any) -> bool:
    much: Json = {"user_id": "mira-81", "task": "tidy up", "include": ["lesson"], "query": "x"}
    return await refused(client, much, {**much, "entities": []})


@closer("VAL-2")
async def no_scope_beside_much(client: Any) -> bool:
    much: Json = {"org_id": "x", "conv_id": "x", "namespace": "x", "userId": "x"}
    return await refused(
        client, {"entities": ["E-4407"], **much}, {"action": ACTION}, {"action": ACTION, **much}
    )


@closer("VAL-3")
async def types_alike(client: Any) -> bool:
    wrong = (["\uff4cesson"], ["lesson,procedure"], ["lesson\u200b"], ["fact"])
    return await refused(client, *({**ACTED, "include": include} for include in wrong))


@closer("VAL-4")
async def modes_alike(client: Any) -> bool:
    return await refused(client, *({**ACTED, "mode": mode} for mode in ("\uff52etrieve", "search", "")))


@closer("VAL-5")
async def tasks_of_other_measures(client: Any) -> bool:
    long = ("e\u0301" * 1000 + "e", ("\U0001f469\u200d" * 1001)[:2001], "a" * 2001)
    return await refused(client, *({**ACTED, "task": task} for task in long))


@closer("VAL-7")
async def text_with_parameters(client: Any) -> bool:
    answer = await client.ask(ACTED, media_type="text/plain; charset=utf-8")
    return bool(400 <= answer.status < 500)


@closer("VAL-9")
async def names_and_values(client: Any) -> bool:
    base: Json = {"entities": ENTITIES, "user_id": "mira-81", "mode": "retrieve"}
    extras: list[Json] = [
        {"userId": "x"},
        {"USER_ID": "x"},
        {"limit": "many"},
        {"fields": ["id"]},
        {"stream": True},
    ]
    before = await client.ask(base)
    for extra in extras:
        after = await client.ask({**base, **extra})
        if after.status != before.status or after.body is None or after.ids != before.ids:
            return False
        if [sorted(row) for row in after.rows] != [sorted(row) for row in before.rows]:
            return False
    return True


# ------------------------------------------------------------------ refusals, shapes


def crossed() -> list[Json]:
    """Valid requests of every mixture."""
    signals: list[Json] = [{"entities": ["zzz"]}, {"action": {"tool": "zzz"}}]
    signals.append(signals[0] | signals[1])
    axes: list[Json] = [{"user_id": "u"}, {"agent_id": "a"}, {"app_id": "p"}, {"group_ids": ["g"]}]
    scopes = [
        {name: value for one in some for name, value in one.items()}
        for size in (1, 4)
        for some in combinations(axes, size)
    ]
    options: list[Json] = [{}, {"include": ["procedure"]}, {"task": "tidy up"}]
    modes: list[Json] = [{"mode": "retrieve"}, {}]
    return [
        signal | where | option | mode
        for signal, where, option, mode in product(signals, scopes, options, modes)
    ]


@closer("ERR-3")
async def every_mixture(client: Any) -> bool:
    answers = [await client.ask(body) for body in crossed()]
    crowd = await asyncio.gather(*(client.ask(body) for body in crossed()[:12]))
    over = [await client.ask(crossed()[0]) for _ in range(900)] if client.behaviour.rate.amount > 900 else []
    return {answer.status for answer in (*answers, *crowd, *over)} == {200}


@closer("ERR-1")
async def envelopes_of_odd_bodies(client: Any) -> bool:
    answer = await client.ask(b"{")
    detail = answer.body.get("detail") if isinstance(answer.body, dict) else None
    if isinstance(detail, dict):
        return {"code", "message"} <= set(detail)
    return isinstance(detail, list) and all({"loc", "msg", "type"} <= set(entry) for entry in detail)


@closer("ERR-2")
async def nothing_inside_is_shown(client: Any) -> bool:
    answers = [await client.ask(body) for body in (b"{", {}, {"entities": ["x"]}, {**ACTED, "mode": 7})]
    answers.append(await client.ask(key=None))
    inside = re.compile(r"\.(py|java|go|db)\b|Traceback")
    for answer in answers:
        shown = answer.raw.decode() + " ".join(answer.headers.values())
        if inside.search(shown) or answer.body is None:
            return False
    return True


async def answered(client: Any) -> list[Any]:
    wide: Json = {"entities": ENTITIES, "user_id": "mira-81"}
    bodies: list[Json] = [wide | extra for extra in ({}, {"include": ["lesson"]}, {"include": ["procedure"]})]
    bodies = [body | mode for body in bodies for mode in ({"mode": "retrieve"}, {"mode": "compose"})]
    bodies += [{"entities": ["zzz"], "user_id": "u"}]
    found = [await client.ask(body) for body in bodies * 8]
    return [answer for answer in found if answer.status == 200]


@closer("SHAPE-1")
async def json_of_the_schema(client: Any) -> bool:
    for answer in await answered(client):
        if not isinstance(answer.body, dict) or b"NaN" in answer.raw:
            return False
        data = answer.body.get("data")
        if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
            return False
        if answer.body.get("context_selection_applied", False) not in (True, False):
            return False
    return True


@closer("SHAPE-2")
async def the_same_ids(client: Any) -> bool:
    ids: dict[str, str] = {}
    for answer in await answered(client):
        for row in answer.rows:
            if ids.setdefault(row["text"], row["id"]) != row["id"]:
                return False
            if not str(row["details"].get("last_confirmed_at") or "Z").endswith("Z"):
                return False
    return True


# ------------------------------------------------------------------ modes


@closer("MODE-1", "MODE-2")
async def modes_by_turns(client: Any) -> bool:
    for body in ({"entities": ENTITIES, "user_id": "mira-81"}, {"action": ACTION, "user_id": "mira-81"}):
        for mode in ("compose", "retrieve", "compose"):
            answer = await client.ask({**body, "mode": mode})
            if answer.body["mode"] != mode or (mode == "retrieve" and answer.body.get("context") is not None):
                return False
    return True


@closer("MODE-4")
async def blocks_of_actions(client: Any) -> bool:
    answer = await client.ask({"action": ACTION, "user_id": "mira-81", "mode": "compose"})
    return not answer.rows or bool(answer.body.get("context"))


@closer("MODE-5", "MATCH-6")
async def a_task_fires_nothing(client: Any) -> bool:
    task = f"work on {' and '.join(ENTITIES)}"
    for mode in ("retrieve", "compose"):
        answer = await client.ask({"entities": ["zzz"], "user_id": "mira-81", "task": task, "mode": mode})
        if answer.rows:
            return False
    actions = [await client.ask({**ACTED, "action": {"tool": tool}}) for tool in ("ledger_sync.py", "zzz")]
    return not actions[1].rows


# ------------------------------------------------------------------ scope


def within(row: Json, ask: Json) -> bool:
    axes = ("user_id", "agent_id", "app_id")
    pinned = all(ask.get(axis) is None or row[axis] == ask[axis] for axis in axes)
    return pinned and (not ask.get("group_ids") or bool(set(ask["group_ids"]) & set(row["group_ids"])))


@closer("SCOPE-1")
async def scopes_on_conditions(client: Any) -> bool:
    signals: list[Json] = [{"entities": ENTITIES}, {"action": {"args": {"all": ENTITIES}}}]
    options: list[Json] = [{}, {"mode": "compose"}, {"include": ["procedure"]}, {"task": "tidy up"}]
    scopes: list[Json] = [
        *({"user_id": user, "agent_id": "scribe-5", "group_ids": [TEAM]} for user in ("mira-81", "x")),
        *({"user_id": user} for user in ("mira-81", "otto-17")),
        {"user_id": "otto-17", "agent_id": "scribe-5", "app_id": "desk-2"},
        {"agent_id": "tiller-9"},
        {"app_id": "desk-2"},
        {"app_id": "x", "user_id": "mira-81"},
        {"group_ids": STRANGERS},
        *(
            {axis: near}
            for axis, value in (("user_id", "mira-81"), ("agent_id", "scribe-5"))
            for near in alike(value)
        ),
    ]
    for where in scopes:
        for signal, option in product(signals, options):
            body: Json = {"mode": "retrieve", **signal, **where, **option}
            if not all(within(row, where) for row in (await client.ask(body)).rows):
                return False
    for _ in range(70):
        if not all(within(row, scopes[2]) for row in (await client.ask({**signals[0], **scopes[2]})).rows):
            return False
    return True


@closer("SCOPE-4")
async def long_lists_of_groups(client: Any) -> bool:
    for group in (TEAM, GUILD, CREW):
        alone = await client.recall(group_ids=[group])
        for groups in ([*STRANGERS[:12], group], [*STRANGERS, group], [group, group]):
            if await client.recall(group_ids=groups) != alone:
                return False
    return True


@closer("SCOPE-5")
async def scopes_alike(client: Any) -> bool:
    known = {row.id for row in PROBED}
    tries: list[Json] = [
        {axis: near}
        for axis, values in (("user_id", ("mira-81",)), ("agent_id", ("scribe-5",)), ("app_id", ("desk-2",)))
        for value in values
        for near in alike(value)
        if near != value
    ]
    words = (" ", "\t", "null", "None", "undefined", "all", "any")
    tries += [{"user_id": "mira-81", "app_id": word} for word in words]
    tries += [{"group_ids": [near]} for near in alike(TEAM) if near != TEAM]
    return all(
        [
            not (await client.ask({"entities": ENTITIES, "mode": "retrieve", **axes})).ids & known
            for axes in tries
        ]
    )


@closer("SCOPE-6")
async def organisations_on_conditions(client: Any) -> bool:
    own = {row.id for row in ROWS if row.organisation == HOME}
    texts = {row.text for row in ROWS if row.organisation == HOME}
    bodies: list[Json] = [
        {"entities": ENTITIES, "mode": "compose"},
        {"action": {"args": {"all": ENTITIES}}, "mode": "retrieve"},
    ]
    for body, axes in product(bodies, ({"user_id": "mira-81"}, {"agent_id": "scribe-5"})):
        answer = await client.ask({**body, **axes}, OTHER_KEY)
        if answer.ids & own or any(text in (answer.body.get("context") or "") for text in texts):
            return False
    body = {"entities": ENTITIES, "user_id": "mira-81", "mode": "retrieve"}
    crowd = await asyncio.gather(*(client.ask(body, key) for key in (OTHER_KEY, KEY) * 3))
    return not any(answer.ids & own for answer in crowd[::2])


@closer("SCOPE-7")
async def crowds(client: Any) -> bool:
    bodies: list[Json] = [
        {"entities": ENTITIES, "user_id": user, "mode": "retrieve"} for user in ("mira-81", "otto-17")
    ]
    bodies += [{**body, "include": ["lesson"]} for body in bodies]
    bodies += [{**body, "mode": "compose"} for body in bodies[:2]]

    def said(answer: Any) -> tuple[int, frozenset[str], Any]:
        body = answer.body if isinstance(answer.body, dict) else {}
        return answer.status, frozenset(answer.ids), body.get("context")

    alone = [said(await client.ask(body)) for body in bodies]
    crowd = await asyncio.gather(
        *(client.ask(body, key) for body in bodies for key in (KEY, OTHER_KEY, None))
    )
    if {answer.status for answer in crowd[2::3]} != {401}:
        return False
    return alone == [said(answer) for answer in crowd[::3]]


@closer("SCOPE-8")
async def blocks_in_their_scope(client: Any) -> bool:
    bodies: list[Json] = [{"entities": ENTITIES, "user_id": user} for user in ("mira-81", "otto-17")]
    crowd = await asyncio.gather(*(client.ask(body) for body in bodies * 2))
    for body, answer in zip(bodies * 2, crowd, strict=True):
        for row in ROWS:
            inside = row.organisation == HOME and row.user == body["user_id"]
            if row.text in (answer.body.get("context") or "") and not inside:
                return False
    return True


# ------------------------------------------------------------------ what fires


@closer("MATCH-2", "MATCH-7")
async def values_far_in(client: Any) -> bool:
    row = PROBED[0]
    deep: Any = row.entities[0]
    for level in range(12):
        deep = [deep] if level % 2 else {"in": deep}
    many = {f"k{number}": f"v{number}" for number in range(40)}
    for args in ({"a": deep}, {"a": [*range(40), row.entities[0]]}, {**many, "z": {"in": row.entities[0]}}):
        if row.id not in await client.recall(entities=None, action={"args": args}, **scope(row)):
            return False
    return True


@closer("MATCH-3")
async def entities_alike(client: Any) -> bool:
    for row in PROBED:
        near = [name for entity in row.entities for name in alike(entity) if name not in row.entities]
        near = [name for name in near if not any(name in other.entities for other in ROWS)]
        for name in near:
            if row.id in await client.recall(entities=[name], **scope(row)):
                return False
    return True


@closer("MATCH-4")
async def long_lists_of_entities(client: Any) -> bool:
    crowd = [f"stranger-{number}" for number in range(150)]
    alone = await client.recall(entities=ENTITIES[-1:], user_id="mira-81")
    if await client.recall(entities=[*crowd, ENTITIES[-1]], user_id="mira-81") != alone:
        return False
    firsts = [await client.recall(entities=["zzz", entity], user_id="mira-81") for entity in ENTITIES]
    parts = [await client.recall(entities=[entity], user_id="mira-81") for entity in ENTITIES]
    return firsts == parts


@closer("ORDER-1")
async def one_order_in_between(client: Any) -> bool:
    body: Json = {"entities": ENTITIES, "user_id": "mira-81", "mode": "retrieve"}
    first = [row["id"] for row in (await client.ask(body)).rows]
    for row in PROBED:
        await client.ask({"entities": list(row.entities), "mode": "retrieve", **scope(row)})
    return first == [row["id"] for row in (await client.ask(body)).rows]


# ------------------------------------------------------------------ rates, methods, odd bodies


@closer("RATE-1")
async def every_quota_header(client: Any) -> bool:
    answer = await client.ask()
    names = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
    return all(value.isdecimal() for name in names for value in answer.headers.getlist(name))


@closer("RATE-2")
async def nothing_but_429(client: Any) -> bool:
    answers = [await client.ask() for _ in range(client.behaviour.rate.amount + 3)]
    over = answers[-1]
    full = isinstance(over.body, dict) and ("data" in over.body or isinstance(over.body.get("detail"), dict))
    return over.status == 429 or (over.status == 200 and full and "data" in over.body)


@closer("HTTP-1")
async def methods_by_other_names(client: Any) -> bool:
    answers = [await client.ask(method=method) for method in ("QUERY", "PURGE")]
    answers.append(await client.ask(method="GET", x_http_method_override="POST"))
    return all(400 <= answer.status < 500 for answer in answers)


@closer("ROB-1")
async def odd_values_everywhere(client: Any) -> bool:
    known: Json = {"entities": ["ledger_sync.py"], "user_id": "mira-81"}
    bodies: list[Json] = []
    for odd in ("\ud800", "\0", "{0} %s ${x}", "x" * 70_000):
        bodies += [{**known, axis: odd} for axis in ("user_id", "agent_id", "app_id")]
        bodies += [{**known, "entities": ["ledger_sync.py", odd]}, {**known, "task": odd[:2000]}]
        bodies += [{"user_id": "u", "action": {part: odd}} for part in ("tool", "output")]
    return all([0 < (await client.ask(body)).status < 500 for body in bodies + crossed()])


@closer("ROB-2")
async def sound_after_long(client: Any) -> bool:
    body: Json = {"entities": ENTITIES, "user_id": "mira-81", "mode": "retrieve"}
    before = await client.ask(body)
    for _ in range(850):
        await client.ask({"entities": ["zzz"], "user_id": "u", "mode": "retrieve"})
    after = [await client.ask(body) for _ in range(6)]
    return all(answer.ids == before.ids for answer in after)
