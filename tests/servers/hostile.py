"""Targets that are no service at all: sockets that hang, break off, or answer with something else.

Each is a few bytes or none; a verifier must end with a verdict or a clear line, and with a whole report.
Used in process (`with hostile("cut") as url:`) or as `python -m tests.servers.hostile --kind cut`.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import html
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.servers.behaviour import encode

_PATIENCE = 5.0

_ENVELOPE_401 = {"detail": {"code": "unauthorized", "message": "missing or invalid API key"}}
_ENVELOPE_429 = {"detail": {"code": "rate_limited", "message": "too many requests"}}
_NOTHING: dict[str, object] = {
    "object": "search",
    "mode": "compose",
    "data": [],
    "context": None,
    "stage_timings": {},
    "context_selection_applied": False,
}
#: What a report writer has to survive: controls, a non-character, the end of a CDATA section, markup.
CONTROLS = 'boom \x12 \x00 \ufffe ]]> <&"'


@dataclass(slots=True)
class Asked:
    """One request as it came over the socket."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Target:
    """A listening socket and what it does to each connection."""

    kind: str
    sock: socket.socket
    ended: threading.Event = field(default_factory=threading.Event)
    answered: int = 0

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.meet, args=(connection,), daemon=True).start()

    def meet(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_PATIENCE)
            KINDS[self.kind](self, connection)

    def stop(self) -> None:
        self.ended.set()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def _requests(connection: socket.socket) -> Iterator[Asked]:
    """The requests of one connection, each read to its end."""
    with connection.makefile("rb") as stream:
        while line := stream.readline():
            headers: dict[str, str] = {}
            while (header := stream.readline().strip()) != b"":
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
            if headers.get("transfer-encoding", "").lower() == "chunked":
                body = b""
                while size := int(stream.readline().partition(b";")[0], 16):
                    body += stream.read(size)
                    stream.readline()
                stream.readline()
            else:
                body = stream.read(int(headers.get("content-length", "0")))
            yield Asked(line.decode("latin-1").strip(), headers, body)


