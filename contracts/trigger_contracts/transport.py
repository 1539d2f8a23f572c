"""HTTP and ROB: the path takes POST alone, and no body brings the target down.

A 5xx is held against a body only when that body draws it again while ordinary requests are served: a target
that fails now and then breaks ERR-3, not these.
"""

from __future__ import annotations

import json

from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.json_values import is_object
from trigger_contracts.promises import Broken, Unjudged, promise
from trigger_contracts.rough import no_json, rough_bodies, rough_shapes, rough_together
from trigger_contracts.run import Api, encode
from trigger_contracts.target import json_headers

_PATH = "paths./v1/memories/trigger"

#: By which some frameworks let a request speak of another method than its own.
_OVERRIDE = "X-HTTP-Method-Override"
#: A body of more bytes may be refused by hanging up before it was read.
_HUGE = 512 * 1024


@promise("HTTP-1", pointer=_PATH)
def only_post(api: Api) -> None:
    """No method but POST is served on the path; such a request draws a 4xx, never a 5xx."""

    def check(one: tuple[str, bool, bool]) -> None:
        method, with_body, overridden = one
        body = encode(api.plain()) if with_body else b""
        headers = [*json_headers(), (_OVERRIDE, "POST")] if overridden else None
        exchange = api.firm(lambda: api.call(body=body, method=method, headers=headers, kind=Kind.METHOD))
        status = exchange.status
        if status is None:
            raise Unjudged(f"{method} {api.why_not(exchange)}")
        if method == "OPTIONS" and status < 400:
            # A preflight may be answered; serving the endpoint's answer is something else.
            served = is_object(exchange.json) and "data" in exchange.json
            if not served and status < 300:
                api.saw()
                return
        if not 400 <= status < 500:
            raise Broken(f"{method} was answered {status}; expected a 4xx", exchange)
        api.saw()

    methods = ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    tries = [(method, with_body, False) for method in methods for with_body in (False, True)]
    # A method that another header speaks of is no method of the request.
    tries += [("TRACE", False, False), ("QUERY", True, False), ("GET", True, True), ("PUT", True, True)]
    api.each(tries, check)


@promise("ROB-1", pointer=f"{_PATH}.post.requestBody")
def nothing_breaks_it(api: Api) -> None:
    """No body whatever (generated, mutated, boundary, deep, huge, odd Unicode) draws a 5xx or kills the
    connection.
    """
    from trigger_contracts.generation import bodies

    api.run.memory["broken before"] = set(api.run.watch.findings)
    tries = [*no_json(), *rough_shapes(), *api.sample(rough_bodies(), 0.12)]
    tries += [
        (f"a body {one.origin}", encode(one.value | ({"mode": "retrieve"} if one.positive else {})))
        for one in bodies(api.run.options.seed, api.profile.generated)
        if is_object(one.value)
    ]
    tries += [
        (f"a body {one.origin}", json.dumps(one.value).encode())
        for one in bodies(api.run.options.seed, api.profile.generated)
        if not isinstance(one.value, dict)
    ]
    tries += _mutated(api)
    tries.append(
        (
            "a body of 1 MB",
            b'{"user_id":"u","entities":["x"],"mode":"retrieve","x":"' + b"y" * 1_000_000 + b'"}',
        )
    )
    read: list[Exchange] = api.run.memory.setdefault("read twice", [])
    api.each(tries, lambda one: read.append(withstands(api, *one)))
    known = next(({"entities": [one.trigger_entities[0]], **one.scope} for one in api.probes), None)
    api.each(rough_together(known), lambda one: _withstands_apart(api, *one))


def withstands(api: Api, what: str, body: bytes) -> Exchange:
    """One body, again when it seemed to do harm; the last answer to it."""
    ask = _as_ask(body)
    if ask is not None and ask.get("mode", "compose") == "compose" and not api.may_compose():
        ask = None  # what comes back is not looked at; that something does is what matters here
    kind = Kind.ODD if ask is not None else Kind.RAW
    exchange = api.call(ask, body=body, kind=kind, owner=api.name)
    if _harmless(exchange):
        api.saw()
        return exchange
    for _ in range(2):
        ordinary = api.call(api.plain())
        if ordinary.trouble:
            ordinary = api.call(api.plain())
        again = api.call(ask, body=body, kind=kind, owner=api.name)
        if _harmless(again):
            api.saw()
            return again
        if ordinary.trouble and not (ordinary.reply is None and exchange.reply is None):
            raise Unjudged(f"the target fails on everything ({ordinary.came()})")
    if exchange.reply is None and (len(body) > _HUGE):
        return exchange
    harm = f"is answered {exchange.status}" if exchange.reply else f"gets no answer ({exchange.failure})"
    raise Broken(f"{what} {harm}", exchange)


