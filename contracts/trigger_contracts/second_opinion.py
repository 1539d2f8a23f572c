"""What Schemathesis's own response checks say of answers, by the effective contract.

A second reading of what `form` and `refused` read: another validator, other code. It is asked where bodies
are drawn from the schema (a quick look has no use for the second that it takes to load), and only where the
first reading found nothing: what has a promise of its own is held against that one alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any, cast

from trigger_contracts.document import ENDPOINT, effective
from trigger_contracts.exchange import Exchange
from trigger_contracts.promises import Broken
from trigger_contracts.run import Api

#: More different answers than this teach nothing.
_MOST_READ = 200


def read_again(api: Api, status: int) -> None:
    """Raise `Broken` where Schemathesis objects to an answer of that status that was sent to a drawn body."""
    if api.profile.generated and not api.run.watch.findings:
        objected = objection(api.run.memory.get("read twice", ()), status)
        if objected:
            raise Broken(*objected)


def objection(exchanges: Iterable[Exchange], status: int) -> tuple[str, Exchange] | None:
    """The first answer of that status to which Schemathesis objects, and in what words."""
    read: set[bytes] = set()
    for exchange in exchanges:
        reply = exchange.reply
        if reply is None or reply.status != status or reply.body in read:
            continue
        if len(read) >= _MOST_READ:
            break
        read.add(reply.body)
        words = _objection(exchange)
        if words:
            return words, exchange
    return None


def _objection(exchange: Exchange) -> str | None:
    import requests
    from schemathesis.core.failures import FailureGroup
    from schemathesis.core.transport import Response

    operation, checks = _judge(json.dumps(effective()))
    reply = exchange.reply
    if reply is None:
        return None
    headers: dict[str, list[str]] = {}
    for name, value in reply.headers:
        headers.setdefault(name.lower(), []).append(value)
    response = Response(
        status_code=reply.status,
        headers=headers,
        content=reply.body,
        request=requests.Request("POST", f"http://target{ENDPOINT}").prepare(),  # the real one holds a key
        elapsed=0.0,
        verify=True,
    )
    case = operation.Case(media_type="application/json")
    try:
        case.validate_response(response, checks=checks)
    except FailureGroup as group:
        first = group.exceptions[0]
        said = str(getattr(first, "message", "")).strip().partition("\n")[0]
        return f"Schemathesis: {getattr(first, 'title', type(first).__name__)}: {said}"
    return None


@functools.cache
def _judge(contract: str) -> tuple[Any, list[Any]]:
    """The operation of a contract, and the checks that read an answer."""
    import schemathesis
    from schemathesis.config import SchemathesisConfig
    from schemathesis.specs.openapi import checks

    known = cast("Any", checks)  # generic over what Schemathesis leaves unsaid
    schema = schemathesis.openapi.from_dict(json.loads(contract), config=SchemathesisConfig())
    operation = cast("Any", schema[ENDPOINT]["POST"])
    return operation, [known.content_type_conformance, known.response_schema_conformance]
