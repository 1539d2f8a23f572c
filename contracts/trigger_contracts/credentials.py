"""AUTH: who is let in, and that nobody else is.

Judged by status and error code; whether a refusal has the documented shape is the business of ERR-1, except
where one kind of refusal alone lacks it. Every request is otherwise valid, so that nothing but the key
decides.
"""

from __future__ import annotations

import base64
import string

from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.near import near_keys
from trigger_contracts.promises import Broken, NotExercised, Unjudged, promise
from trigger_contracts.run import Api, is_edge, without

_POINTER = "paths./v1/memories/trigger.post.responses.401"
Credential = tuple[tuple[str, str], tuple[str, str]]

#: A refusal is asked for this often: one that lets every tenth caller in is none.
_REPEATS = 12


@promise("AUTH-1", pointer=_POINTER)
def no_credentials(api: Api) -> None:
    """A request without credentials is refused: 401, an `ErrorEnvelope` with code `unauthorized`."""
    for turn in range(_REPEATS):
        _refused(api, [], "a request without credentials", turn)
    empty_body = api.firm(lambda: api.call({}, kind=Kind.KEYLESS, credentials=[]))
    if empty_body.status is not None and empty_body.status < 400:
        raise Broken(f"an invalid request without credentials was answered {empty_body.status}", empty_body)


@promise("AUTH-2", pointer=_POINTER)
def unknown_key(api: Api) -> None:
    """An unknown key in `x-api-key` is refused: 401, an `ErrorEnvelope` with code `unauthorized`."""
    for turn, key in enumerate(_strangers(api)):
        _refused(api, [_api_key(key, "an unknown key")], "an unknown key in x-api-key", turn)


@promise("AUTH-3", pointer=_POINTER)
def unknown_bearer(api: Api) -> None:
    """An unknown key as `Bearer` is refused: 401, an `ErrorEnvelope` with code `unauthorized`."""
    for turn, key in enumerate(_strangers(api)):
        _refused(api, [_bearer(key, "an unknown key")], "an unknown key as Bearer", turn)


