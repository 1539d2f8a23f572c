"""The FastAPI application around a `Behaviour`: bytes to `Call`, `Reply` to bytes.

Whatever the router itself refuses (path, method) goes through the same behaviour, so that errors look alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from tests.servers.behaviour import Behaviour, Visit, encode
from tests.servers.messages import Call, Cut, Refusal, Reply

ENDPOINT = "/v1/memories/trigger"

_REFUSED = {404: "not_found", 405: "method_not_allowed"}


def application(behaviour: Behaviour) -> FastAPI:
    """The service, its one route served by `behaviour`."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)

    async def trigger(request: Request) -> Response:
        try:
            return respond(await behaviour.handle(await _call(request)))
        except Cut:
            return sever(request)

    # The body is read by `behaviour`, so there is nothing for FastAPI to inject: a plain route costs half.
    route = Route(ENDPOINT, trigger)
    route.methods = set(behaviour.methods)
    app.router.routes.append(route)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        code = _REFUSED.get(error.status_code, "invalid_request")
        refusal = Refusal(error.status_code, code, str(error.detail), headers=error.headers)
        visit = Visit(await _call(request))
        return respond(behaviour.finish(visit, behaviour.refuse(refusal)))

    return app


async def _call(request: Request) -> Call:
    peer = request.client
    return Call(
        method=request.method,
        headers=dict(reversed(request.headers.items())),  # the first of repeated headers wins
        body=await request.body(),
        query=dict(request.query_params),
        connection=f"{peer.host}:{peer.port}" if peer else "",
    )


def respond(reply: Reply) -> Response:
    """The reply as bytes."""
    body = reply.content if isinstance(reply.content, bytes) else encode(reply.content)
    if not reply.streamed:
        response = Response(body, reply.status, reply.headers, reply.media_type)
        for name, value in reply.repeated:
            response.headers.append(name, value)
        return response

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 256):
            yield body[start : start + 256]
            await asyncio.sleep(0)

    return StreamingResponse(pieces(), reply.status, reply.headers, reply.media_type)


def sever(request: Request) -> Response:
    """Close the connection under the request; what is returned goes nowhere."""
    cycle: Any = getattr(request.receive, "__self__", None)  # uvicorn's request, which holds the transport
    cycle.transport.abort()
    return Response(status_code=500)
