"""What agents send: for each scenario, a session of asks in the order in which one agent sends them.

Bodies are built and encoded here, before the run, from a seed; nothing is built on the timed path.
Contract: TriggerRequest (a firing signal, a scope axis, a mode). Knows nothing of HTTP or of time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from trigger_loadtests.population import Draw, Known

Expectation = Literal["answer", "invalid", "unauthorised"]

#: The characters of a failed tool's output that a hook sends along.
OUTPUT_TAIL = 1500
#: One tool call in so many fails, and is followed by a second ask that carries its output.
FAILS_ONE_IN = 8


class Ask(NamedTuple):
    """One request, ready to send. `pause`: seconds the agent thinks before it."""

    scenario: str
    mode: str
    body: bytes
    expects: Expectation
    pause: float


Session = tuple[Ask, ...]
Writer = Callable[[Draw, float], Session]


def _ask(scenario: str, request: Mapping[str, Any], pause: float) -> Ask:
    return Ask(scenario, str(request.get("mode", "compose")), orjson.dumps(request), "answer", pause)


def _scope(row: Known, draw: Draw) -> dict[str, Any]:
    """Pin what a client of this row would pin: mostly the user, at times more."""
    scope: dict[str, Any] = {}
    if row.user_id:
        scope["user_id"] = row.user_id
    if row.agent_id and (not scope or draw.random.random() < 0.5):
        scope["agent_id"] = row.agent_id
    if row.app_id and (not scope or draw.random.random() < 0.3):
        scope["app_id"] = row.app_id
    if row.group_ids and not scope:
        scope["group_ids"] = list(row.group_ids)
    return scope


def _mode(draw: Draw, compose: float) -> str:
    return "compose" if draw.random.random() < compose else "retrieve"


def _pause(draw: Draw, mean: float) -> float:
    return round(min(draw.random.expovariate(1 / mean), 6 * mean), 3)


_TASKS = (
    "fix finalize-on-abort in the tool loop",
    "make the nightly export idempotent",
    "find out why the refund was booked twice",
    "upgrade the billing client and keep the tests green",
    "add pagination to the audit endpoint",
)


def _tool_call(draw: Draw, entity: str) -> dict[str, Any]:
    """A call of a coding agent's tool that touches the entity, with arguments as such tools have them."""
    tool = draw.one_of("Edit", "Write", "Bash", "Read", "mcp__tracker__search")
    path = f"/home/dev/project/{draw.one_of('src', 'lib', 'tests')}/{entity}"
    lines = "\n".join(
        f"    value_{n} = compute(value_{n - 1}, retries={n})" for n in range(1, draw.random.randint(3, 14))
    )
    arguments: dict[str, dict[str, Any]] = {
        "Edit": {"file_path": path, "old_string": lines, "new_string": lines.replace("compute", "recompute")},
        "Write": {"file_path": path, "content": f"def main():\n{lines}\n"},
        "Bash": {
            "command": f"python -m pytest -q {entity} && git commit -am 'touch {entity}'",
            "timeout": 120000,
        },
        "Read": {"file_path": path, "offset": draw.random.randint(0, 400), "limit": 200},
        "mcp__tracker__search": {"query": entity, "filters": {"state": ["open", "blocked"], "limit": 20}},
    }
    return {"tool": tool, "args": arguments[tool]}


def _failure_output(entity: str, draw: Draw) -> str:
    frames = "".join(
        f'  File "/home/dev/project/src/{entity}", line {draw.random.randint(1, 900)}, in step_{n}\n'
        f"    run(step={n})\n"
        for n in range(30)
    )
    return f"Traceback (most recent call last):\n{frames}RuntimeError: {entity} failed"[-OUTPUT_TAIL:]


def _coding(draw: Draw, compose: float, scenario: str, *, first_touch_only: bool) -> Session:
    me, task = draw.row(), draw.one_of(*_TASKS)
    scope, touched, asks = _scope(me, draw), set[str](), list[Ask]()
    for _ in range(draw.random.randint(6, 14)):
        entity = (
            draw.one_of(*me.entities) if draw.random.random() < 0.5 else draw.one_of(*draw.row().entities)
        )
        call = _tool_call(draw, entity)
        known = f"{call['tool']} {entity}"
        if first_touch_only and known in touched:
            continue
        touched.add(known)
        request: dict[str, Any] = {"action": call, "mode": _mode(draw, compose), "task": task, **scope}
        asks.append(_ask(scenario, request, _pause(draw, 1.0)))
        if draw.random.randrange(FAILS_ONE_IN) == 0:
            failed = {**request, "action": {**call, "output": _failure_output(entity, draw)}}
            asks.append(_ask(scenario, failed, _pause(draw, 0.3)))
    return tuple(asks)


