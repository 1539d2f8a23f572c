"""Whether a server keeps each promise, asked of its `Behaviour` directly.

The verifier may know only HTTP; this knows the rows, so it can say in a few lines what is true of a
variant and hold the registry's claims (`breaks`, `also`) to it. Each check gets a fresh server and answers:
held or not.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import StreamingResponse

from tests.servers.application import respond
from tests.servers.behaviour import Behaviour, Rate, Visit
from tests.servers.data import CREW, GUILD, HOME, KEYS, NEIGHBOUR, ROWS, TEAM, Row
from tests.servers.messages import Call, Cut, Refusal
from tests.servers.variants import Variant
from tests.servers_test.closer import CLOSER

KEY, SECOND_KEY = (key for key, owner in KEYS.items() if owner == HOME)
OTHER_KEY = next(key for key, owner in KEYS.items() if owner == NEIGHBOUR)

Json = dict[str, Any]
PROBED = [row for row in ROWS if row.probed]
GROUPS = (TEAM, GUILD, CREW)
ENTITIES = sorted({entity for row in PROBED for entity in row.entities})
ASK: Json = {"entities": ["ledger_sync.py"], "user_id": "mira-81"}
ALL: Json = {"entities": ENTITIES, "mode": "retrieve"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; status 0 is a connection that was cut."""

    status: int
    headers: Headers
    body: Any
    raw: bytes

    @property
    def rows(self) -> list[Json]:
        data = (self.body.get("data") or []) if self.status in range(200, 300) and self.body else []
        return [row for row in data if isinstance(row, dict)]

    @property
    def ids(self) -> set[str]:
        return {row["id"] for row in self.rows}


class Client:
    """Calls one server without a socket."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    async def ask(
        self,
        body: Any = ASK,
        key: str | None = KEY,
        *,
        method: str = "POST",
        media_type: str = "application/json",
        connection: str = "one",
        **headers: str,
    ) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {
            "content-type": media_type
        }
        if key is not None:
            sent["x-api-key"] = key
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        call = Call(method, sent, raw, {}, connection)
        try:
            if method in self.behaviour.methods:
                reply = await self.behaviour.handle(call)
            else:
                refusal = Refusal(405, "method_not_allowed", "Method Not Allowed")
                reply = self.behaviour.finish(Visit(call), self.behaviour.refuse(refusal))
        except Cut:
            return Answer(0, Headers({}), None, b"")
        response = respond(reply)
        if isinstance(response, StreamingResponse):
            raw = b"".join(
                [bytes(piece) async for piece in response.body_iterator if not isinstance(piece, str)]
            )
        else:
            raw = bytes(response.body)
        if response.headers.get("content-encoding") == "gzip":
            raise AssertionError("the oracle does not accept gzip")
        try:
            parsed = json.loads(raw)
        except ValueError:
            parsed = None
        return Answer(response.status_code, response.headers, parsed, bytes(raw))

    async def asks(self, bodies: Iterable[Any], **how: Any) -> list[Answer]:
        return [await self.ask(body, **how) for body in bodies]

    async def settled(self, **ask: Any) -> Answer:
        """A 5xx is judged where errors are, and nowhere else: ask again."""
        body = {name: value for name, value in {**ALL, **ask}.items() if value is not None}
        answer = await self.ask(body)
        return await self.ask(body) if answer.status >= 500 else answer

    async def recall(self, **ask: Any) -> set[str]:
        return (await self.settled(**ask)).ids


def scope(row: Row) -> Json:
    axes = {"user_id": row.user, "agent_id": row.agent, "app_id": row.app, "group_ids": list(row.groups)}
    return {axis: value for axis, value in axes.items() if value}


def is_envelope(body: Any) -> bool:
    detail = body.get("detail") if isinstance(body, dict) else None
    return isinstance(detail, dict) and all(isinstance(detail.get(name), str) for name in ("code", "message"))


def is_field_list(body: Any) -> bool:
    entries = body.get("detail") if isinstance(body, dict) else None
    return isinstance(entries, list) and all({"loc", "msg", "type"} <= set(entry) for entry in entries)


def code_of(answer: Answer) -> Any:
    """The stable code, also where the envelope has another name: that is one finding, and ERR-1's."""
    body = answer.body if isinstance(answer.body, dict) else {}
    inner = body.get("detail", body.get("error"))
    return inner.get("code") if isinstance(inner, dict) else None


