"""VAL-7: what is no JSON object, or is not sent as one, is refused.

A `+json` type or an absent one may be read as JSON; types beside text and forms are judged neither way.
"""

from __future__ import annotations

import json

from trigger_contracts.exchange import Kind
from trigger_contracts.expected import settle
from trigger_contracts.promises import Broken, promise
from trigger_contracts.rough import no_json
from trigger_contracts.run import Api
from trigger_contracts.target import JSON, json_headers


@promise("VAL-7", pointer="paths./v1/memories/trigger.post.requestBody")
def no_json_object(api: Api) -> None:
    """A body that is no JSON, no object, empty, or sent as `text/plain` or a form draws a 4xx, never a 5xx
    or a 200.
    """
    plain = [pair for pair in json_headers() if pair[0] != "Content-Type"]
    valid = json.dumps(api.plain()).encode()
    tries = [(f"a body that is {what}", body, JSON) for what, body in no_json()]
    media_types = (
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "Text/Plain",
        "multipart/form-data; boundary=x",
    )
    tries += [(f"a valid body sent as {media}", valid, media) for media in media_types]
    tries.append(("a form", b"user_id=u&entities=x&mode=retrieve", "application/x-www-form-urlencoded"))
    part = b'--x\r\nContent-Disposition: form-data; name="user_id"\r\n\r\nu\r\n--x--\r\n'
    tries.append(("a multipart form", part, "multipart/form-data; boundary=x"))

    def check(one: tuple[str, bytes, str]) -> None:
        what, body, media = one
        headers = [*plain, ("Content-Type", media)]
        exchange = api.firm(lambda: api.call(body=body, headers=headers, kind=Kind.RAW))
        settle(api, exchange, what)
        if exchange.status is None or not 400 <= exchange.status < 500:
            raise Broken(f"{what} was answered {exchange.came()}; expected a 4xx", exchange)
        api.saw()

    api.each(tries, check)