@promise("AUTH-4", pointer="components.securitySchemes")
def either_header(api: Api) -> None:
    """A valid key is accepted in `x-api-key` and as `Bearer`, and both see the same rows."""
    asks = [api.plain()]
    asks += [
        {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
        for one in api.sample(api.probes, least=4)
    ]
    refusals: dict[str, Exchange] = {}
    for ask in asks:
        seen: dict[str, tuple[str, ...]] = {}
        for style in ("x-api-key", "bearer"):
            if style in refusals:
                continue
            exchange = _settled(api, ask, style)
            if exchange.status in (401, 403) and not is_edge(exchange):
                refusals[style] = exchange
                continue
            seen[style] = api.run.identify(api.read(exchange))
            api.saw()
        if len(seen) == 2 and set(seen["x-api-key"]) != set(seen["bearer"]):
            again = {style: set(api.rows(ask, style=style)) for style in ("x-api-key", "bearer", "x-api-key")}
            if again["x-api-key"] == set(seen["x-api-key"]) and again["x-api-key"] != again["bearer"]:
                raise Broken(
                    (
                        f"x-api-key sees {len(seen['x-api-key'])} rows, "
                        f"Bearer with the same key {len(seen['bearer'])}"
                    ),
                    api.call(ask, style="bearer"),
                )
    for style, exchange in refusals.items():
        how = "in x-api-key" if style == "x-api-key" else "as Bearer"
        hint = "; is it the right key for this target?" if len(refusals) == 2 else ""
        raise Broken(f"the valid key is refused {how} with {exchange.status}{hint}", exchange)


@promise("AUTH-5", pointer=_POINTER)
def near_miss_keys(api: Api) -> None:
    """Near-miss keys (case changed, prefix, suffix, empty, `Basic` in place of `Bearer`) are refused."""
    key = api.run.options.api_key
    if not key:
        raise NotExercised("no key was given", "inputs")
    tries: list[tuple[str, Credential]] = []
    others = (api.run.options.other_api_key, api.run.options.limited_api_key)
    name = api.run.options.key_name
    for what, (miss, shell) in near_keys(key, name).items():
        if not miss or miss == key or miss in others:
            continue
        tries.append((f"the key {what}, in x-api-key", _api_key(miss, shell)))
        tries.append((f"the key {what}, as Bearer", _bearer(miss, shell)))
    tries.append(("an empty x-api-key", _api_key("", "")))
    tries.append(("an empty Bearer", (("Authorization", "Bearer "), ("Authorization", "Bearer "))))
    tries.append(("a Bearer without a key", (("Authorization", "Bearer"), ("Authorization", "Bearer"))))
    tries.append(
        ("the key as Basic", (("Authorization", f"Basic {key}"), ("Authorization", f"Basic ${name}")))
    )
    for what, pair, shell in (("user", f"{key}:", f"${name}:"), ("password", f":{key}", f":${name}")):
        coded = base64.b64encode(pair.encode()).decode()
        shown = f"Basic $(printf %s \"{shell}\" | base64 | tr -d '\\n')"
        tries.append(
            (
                f"the key as the {what} of Basic",
                (("Authorization", f"Basic {coded}"), ("Authorization", shown)),
            )
        )

    def check(one: tuple[str, Credential]) -> None:
        what, credential = one
        exchange = api.firm(lambda: api.call(api.plain(), kind=Kind.KEYLESS, credentials=[credential]))
        if exchange.trouble:
            raise Unjudged(f"{what} drew {exchange.came()}")
        if exchange.status is not None and exchange.status < 400:
            raise Broken(f"{what} is accepted ({exchange.status})", exchange)
        api.saw()

    api.each(tries, check)


def _strangers(api: Api) -> list[str]:
    """Keys that nobody has: of any look, and of the look of the good one."""
    key = api.run.options.api_key
    letters = string.ascii_letters + string.digits
    found = [api.token("unknown-key") for _ in range(_REPEATS - 4)]
    for keep in (len(key) // 2, 4, 0):
        tail = "".join(api.rng.choice(letters) if one.isalnum() else one for one in key[keep:])
        found.append(key[:keep] + tail + ("" if len(key) - keep > 6 else api.token("k")[-8:]))
    found += ["test", "null", "undefined", "0"]
    taken = (key, api.run.options.other_api_key, api.run.options.limited_api_key)
    return [one for one in found if one not in taken]


def _api_key(key: str, shown: str) -> Credential:
    return ("x-api-key", key), ("x-api-key", shown)


def _bearer(key: str, shown: str) -> Credential:
    return ("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {shown}")


def _settled(api: Api, ask: dict[str, object], style: str) -> Exchange:
    exchange = api.call(ask, style=style)
    for _ in range(3):
        if not exchange.trouble:
            break
        exchange = api.call(ask, style=style)
    return exchange


def _refused(api: Api, credentials: list[Credential], what: str, turn: int) -> None:
    """Sends between two requests of the good key, on the same connection: what was let in before must not
    count.
    """
    ask = _keyless_ask(api, turn)
    if ask.get("mode") == "retrieve":
        api.call(ask)
    exchange = api.firm(lambda: api.call(ask, kind=Kind.KEYLESS, credentials=credentials))
    if exchange.reply is None:
        raise Unjudged(f"{what} drew {exchange.came()}")
    if is_edge(exchange):
        raise Unjudged(f"{what} {api.why_not(exchange)}")
    if exchange.status != 401:
        raise Broken(f"{what} was answered {exchange.status}; expected 401", exchange)
    if exchange.code is not None and exchange.code != "unauthorized":
        raise Broken(f"{what} was refused with code {exchange.code!r}; expected 'unauthorized'", exchange)
    api.saw()


def _keyless_ask(api: Api, turn: int) -> JsonObject:
    """Requests of every sort by turns, lest a door stands open for one: signals, axes, modes."""
    known: JsonObject = {}
    if api.probes:
        one = api.rng.choice(api.probes)
        known = {"entities": list(one.trigger_entities), **one.scope, "mode": "retrieve"}
    sorts: list[JsonObject] = [
        api.plain(),
        known or api.plain(),
        without(api.plain(action={"tool": api.token("tool"), "args": {"k": "v"}}), "entities"),
        without(api.plain(group_ids=[api.token("grp")]), "user_id"),
        without(known, "mode") or without(api.plain(), "mode"),
        without(api.plain(agent_id=api.token("agent"), include=["lesson"]), "user_id"),
        without(api.plain(app_id=api.token("app"), task="tidy up"), "user_id"),
    ]
    ask = sorts[turn % len(sorts)]
    # Whoever is let in composes on the operator's account: only with leave.
    return ask if "mode" in ask or api.may_compose() else {**ask, "mode": "retrieve"}