def coding(draw: Draw, compose: float) -> Session:
    """A coding agent's session: an ask before each tool call, one more after a tool that failed."""
    return _coding(draw, compose, "coding", first_touch_only=False)


def first_touch(draw: Draw, compose: float) -> Session:
    """The same agent, behind a hook that asks only when the session first touches something."""
    return _coding(draw, compose, "first-touch", first_touch_only=True)


def support(draw: Draw, compose: float) -> Session:
    """A support agent: dotted tool names, ids of customers and tickets."""
    me = draw.row()
    scope, asks = _scope(me, draw), list[Ask]()
    for _ in range(draw.random.randint(3, 7)):
        dotted = [entity for entity in me.entities if "." in entity and "/" not in entity]
        tool = draw.one_of(*dotted, "crm.tickets.update", "billing.refunds.create", "stripe.charges.retrieve")
        args = {
            "ticket": f"T-{draw.random.randint(10_000, 99_999)}",
            "customer_id": f"cus_{draw.random.getrandbits(48):012x}",
            "reference": draw.one_of(*me.entities),
            "amount": draw.random.randint(100, 90_000),
        }
        request = {
            "action": {"tool": tool, "args": args},
            "mode": _mode(draw, compose),
            "task": "answer the customer and close the ticket",
            **scope,
        }
        asks.append(_ask("support", request, _pause(draw, 2.0)))
    return tuple(asks)


def groups(draw: Draw, compose: float) -> Session:
    """A reader of shared groups: several groups, no user."""
    me = draw.row()
    request = {
        "action": _tool_call(draw, draw.one_of(*me.entities)),
        "group_ids": list(draw.groups(4)),
        "mode": _mode(draw, compose),
    }
    return (_ask("groups", request, _pause(draw, 1.0)),)


def entities(draw: Draw, compose: float) -> Session:
    """A client that extracts identifiers itself."""
    me = draw.row()
    names = [*me.entities, *draw.row().entities][: draw.random.randint(1, 6)]
    request = {
        "entities": names,
        "mode": _mode(draw, compose),
        "include": ["lesson", "procedure"],
        **_scope(me, draw),
    }
    return (_ask("entities", request, _pause(draw, 1.0)),)


def miss(draw: Draw, compose: float) -> Session:
    """An agent on ground that nobody recorded anything about: the commonest case in practice."""
    entity = f"unseen_{draw.random.getrandbits(40):010x}.py"
    request = {"action": _tool_call(draw, entity), "mode": _mode(draw, compose), **_scope(draw.row(), draw)}
    return (_ask("miss", request, _pause(draw, 1.0)),)


def careless(draw: Draw, _compose: float) -> Session:
    """A client that gets it wrong; a target is right when it refuses."""
    entity = draw.one_of(*draw.row().entities)
    scoped: dict[str, Any] = {"user_id": "load-user-1", "mode": "retrieve"}
    wrong: list[bytes] = [
        orjson.dumps({"entities": [entity], "mode": "retrieve"}),
        orjson.dumps(scoped),
        orjson.dumps({**scoped, "entities": [entity], "mode": "fetch"}),
        orjson.dumps({**scoped, "entities": [entity], "include": ["fact"]}),
        orjson.dumps({**scoped, "entities": [entity], "task": "x" * 2001}),
        orjson.dumps({**scoped, "action": "Edit"}),
        b'{"user_id": "load-user-1", "entities": [',
    ]
    asks = [Ask("careless", "invalid", body, "invalid", _pause(draw, 1.0)) for body in wrong]
    asks.append(
        Ask(
            "careless",
            "invalid",
            orjson.dumps({**scoped, "entities": [entity]}),
            "unauthorised",
            _pause(draw, 1.0),
        )
    )
    return (draw.random.choice(asks),)


WRITERS: dict[str, Writer] = {
    "coding": coding,
    "first-touch": first_touch,
    "support": support,
    "groups": groups,
    "entities": entities,
    "miss": miss,
    "careless": careless,
}
