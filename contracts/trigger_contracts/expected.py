"""What a request must draw: a 422 or a 200; and what says nothing about its fields.

A refused key, a gateway or a redirect is another promise's business, and judges no field.
"""

from __future__ import annotations

from typing import Any

from trigger_contracts.exchange import Exchange, JsonObject, Kind
from trigger_contracts.promises import Broken, Unjudged
from trigger_contracts.run import Api, is_edge, without


def refused(api: Api, ask: JsonObject, what: str) -> None:
    """The request must draw a 422."""
    exchange = api.firm(lambda: api.call(ask, kind=Kind.INVALID))
    settle(api, exchange, what)
    if exchange.status != 422:
        raise Broken(f"{what} was answered {exchange.came()}; expected 422", exchange)
    api.saw()


def accepted(api: Api, ask: JsonObject, what: str, **how: Any) -> Exchange:
    """The request must be answered 200."""
    exchange = api.call(ask, **how)
    for _ in range(3):
        if not exchange.trouble:
            break
        exchange = api.call(ask, **how)
    settle(api, exchange, what)
    if exchange.trouble:
        raise Unjudged(f"a valid request {api.why_not(exchange)}")
    if exchange.status is not None and exchange.status < 300 and exchange.status != 200:
        raise Unjudged(f"a valid request was answered {exchange.status} (see ERR-3)")
    if exchange.status != 200:
        raise Broken(f"{what} was answered {exchange.came()}; expected 200", exchange)
    api.saw()
    return exchange


def settle(api: Api, exchange: Exchange, what: str) -> None:
    """What says nothing about the fields: a refused key, a gateway, a redirect."""
    status = exchange.status
    if status == 401 or is_edge(exchange) or (status is not None and 300 <= status < 400):
        raise Unjudged(f"{what}: the request {api.why_not(exchange)}")


def acted(api: Api) -> JsonObject:
    """A request whose signal is an action: models and branches of its own may read it."""
    action = {"tool": api.token("tool"), "args": {"k": api.token("value")}, "output": "done"}
    return without(api.plain(action=action), "entities")