def unauthorized(answer: Answer) -> bool:
    return answer.status == 401 and code_of(answer) == "unauthorized"


Check = Callable[[Client], Any]
CHECKS: dict[str, Check] = {}


def promise(name: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        CHECKS[name] = check
        return check

    return register


def keeps(variant: Variant, name: str) -> bool:
    """Whether a fresh server of this kind keeps the promise."""
    rate = Rate(12, 3) if name in ("RATE-2", "RATE-3") else Rate(100_000, 3600)
    looks = (CHECKS[name], CLOSER[name]) if name in CLOSER else (CHECKS[name],)
    return all(_seen(look, variant.make(rate)) for look in looks)


def _seen(look: Check, server: Behaviour) -> bool:
    """What a look sees; an answer that cannot be read at all is the fault of another promise."""
    try:
        return bool(asyncio.run(look(Client(server))))
    except (AttributeError, KeyError, TypeError):
        return True


# ------------------------------------------------------------------ who


@promise("AUTH-1")
async def no_credentials(client: Client) -> bool:
    await client.ask()
    return unauthorized(await client.ask(key=None))


@promise("AUTH-2")
async def unknown_api_key(client: Client) -> bool:
    await client.ask()
    return unauthorized(await client.ask(key="xtk_nobody_has_this"))


@promise("AUTH-3")
async def unknown_bearer(client: Client) -> bool:
    await client.ask()
    return unauthorized(await client.ask(key=None, authorization="Bearer xtk_nobody_has_this"))


@promise("AUTH-4")
async def either_header(client: Client) -> bool:
    for axes in ({"user_id": "mira-81"}, {"agent_id": "scribe-5"}):
        by_key = await client.ask({**ALL, **axes})
        by_bearer = await client.ask({**ALL, **axes}, key=None, authorization=f"Bearer {KEY}")
        if not (by_key.status < 300 and by_bearer.status < 300 and by_key.ids == by_bearer.ids):
            return False
    return True


@promise("AUTH-5")
async def near_miss_keys(client: Client) -> bool:
    near = [KEY.lower(), KEY.upper(), KEY[:-1], KEY[:8], KEY + "x", ""]
    answers = [await client.ask(key=each) for each in near]
    answers.append(await client.ask(key=None, authorization=f"Basic {KEY}"))
    return all(answer.status in (401, 403) for answer in answers)


# ------------------------------------------------------------------ fields


def refused(answers: Iterable[Answer]) -> bool:
    return all(answer.status == 422 for answer in answers)


def accepted(answers: Iterable[Answer]) -> bool:
    return all(200 <= answer.status < 300 for answer in answers)


@promise("VAL-1")
async def no_signal(client: Client) -> bool:
    signals: list[Json] = [
        {},
        {"entities": []},
        {"entities": None},
        {"action": None},
        {"entities": None, "action": None},
    ]
    return refused(await client.asks({"user_id": "mira-81"} | signal for signal in signals))


@promise("VAL-2")
async def no_scope(client: Client) -> bool:
    scopes: list[Json] = [
        {},
        {"group_ids": []},
        {"user_id": None},
        {"agent_id": None, "app_id": None, "group_ids": []},
    ]
    return refused(await client.asks({"entities": ["E-4407"]} | axes for axes in scopes))


@promise("VAL-3")
async def unknown_type(client: Client) -> bool:
    wrong = (["fact"], ["lesson", "skill"], ["Lesson"], [""])
    return refused(await client.asks({**ASK, "include": include} for include in wrong))


@promise("VAL-4")
async def unknown_mode(client: Client) -> bool:
    return refused(await client.asks({**ASK, "mode": mode} for mode in ("recall", "RETRIEVE", "")))


@promise("VAL-5")
async def task_length(client: Client) -> bool:
    fits = await client.asks({**ASK, "task": each * 2000} for each in ("a", "é", "😀"))
    return accepted(fits) and refused(
        await client.asks({**ASK, "task": each * 2001} for each in ("a", "é", "😀"))
    )


def wrongly_typed() -> list[Json]:
    texts = ("user_id", "agent_id", "app_id", "task", "mode")
    lists = ("entities", "group_ids", "include")
    bodies = [{**ASK, name: value} for name in texts for value in (7, 1.5, True, ["x"], {"a": 1})]
    bodies += [
        {**ASK, name: value} for name in lists for value in (7, True, "lesson", {"a": 1}, [7], [["x"]])
    ]
    bodies += [{**ASK, "action": value} for value in (7, True, "Edit", ["x"])]
    bodies += [
        {**ASK, "action": {name: value}}
        for name in ("tool", "output")
        for value in (7, True, ["x"], {"a": 1})
    ]
    return bodies + [{**ASK, "action": {"args": value}} for value in (7, True, "x", ["x"])]


@promise("VAL-6")
async def wrong_types(client: Client) -> bool:
    return refused(await client.asks(wrongly_typed()))


@promise("VAL-7")
async def no_json(client: Client) -> bool:
    good = json.dumps(ASK).encode()
    bodies = (b"", b"{", b"[]", b'"x"', b"7", b"null", b"[" + good + b"]", b"\xff\xfe\xfa", b"nope")
    answers = await client.asks(bodies)
    answers += [await client.ask(body, media_type="text/plain") for body in (good, b"hello")]
    form = b"user_id=mira-81&entities=E-4407"
    answers += [
        await client.ask(body, media_type="application/x-www-form-urlencoded") for body in (good, form)
    ]
    answers.append(await client.ask(b"[" * 3000 + b"]" * 3000))
    answers.append(await client.ask(b'{"user_id": NaN}'))
    return all(400 <= answer.status < 500 for answer in answers)


@promise("VAL-8")
async def null_fields(client: Client) -> bool:
    fields = ("task", "user_id", "agent_id", "app_id")
    bodies: list[Json] = [{"entities": ["x"], "group_ids": [TEAM], name: None} for name in fields]
    bodies += [{**ASK, "action": None}, {"user_id": "u", "entities": None, "action": {"tool": "x"}}]
    bodies += [{"user_id": "u", "action": {name: None}} for name in ("tool", "args", "output")]
    return accepted(await client.asks(bodies))


@promise("VAL-9")
async def undeclared_fields(client: Client) -> bool:
    action: Json = {"tool": "E-4407", "args": {"a": "ledger_sync.py"}}
    pairs: list[tuple[Json, Json]] = [
        (ASK, {**ASK, name: value})
        for name, value in (("limit", 1), ("namespace", "other"), ("org_id", "x"), ("zzz", {"a": [1]}))
    ]
    pairs.append(
        ({"user_id": "mira-81", "action": action}, {"user_id": "mira-81", "action": {**action, "y": 1}})
    )
    pairs.append((pairs[-1][0], {"user_id": "mira-81", "action": {**action, "input": {"a": "press.render"}}}))
    for plain, extended in pairs:
        before, after = (
            await client.ask({**plain, "mode": "retrieve"}),
            await client.ask({**extended, "mode": "retrieve"}),
        )
        if after.status != before.status or after.ids != before.ids:
            return False
    return True


@promise("VAL-10")
async def repeated_include(client: Client) -> bool:
    return refused([await client.ask({**ASK, "include": ["lesson", "lesson"]})])


# ------------------------------------------------------------------ refusals


async def errors(client: Client) -> list[Answer]:
    answers = [await client.ask(key=None), await client.ask(key="xtk_nobody"), await client.ask(b"{")]
    answers += await client.asks(
        [{}, {"user_id": "u"}, {"entities": ["x"]}, {**ASK, "mode": "x"}, {**ASK, "task": 7}]
    )
    answers += [await client.ask(method=method) for method in ("GET", "PUT", "DELETE")]
    answers += await client.asks([{**ASK, "entities": ["\ud800"]}] + [ASK] * 60)
    if client.behaviour.rate.amount < 200:
        answers += await client.asks([ASK] * client.behaviour.rate.amount)
    return [answer for answer in answers if answer.status >= 400]


@promise("ERR-1")
async def envelopes(client: Client) -> bool:
    client.behaviour.rate = Rate(100, 60)
    return all(
        is_envelope(answer.body) or (answer.status == 422 and is_field_list(answer.body))
        for answer in await errors(client)
        if answer.status in (401, 403, 400, 422, 429, 500, 503)
    )


_GIVEAWAY = re.compile(rb'Traceback|File \\?"|(/[\w.-]+){2,}\.\w+|[A-Z]:\\\\')


@promise("ERR-2")
async def plain_errors(client: Client) -> bool:
    return all(
        answer.headers["content-type"].lower().startswith("application/json")
        and not _GIVEAWAY.search(answer.raw)
        for answer in await errors(client)
    )


@promise("ERR-3")
async def documented_statuses(client: Client) -> bool:
    bodies: list[Any] = [
        ASK,
        {**ALL, "user_id": "mira-81"},
        {**ASK, "entities": ["zzz"]},
        {**ASK, "user_id": "nobody"},
    ]
    bodies += [{}, {**ASK, "task": 5}, {**ASK, "mode": "x"}, {**ASK, "task": "a b"}] + [ASK] * 55
    bodies += oddities(documented=True)
    client.behaviour.rate = Rate(len(bodies) + 5, 60)
    answers = await client.asks(bodies)
    answers += [await client.ask(key=None), await client.ask(key="xtk_nobody")]
    answers += await client.asks([ASK] * 10)
    return all(answer.status in (0, 200, 401, 422, 429) for answer in answers if answer.status) and 0 not in {
        answer.status for answer in answers
    }


# ------------------------------------------------------------------ shapes


async def successes(client: Client) -> list[Answer]:
    bodies: list[Json] = [
        {**ALL, **axes} for axes in ({"user_id": "mira-81"}, {"user_id": "otto-17"}, {"app_id": "desk-2"})
    ]
    bodies += [
        {**ALL, "group_ids": [TEAM, GUILD]},
        {**ALL, "agent_id": "scribe-5"},
        {**ASK, "entities": ["zzz"]},
    ]
    bodies.append({**ASK, "entities": ["E-4407", "E-4407"], "mode": "retrieve"})
    bodies += [{**body, "mode": "compose"} for body in bodies]
    bodies.append({**ALL, "user_id": "mira-81", "mode": "compose", "task": "close the ledger"})
    return [answer for answer in await client.asks(bodies) if answer.status == 200]


def _is(value: Any, *kinds: type | None) -> bool:
    return any(value is None if kind is None else type(value) is kind for kind in kinds)


def _fits(row: Json) -> bool:
    details = row.get("details")
    return (
        row.get("object", "memory") == "memory"
        and row.get("type") in ("fact", "artifact", "episode", "lesson", "procedure")
        and all(_is(row.get(name), str) for name in ("id", "text"))
        and all(
            _is(row.get(name), str, None)
            for name in ("user_id", "agent_id", "app_id", "created_at", "updated_at")
        )
        and all(_is(row.get(name, []), list) for name in ("group_ids", "categories"))
        and isinstance(details, dict)
        and _is(details.get("confidence"), float, int, None)
        and _is(details.get("steps"), list, None)
        and _is(details.get("observation_count"), int, None)
    )


@promise("SHAPE-1")
async def schema(client: Client) -> bool:
    return all(
        answer.headers["content-type"].lower().startswith("application/json")
        and isinstance(answer.body, dict)
        and answer.body.get("object", "search") == "search"
        and answer.body.get("mode") in ("retrieve", "compose")
        and _is(answer.body.get("data"), list)
        and _is(answer.body.get("context"), str, None)
        and _is(answer.body.get("context_selection_applied", False), bool)
        and all(_is(value, int, float) for value in answer.body.get("stage_timings", {}).values())
        and all(map(_fits, answer.rows))
        for answer in await successes(client)
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _is_time(value: Any) -> bool:
    if value is None:
        return True
    shape = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    return (
        isinstance(value, str)
        and bool(re.fullmatch(shape, value))
        and datetime.fromisoformat(value) is not None
    )


@promise("SHAPE-2")
async def constants(client: Client) -> bool:
    answers = await successes(client) + await successes(client)
    ids: dict[str, str] = {}
    return all(
        answer.body.get("object", "search") == "search"
        and len(answer.ids) == len(answer.rows)
        and all(
            row.get("object", "memory") == "memory"
            and _is_uuid(row["id"])
            and ids.setdefault(str(row["text"] or row["id"]), row["id"]) == row["id"]
            and _is_time(row.get("created_at"))
            and _is_time(row.get("updated_at"))
            and isinstance(row["details"], dict)
            for row in answer.rows
        )
        for answer in answers
    )


@promise("SHAPE-3")
async def timings(client: Client) -> bool:
    return all(
        isinstance(stages := answer.body.get("stage_timings"), dict)
        and all(_is(value, int, float) and math.isfinite(value) and value >= 0 for value in stages.values())
        for answer in await successes(client)
    )


@promise("SHAPE-4")
async def scores(client: Client) -> bool:
    return all(row.get("score") is None for answer in await successes(client) for row in answer.rows)


# ------------------------------------------------------------------ modes

TASK = "close the cursor before the press renders"


@promise("MODE-1")
async def echo(client: Client) -> bool:
    await client.ask(b"[" * 3000 + b"]" * 3000)
    asked: list[str | None] = ["retrieve", "compose", None, "retrieve", "retrieve", None]
    answers = await client.asks({**ASK, **({"mode": mode} if mode else {})} for mode in asked)
    return all(
        answer.body.get("mode") == (mode or "compose")
        for answer, mode in zip(answers, asked, strict=True)
        if answer.status == 200
    )


async def retrieved(client: Client) -> list[Answer]:
    await client.ask(b"[" * 3000 + b"]" * 3000)
    bodies = [{**ALL, "user_id": user} for user in ("mira-81", "otto-17", "nobody")]
    return [answer for answer in await client.asks(bodies) if answer.status == 200]


@promise("MODE-2")
async def no_context(client: Client) -> bool:
    return all(
        answer.body.get("context") is None and answer.body.get("context_selection_applied", False) is False
        for answer in await retrieved(client)
    )


@promise("MODE-3")
async def no_verdicts(client: Client) -> bool:
    return all(
        isinstance(row["details"], dict) and row["details"].get(name) is None
        for answer in await retrieved(client)
        for row in answer.rows
        if isinstance(row["details"], dict)
        for name in ("because", "confidence")
    )


async def composed(client: Client) -> list[tuple[Answer, Answer]]:
    """Answers under `compose`, each with the one under `retrieve`."""
    pairs = []
    for axes in (
        {"user_id": "mira-81"},
        {"user_id": "otto-17"},
        {"agent_id": "scribe-5"},
        {"group_ids": [TEAM]},
    ):
        for more in ({}, {"task": TASK}, {"include": ["lesson"]}, {"entities": ["ledger_sync.py"]}):
            body: Json = {**ALL, **axes, **more}
            pairs.append((await client.ask({**body, "mode": "compose"}), await client.ask(body)))
    return [(kept, pool) for kept, pool in pairs if kept.status == pool.status == 200]


@promise("MODE-4")
async def context_with_rows(client: Client) -> bool:
    return all(
        isinstance(kept.body.get("context"), str) and kept.body["context"].strip()
        for kept, _ in await composed(client)
        if kept.rows
    )


@promise("MODE-5")
async def subset(client: Client) -> bool:
    return all(kept.ids <= pool.ids for kept, pool in await composed(client))


@promise("MODE-6")
async def confidence_range(client: Client) -> bool:
    values = [
        row["details"].get("confidence")
        for kept, _ in await composed(client)
        for row in kept.rows
        if isinstance(row["details"], dict)
    ]
    return all(value is None or (_is(value, int, float) and 0 <= value <= 1) for value in values)


@promise("MODE-7")
async def context_of_all_rows(client: Client) -> bool:
    return all(
        (row["text"] or "") in (kept.body["context"] or "")
        for kept, _ in await composed(client)
        for row in kept.rows
    )


@promise("MODE-8")
async def dropped_means_applied(client: Client) -> bool:
    return all(
        kept.body.get("context_selection_applied") or pool.ids <= kept.ids
        for kept, pool in await composed(client)
    )


# ------------------------------------------------------------------ scope

AXES: dict[str, tuple[Any, ...]] = {
    "user_id": ("mira-81", "otto-17"),
    "agent_id": ("scribe-5", "tiller-9"),
    "app_id": ("desk-2",),
    "group_ids": ([TEAM], [GUILD], [CREW]),
}


def carries(row: Mapping[str, Any], axes: Json) -> bool:
    return all(
        bool(set(value) & set(row["group_ids"] or ())) if axis == "group_ids" else row[axis] == value
        for axis, value in axes.items()
        if value
    )


def pairs_of_axes() -> list[tuple[Json, Json]]:
    names = list(AXES)
    return [
        ({first: one}, {second: other})
        for index, first in enumerate(names)
        for second in names[index + 1 :]
        for one in AXES[first]
        for other in AXES[second]
    ]


def near_scopes() -> list[Json]:
    """Scopes that nearly are those of rows, and are nobody's."""
    near: list[Json] = []
    for axis in ("user_id", "agent_id", "app_id"):
        for value in AXES[axis]:
            shorter = (value[:-1], value[1:], f"{value[:-2]}%", f"{value[:-1]}_")
            near += [{axis: each} for each in (value.upper(), value + "x", f" {value} ", "*", "%", *shorter)]
        near += [{axis: "", "group_ids": [group]} for group in (TEAM, GUILD)]
    groups = (TEAM.upper(), TEAM[:20], TEAM + "0", TEAM[:-3] + "000", f" {TEAM}", "*")
    near += [{"group_ids": [each]} for each in groups]
    near += [{"user_id": "", "agent_id": "scribe-5"}, {"agent_id": "", "user_id": "mira-81"}, {"user_id": ""}]
    return near


NEAR = near_scopes()


@promise("SCOPE-1")
async def rows_carry_the_scope(client: Client) -> bool:
    asked: list[Json] = [{axis: value} for axis, values in AXES.items() for value in values] * 3
    asked += [{**one, **other} for one, other in pairs_of_axes()]
    asked += NEAR
    for axes in asked:
        for row in (await client.ask({**ALL, **axes})).rows:
            if not carries(row, axes):
                return False
    return True


@promise("SCOPE-2")
async def an_axis_never_adds(client: Client) -> bool:
    for one, other in pairs_of_axes():
        both = await client.recall(**one, **other)
        if not (both <= await client.recall(**one) and both <= await client.recall(**other)):
            return False
    return True


@promise("SCOPE-3")
async def intersection(client: Client) -> bool:
    for one, other in pairs_of_axes():
        if await client.recall(**one, **other) != await client.recall(**one) & await client.recall(**other):
            return False
    return True


@promise("SCOPE-4")
async def union_of_groups(client: Client) -> bool:
    for one in GROUPS:
        for other in GROUPS:
            both = await client.recall(group_ids=[one, other])
            parts = await client.recall(group_ids=[one]) | await client.recall(group_ids=[other])
            if both != parts:
                return False
    return True


@promise("SCOPE-5")
async def near_miss_scopes(client: Client) -> bool:
    known = {row.id for row in PROBED}
    await client.recall(user_id="mira-81")
    for axes in NEAR:
        answer = await client.ask({**ALL, **axes})
        if answer.ids & known:
            return False
    return True


@promise("SCOPE-6")
async def organisations_apart(client: Client) -> bool:
    own = {row.id for row in ROWS if row.organisation == HOME}
    for axis, values in AXES.items():
        for value in values:
            body = {**ALL, axis: value}
            await client.ask(body)
            if (await client.ask(body, OTHER_KEY)).ids & own:
                return False
    return True


@promise("SCOPE-7")
async def concurrent_scopes(client: Client) -> bool:
    bodies: list[Json] = [{**ALL, axis: value} for axis, values in AXES.items() for value in values]
    alone = [(await client.ask(body)).ids for body in bodies]
    together = await asyncio.gather(*(client.ask(body) for body in bodies))
    return alone == [answer.ids for answer in together]


@promise("SCOPE-8")
async def context_of_the_scope(client: Client) -> bool:
    asked: list[Json] = [{axis: value} for axis, values in AXES.items() for value in values] * 2
    for axes in asked + [
        axes for axes in NEAR if "%" in str(axes) or "*" in str(axes) or "MIRA" in str(axes)
    ]:
        answer = await client.ask({**ALL, **axes, "mode": "compose"})
        for row in ROWS:
            seen = {
                "user_id": row.user,
                "agent_id": row.agent,
                "app_id": row.app,
                "group_ids": list(row.groups),
            }
            if (
                answer.body
                and answer.body.get("context")
                and row.text in answer.body["context"]
                and not carries(seen, axes)
            ):
                return False
    return True


# ------------------------------------------------------------------ what fires


def cases() -> list[tuple[Row, str]]:
    return [(row, entity) for row in PROBED for entity in row.entities]


@promise("MATCH-1")
async def known_entities_fire(client: Client) -> bool:
    for row, entity in cases():
        if row.id not in await client.recall(entities=[entity], **scope(row)):
            return False
    return True


@promise("MATCH-2")
async def actions_fire(client: Client) -> bool:
    for row, entity in cases():
        actions: tuple[Json, ...] = (
            {"tool": entity},
            {"args": {"path": entity}},
            {"output": entity},
            {"tool": "Edit", "args": {"path": entity}, "output": "done"},
        )
        for action in actions:
            if row.id not in await client.recall(entities=None, action=action, **scope(row)):
                return False
    return True


@promise("MATCH-3")
async def near_miss_entities(client: Client) -> bool:
    for row, entity in cases():
        for near in (entity.lower(), entity.upper(), entity[:-1], entity[1:], entity + "x", f" {entity} "):
            ids = await client.recall(entities=[near], **scope(row)) if near != entity else set()
            if row.id in ids and near not in row.entities:
                return False
    return True


@promise("MATCH-4")
async def union_of_entities(client: Client) -> bool:
    some = [*ENTITIES, "nothing-1", *(f"decoy-{number}" for number in range(12))]
    for axes in ({"user_id": "mira-81"}, {"agent_id": "scribe-5"}):
        parts = [await client.recall(entities=[each], **axes) for each in some]
        wanted = set().union(*parts)
        for sent in (some, some[::-1], some + some, some[13:] + some[:13]):
            rows = (await client.settled(entities=sent, **axes)).rows
            if {row["id"] for row in rows} != wanted or len(rows) != len(wanted):
                return False
    return True


@promise("MATCH-5")
async def matched_on(client: Client) -> bool:
    for row, entity in cases():
        for sent in (
            [entity],
            [entity, "nothing"],
            [entity[:-1]],
            [entity.lower()],
            [f" {entity}"],
            [f"{entity}x"],
            ["zz"],
        ):
            for mode in ("retrieve", "compose"):
                answer = await client.ask({"entities": sent, "mode": mode, **scope(row)})
                for seen in answer.rows:
                    details = seen["details"] if isinstance(seen["details"], dict) else {}
                    matched = set(details.get("matched_on") or ())
                    if (
                        not matched
                        or not matched <= set(details["trigger_entities"])
                        or not matched <= set(sent)
                    ):
                        return False
    return True


@promise("MATCH-6")
async def unknown_entities(client: Client) -> bool:
    bodies = [
        {"entities": ["zzz-nothing"], **axes} for axes in ({"user_id": "mira-81"}, {"user_id": "nobody"})
    ]
    answers = await client.asks(
        [*bodies, {"user_id": "mira-81", "action": {"tool": "zzz", "args": {"a": ""}}}]
    )
    return all(answer.status == 200 and answer.body.get("data") == [] for answer in answers)


@promise("MATCH-7")
async def nested_values_fire(client: Client) -> bool:
    for row, entity in cases():
        for args in ({"a": {"b": entity}}, {"a": [entity]}, {"a": [{"b": [{"c": entity}]}]}):
            if row.id not in await client.recall(entities=None, action={"args": args}, **scope(row)):
                return False
    return True


@promise("TYPE-1")
async def directives_only(client: Client) -> bool:
    answers = await successes(client)
    answers.append(await client.ask({**ALL, "user_id": "mira-81", "include": ["fact"]}))
    return all(row["type"] in ("lesson", "procedure") for answer in answers for row in answer.rows)


@promise("TYPE-2")
async def types_apart(client: Client) -> bool:
    for axes in ({"user_id": "mira-81"}, {"agent_id": "tiller-9"}):
        for mode in ("retrieve", "compose"):
            body: Json = {**ALL, **axes, "mode": mode}
            whole, lessons, procedures = await client.asks(
                [body, {**body, "include": ["lesson"]}, {**body, "include": ["procedure"]}]
            )
            if {row["type"] for row in lessons.rows} - {"lesson"} or {
                row["type"] for row in procedures.rows
            } - {"procedure"}:
                return False
            if mode == "retrieve" and whole.ids != lessons.ids | procedures.ids:
                return False
    return True


@promise("ORDER-1")
async def one_order(client: Client) -> bool:
    body: Json = {**ALL, "user_id": "mira-81"}
    answers = [await client.ask(body, connection=connection) for connection in ("one", "two", "one", "three")]
    answers.append(await client.ask(body, key=None, authorization=f"Bearer {KEY}"))
    return all(
        answer.status < 300 and [row["id"] for row in answer.rows] == [row["id"] for row in answers[0].rows]
        for answer in answers
    )


# ------------------------------------------------------------------ rates


def _quota(answer: Answer) -> list[str]:
    return [answer.headers.get(f"ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]


@promise("RATE-1")
async def quota_headers(client: Client) -> bool:
    quotas = [
        _quota(answer) for answer in await client.asks([ASK] * 5) if "ratelimit-limit" in answer.headers
    ]
    if not quotas:
        return True
    if not all(text.isdecimal() for quota in quotas for text in quota):
        return False
    remaining = [int(quota[1]) for quota in quotas]
    return (
        all(int(quota[1]) <= int(quota[0]) for quota in quotas)
        and remaining == sorted(remaining)[::-1] != remaining[:1] * 5
    )


class Clock:
    """Time that is told, not waited for."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@promise("RATE-2")
async def over_the_limit(client: Client) -> bool:
    clock = Clock()
    client.behaviour.clock = clock
    answers = await client.asks([ASK] * (client.behaviour.rate.amount + 3))
    over = answers[-1]
    if over.status < 300:
        return True
    waits = over.headers.getlist("retry-after")
    if over.status != 429 or code_of(over) != "rate_limited" or not all(_quota(over)):
        return False
    if len(waits) != 1 or not waits[0].isdecimal():
        return False
    clock.now += int(waits[0])
    return (await client.ask()).status < 300


@promise("RATE-3")
async def limits_apart(client: Client) -> bool:
    await client.asks([ASK] * (client.behaviour.rate.amount + 3))
    return (await client.ask(key=SECOND_KEY)).status < 300 and (await client.ask(key=OTHER_KEY)).status < 300


# ------------------------------------------------------------------ methods, odd bodies


@promise("HTTP-1")
async def post_only(client: Client) -> bool:
    methods = ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO")
    return all(
        400 <= answer.status < 500 for answer in [await client.ask(method=method) for method in methods]
    )


def oddities(*, documented: bool) -> list[Any]:
    deep: Any = "x"
    for _ in range(150):
        deep = {"a": deep} if documented else [deep]
    strings = ("\ud800", "\0", "😀", "字", "x" * 70_000, "")
    bodies: list[Any] = [{"user_id": "u", "action": {"args": {"a": each}, "tool": each}} for each in strings]
    bodies += [{"user_id": "u", "action": {"args": {"a": each}}} for each in (1 << 70, deep)]
    bodies += [{"user_id": "u", "entities": ["x"] * 1500}, {**ASK, "entities": ["\ud800"]}]
    if not documented:
        bodies += [
            b"[" * 3000 + b"]" * 3000,
            b"\xff\xfe\xfa",
            b"{",
            b"",
            b"[]",
            b"null",
            b'"x"',
            {**ASK, "task": 7},
        ]
        bodies += [
            {"user_id": "u", "action": {"args": {"a": math.nan}}},
            {"user_id": "\ud800", "entities": ["x"]},
        ]
    else:
        bodies.append({"user_id": "u", "action": {"args": {"a": math.inf}}})
    return bodies


@promise("ROB-1")
async def no_5xx(client: Client) -> bool:
    answers = await client.asks(oddities(documented=False) + [ASK] * 50)
    answers += [await client.ask(b"hello", media_type="text/plain"), await client.ask(key="xtk_nobody")]
    client.behaviour.rate = Rate(5, 60)
    answers += await client.asks([ASK])
    return all(0 < answer.status < 500 for answer in answers)


def _echo(answer: Answer) -> Any:
    return (answer.body or {}).get("mode")


@promise("ROB-2")
async def still_right(client: Client) -> bool:
    before = await client.ask({**ALL, "user_id": "mira-81"})
    await client.asks(oddities(documented=False))
    after = await client.asks([{**ALL, "user_id": "mira-81"}] * 45)
    return all(
        answer.status == before.status
        and answer.ids == before.ids
        and _echo(answer) in ("retrieve", _echo(before))
        for answer in after
    )