def _withstands_apart(api: Api, what: str, body: bytes) -> None:
    """Many odd fields in one body; when it does harm, each by itself, so that the smallest is shown."""
    try:
        withstands(api, what, body)
    except Broken:
        api.each(
            [one for one in rough_bodies() if one[0].startswith(what)], lambda one: withstands(api, *one)
        )
        raise


def _harmless(exchange: Exchange) -> bool:
    return not exchange.trouble


def _as_ask(body: bytes) -> JsonObject | None:
    """The request that a body is, when the contract allows it: its answer is then judged by form as well."""
    from trigger_contracts.validation import request_violations

    if len(body) > 20_000:
        return None
    try:
        value = json.loads(body)
        fits = is_object(value) and not request_violations(value)
    except (ValueError, RecursionError, TypeError):
        return None
    return value if fits else None


def _mutated(api: Api) -> list[tuple[str, bytes]]:
    """A valid body with bytes changed, dropped, doubled."""
    found: list[tuple[str, bytes]] = []
    for _ in range(max(12, api.profile.generated // 2)):
        body = bytearray(
            encode(api.plain(task="tidy up", action={"tool": "Edit", "args": {"a": [1, {"b": None}]}}))
        )
        for _ in range(api.rng.randint(1, 3)):
            at = api.rng.randrange(len(body))
            match api.rng.randrange(4):
                case 0:
                    body[at] = api.rng.randrange(256)
                case 1:
                    del body[at : at + api.rng.randint(1, 8)]
                case 2:
                    body[at:at] = body[at : at + 6]
                case _:
                    body[at:at] = api.rng.choice(
                        (b"\x00", b"\xff", b'"', b"{", b"]", b"\\", b"\\u", b",", b"1e999")
                    )
        found.append(("a mutated body", bytes(body)))
    return found


def soundness(api: Api) -> dict[str, frozenset[str]]:
    """What ordinary requests bring while nothing rough was sent yet; taken once, at the start of a run."""
    memory = api.run.memory
    if "sound" not in memory:
        asks: list[JsonObject] = [
            {"entities": list(one.trigger_entities), **one.scope} for one in api.probes[:12]
        ]
        asks += [{"entities": [api.token("symbol")], "user_id": api.token("user")}]
        memory["sound"] = {json.dumps(ask): frozenset(api.rows({**ask, "mode": "retrieve"})) for ask in asks}
    found: dict[str, frozenset[str]] = memory["sound"]
    return found


@promise("ROB-2", pointer=f"{_PATH}.post")
def still_sound_afterwards(api: Api) -> None:
    """The target still answers correctly after all of it."""
    before = soundness(api)
    for _, body in api.sample(rough_bodies(), 0.15, least=20):
        api.call(body=body, kind=Kind.RAW)
    for text, rows in before.items():
        ask: JsonObject = {**json.loads(text), "mode": "retrieve"}
        exchange = api.call(ask)
        for _ in range(3):
            if not exchange.trouble:
                break
            exchange = api.call(ask)
        if exchange.status in (401, 403) or (exchange.status is not None and 300 <= exchange.status < 400):
            raise Unjudged(f"a valid request {api.why_not(exchange)}")
        if exchange.status != 200 or not isinstance(exchange.json, dict):
            raise Broken(f"after rough bodies an ordinary request is answered {exchange.came()}", exchange)
        _same_as_before(api, exchange, rows)
        api.saw()


def _same_as_before(api: Api, exchange: Exchange, rows: frozenset[str]) -> None:
    ask = exchange.request.ask or {}
    if frozenset(api.run.identify(api.read(exchange))) != rows and all(
        frozenset(api.rows(ask)) != rows for _ in range(3)
    ):
        raise Broken("after rough bodies the same request brings other rows than before", exchange)
    said = api.read(exchange).body.get("mode")
    if said == "compose" and "MODE-1" not in api.run.memory.get("broken before", ()):
        raise Broken("after rough bodies a retrieve request is answered as compose", exchange)