def _reply(status: str, body: bytes, media_type: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {media_type}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _answers(make: Callable[[Asked], bytes]) -> Callable[[Target, socket.socket], None]:
    """An answer made from each request."""

    def meet(target: Target, connection: socket.socket) -> None:
        for asked in _requests(connection):
            target.answered += 1
            connection.sendall(make(asked))

    return meet


def _always(answer: bytes) -> Callable[[Target, socket.socket], None]:
    """The same answer to everything."""
    return _answers(lambda _: answer)


def _hang(target: Target, connection: socket.socket) -> None:
    target.ended.wait()


def _reset(target: Target, connection: socket.socket) -> None:
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _close(target: Target, connection: socket.socket) -> None:
    next(_requests(connection), None)


def _cut(target: Target, connection: socket.socket) -> None:
    next(_requests(connection), None)
    whole = _reply("200 OK", encode(_NOTHING))
    connection.sendall(whole[:-20])


def _stalled_body(target: Target, connection: socket.socket) -> None:
    next(_requests(connection), None)
    connection.sendall(_reply("200 OK", encode(_NOTHING))[:-20])
    target.ended.wait()


def _garbage(target: Target, connection: socket.socket) -> None:
    next(_requests(connection), None)
    connection.sendall(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")


def _dies_midway(target: Target, connection: socket.socket) -> None:
    """Forty answers, each slower than the last, then nothing listens any more."""
    for _ in _requests(connection):
        target.answered += 1
        if target.answered > 40:
            target.stop()
            return
        target.ended.wait(target.answered / 1000)
        connection.sendall(_reply("200 OK", encode(_NOTHING)))


def _hangs_midway(target: Target, connection: socket.socket) -> None:
    """Forty answers, then none: the socket stays open."""
    for _ in _requests(connection):
        target.answered += 1
        if target.answered > 40:
            target.ended.wait()
            return
        connection.sendall(_reply("200 OK", encode(_NOTHING)))


def _echo(asked: Asked) -> bytes:
    """The key of the caller, plain in the message and a header, and once more spelt in JSON escapes."""
    key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "")
    escaped = "".join(f"\\u{ord(each):04x}" for each in key)
    detail = json.dumps({"code": "trigger_failed", "message": f"unknown key {key}"})
    body = f'{{"detail": {detail}, "again": "{escaped}"}}'
    return _reply("500 Internal Server Error", body.encode(), X_Debug_Key=key)


def _echo_spelt(asked: Asked) -> bytes:
    """The key in every spelling that a debugging service may print, in a compressed body and in headers."""
    key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").partition(" ")[2]
    spelt = {
        "base64": base64.b64encode(f"user:{key}".encode()).decode(),
        "base64url": base64.urlsafe_b64encode(key.encode()).decode(),
        "hex": key.encode().hex(),
        "html": html.escape(key),
        "entities": "".join(f"&#{ord(each)};" for each in key),
        "percent": quote(key, safe=""),
        "twice": quote(quote(key, safe=""), safe=""),
        "backwards": key[::-1],
        "json": json.dumps(json.dumps({"key": key})),
        "cut": f"{key[: len(key) // 2 + 1]}...",
    }
    body = gzip.compress(
        json.dumps({"detail": {"code": "trigger_failed", "message": "no"}, **spelt}).encode()
    )
    shown = {
        f"X_{name}": value for name, value in spelt.items() if name in ("base64", "percent", "backwards")
    }
    return _reply("500 Internal Server Error", body, Content_Encoding="gzip", **shown)


def _trickle(target: Target, connection: socket.socket) -> None:
    """An answer byte by byte, each just before patience ends, and never the last."""
    next(_requests(connection), None)
    for each in _reply("200 OK", encode(_NOTHING))[:-1]:
        connection.sendall(bytes([each]))
        if target.ended.wait(0.2):
            return


def _endless(target: Target, connection: socket.socket) -> None:
    """A body that has no end, as fast as it is taken."""
    next(_requests(connection), None)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while not target.ended.is_set():
        connection.sendall(b" " * 65536)


def _resets_midway(target: Target, connection: socket.socket) -> None:
    """Every third answer breaks off in the middle of its body with a reset."""
    for _ in _requests(connection):
        target.answered += 1
        whole = _reply("200 OK", encode(_NOTHING))
        if target.answered % 3:
            connection.sendall(whole)
            continue
        connection.sendall(whole[:-20])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return


KINDS: dict[str, Callable[[Target, socket.socket], None]] = {
    "hang": _hang,
    "reset": _reset,
    "close": _close,
    "cut": _cut,
    "stalled-body": _stalled_body,
    "garbage": _garbage,
    "dies-midway": _dies_midway,
    "hangs-midway": _hangs_midway,
    "resets-midway": _resets_midway,
    "trickle": _trickle,
    "endless": _endless,
    "echoes-key": _answers(_echo),
    "echoes-key-spelt": _answers(_echo_spelt),
    "bomb": _always(_reply("200 OK", gzip.compress(b" " * (64 << 20)), Content_Encoding="gzip")),
    "deep-json": _always(_reply("200 OK", b"[" * 200_000 + b"]" * 200_000)),
    "deep-422": _always(_reply("422 Unprocessable Entity", b'{"detail":' * 50_000 + b"1" + b"}" * 50_000)),
    "header-flood": _always(_reply("200 OK", encode(_NOTHING), **{f"X_{n}": "y" for n in range(200)})),
    "odd-status": _always(_reply("299 Strange", encode(_NOTHING))),
    "status-999": _always(_reply("999 Beyond", encode(_NOTHING))),
    "retry-forever": _always(
        _reply("429 Too Many Requests", encode(_ENVELOPE_429), Retry_After="99999999999999999999")
    ),
    "retry-never": _always(_reply("429 Too Many Requests", encode(_ENVELOPE_429), Retry_After="0")),
    "no-json": _always(_reply("200 OK", b"{'object': 'search', 'data': [")),
    "html-200": _always(_reply("200 OK", b"<!doctype html><h1>Welcome</h1>", "text/html")),
    "controls-500": _always(_reply("500 Internal Server Error", CONTROLS.encode(), "text/plain")),
    "binary-500": _always(_reply("500 Internal Server Error", bytes(range(256)))),
    "edge-403": _always(
        _reply("403 Forbidden", b"<html><h1>Access denied</h1></html>", "text/html", Server="edge")
    ),
    "bad-gateway": _always(_reply("502 Bad Gateway", b"<html>502</html>", "text/html")),
    "redirect": _always(
        _reply("307 Temporary Redirect", b"", Location="https://127.0.0.1:9/v1/memories/trigger")
    ),
    "not-found": _always(_reply("404 Not Found", b'{"detail":"Not Found"}')),
    "401-to-everything": _always(_reply("401 Unauthorized", encode(_ENVELOPE_401))),
    "429-to-everything": _always(
        _reply(
            "429 Too Many Requests",
            encode(_ENVELOPE_429),
            Retry_After="30",
            RateLimit_Limit="5",
            RateLimit_Remaining="0",
            RateLimit_Reset="30",
        )
    ),
    "200-to-everything": _always(_reply("200 OK", encode(_NOTHING))),
    "500-to-everything": _always(_reply("500 Internal Server Error", b'{"detail":"oops"}')),
}


@contextmanager
def hostile(kind: str) -> Iterator[str]:
    """The URL of a hostile target, until the block ends."""
    target = Target(kind, socket.create_server(("127.0.0.1", 0)))
    port = target.sock.getsockname()[1]
    thread = threading.Thread(target=target.run, daemon=True, name=f"hostile {kind}")
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        target.stop()
        thread.join(_PATIENCE)


@contextmanager
def nothing_listens() -> Iterator[str]:
    """The URL of a port that refuses connections for as long as the block lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.hostile", description="A hostile target.")
    parser.add_argument("--kind", required=True, choices=sorted(KINDS))
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    given = parser.parse_args()
    target = Target(given.kind, socket.create_server(("127.0.0.1", given.port)))
    print(f"listening on http://127.0.0.1:{target.sock.getsockname()[1]}", flush=True)
    target.run()


if __name__ == "__main__":
    main()
