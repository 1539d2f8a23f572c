"""A toy of the endpoint whose behaviour under load is known, all of it from the command line.

`python -m tests.load.toy --delay 0.01 --freeze-at 5 --freeze-for 2` prints its URL and serves until it is
killed. It answers as the contract says unless told otherwise; time counts from the first request. `--log`
writes one line a request: the seconds at which it was received and answered.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import time
from pathlib import Path
from typing import TextIO

from trigger_contracts.validation import request_violations

KEY = "xtk_toy_key_for_tests"
PATH = "/v1/memories/trigger"

_ROW: dict[str, object] = {
    "id": "5f0c2c1e-8c7e-4b5a-9a53-3a0b6f0f2a11",
    "object": "memory",
    "type": "lesson",
    "text": "Retry the export once; the second attempt is idempotent.",
    "user_id": "load-user-1",
    "group_ids": [],
    "categories": [],
    "score": None,
    "details": {
        "trigger_entities": ["ERR-1000"],
        "matched_on": ["ERR-1000"],
        "because": None,
        "confidence": None,
    },
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}


_FAULTS = ("500", "html", "redirect", "reset", "cut", "mode", "row-type", "schema", "hang")


class Toy:
    """The server's behaviour and its state."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.faults = 0
        self.began: float | None = None
        self.served = 0
        self.lane = asyncio.Lock()
        self.window = (0.0, 0)
        self.log: TextIO | None = None
        if options.log:
            self.log = Path(options.log).open("w", buffering=1)  # noqa: SIM115 - open while it serves

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self.exchange(reader, writer):
                pass
        writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        received = time.monotonic()
        self.began = self.began or received
        start, *lines = head.split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.served += 1
        status, kind, content, more = await self.answer(start.split()[1], headers, body)
        if kind == "reset":
            writer.transport.abort()
            return False
        cut = kind == "cut"
        extra = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        media = "text/html" if kind == "html" else "application/json"
        top = f"HTTP/1.1 {status} X\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n{extra}\r\n"
        writer.write(top.encode() + (content[: len(content) // 2] if cut else content))
        await writer.drain()
        if self.log:
            self.log.write(f"{received:.6f} {time.monotonic():.6f}\n")
        return not cut

    async def answer(
        self, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, str, bytes, dict[str, str]]:
        options, now = self.options, time.monotonic()
        assert self.began is not None
        since = now - self.began
        if options.die_at and since >= options.die_at:
            os._exit(1)
        if options.freeze_for and options.freeze_at <= since < options.freeze_at + options.freeze_for:
            await asyncio.sleep(options.freeze_at + options.freeze_for - since)
        if options.per_second:
            async with self.lane:
                await asyncio.sleep(1 / options.per_second)
        if options.delay:
            await asyncio.sleep(options.delay)
        if not path.endswith(PATH):
            return 404, "", _error("not_found"), {}
        if headers.get("x-api-key") != KEY:
            return 401, "", _error("unauthorized"), {}
        if options.limit:
            second, used = self.window
            second, used = (second, used + 1) if now - second < 1 else (now, 1)
            self.window = (second, used)
            if used > options.limit:
                return 429, "", _error("rate_limited"), {"Retry-After": "1"}
        if options.fault_every and self.served % options.fault_every == 0:
            self.faults += 1
            kind = _FAULTS[self.faults % len(_FAULTS)] if options.fault == "each" else options.fault
            if kind == "hang":
                await asyncio.sleep(30)
            return fault(kind)
        try:
            asked = json.loads(body)
        except ValueError:
            return (
                422,
                "",
                json.dumps({"detail": [{"type": "json_invalid", "loc": ["body", 0], "msg": "x"}]}).encode(),
                {},
            )
        if request_violations(asked):
            return 422, "", _error("invalid_request"), {}
        return 200, "", _found(asked.get("mode", "compose")), {}


def fault(kind: str) -> tuple[int, str, bytes, dict[str, str]]:
    match kind:
        case "html":
            return 200, "html", b"<!doctype html><p>It works!</p>", {}
        case "redirect":
            return 307, "", b"", {"Location": "/elsewhere"}
        case "reset" | "cut":
            return 200, kind, _found("retrieve"), {}
        case "mode":
            return 200, "", _found("search"), {}
        case "row-type":
            return 200, "", _found("retrieve").replace(b'"lesson"', b'"fact"'), {}
        case "schema":
            return 200, "", _found("retrieve").replace(b'"object": "memory"', b'"object": 7'), {}
        case _:
            return 500, "", _error("trigger_failed"), {}


def _error(code: str) -> bytes:
    return json.dumps({"detail": {"code": code, "message": f"the toy says {code}"}}).encode()


def _found(mode: str) -> bytes:
    compose = mode == "compose"
    return json.dumps(
        {
            "object": "search",
            "mode": mode,
            "data": [_ROW],
            "context": "## Lessons\n- **[LESSON]** Retry the export once." if compose else None,
            "stage_timings": {"recall": 0.0},
            "context_selection_applied": compose,
        }
    ).encode()


async def serve(options: argparse.Namespace) -> None:
    server = await asyncio.start_server(
        Toy(options).connection, "127.0.0.1", options.port, backlog=1024, limit=1 << 22
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--freeze-at", type=float, default=0.0)
    parser.add_argument("--freeze-for", type=float, default=0.0)
    parser.add_argument("--per-second", type=float, default=0.0, help="one lane that serves so many a second")
    parser.add_argument("--limit", type=int, default=0, help="429 beyond so many a second")
    parser.add_argument("--fault", default="500")
    parser.add_argument("--fault-every", type=int, default=0)
    parser.add_argument("--die-at", type=float, default=0.0)
    parser.add_argument("--log")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
