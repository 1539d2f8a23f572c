"""HTTP byte by byte: what no client library agrees to send, and what it would not show of the reply."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PATH = "/v1/memories/trigger"
TIMEOUT = 15.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply as it came."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value for known, value in self.headers if known.lower() == name.lower()]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None

    @property
    def json(self) -> Any:
        return json.loads(self.body.decode("utf-8"))


def request(
    body: bytes = b"",
    *headers: str | bytes,
    line: str | bytes = f"POST {PATH} HTTP/1.1",
    length: bool = True,
    key: str | None = "xtk_test_north",
    content_type: str | None = "application/json",
) -> bytes:
    """A request with the given body; `headers` come after the usual ones, which None leaves out."""
    lines = [_bytes(line), b"Host: mock.test"]
    if key is not None:
        lines.append(f"x-api-key: {key}".encode())
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}".encode())
    if length:
        lines.append(f"Content-Length: {len(body)}".encode())
    lines += map(_bytes, headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(
    *chunks: bytes, extension: bytes = b"", trailer: bytes = b"", headers: Iterable[str] = ()
) -> bytes:
    """A request whose body comes in chunks."""
    head = request(b"", "Transfer-Encoding: chunked", *headers, length=False)
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    return head + body + b"0\r\n" + trailer + b"\r\n"


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


class Connection:
    """One connection to a server."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def say_no_more(self) -> None:
        """Close our half; the other may still answer."""
        self.socket.shutdown(socket.SHUT_WR)

    def reply(self, *, to_head: bool = False) -> Reply:
        """The next reply, passing over `100 Continue`."""
        status = self._status()
        headers = list(self._headers())
        if status == 100:
            return self.reply(to_head=to_head)
        reply = Reply(status, headers, b"")
        length = reply.header("Content-Length")
        if to_head:
            body = b""
        else:
            body = self._file.read(int(length)) if length is not None else self._file.read()
            assert length is None or len(body) == int(length), "the reply broke off"
        return Reply(status, headers, body)

    def _status(self) -> int:
        line = self._file.readline(65536)
        assert line.startswith(b"HTTP/1."), f"no reply came, but {line!r}"
        return int(line.split()[1])

    def _headers(self) -> Iterator[tuple[str, str]]:
        while (line := self._file.readline(65536)) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            yield name.strip(), value.strip()

    def ended(self) -> bool:
        """Whether the server closed, with nothing more to say."""
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[Connection]:
    """A connection for as long as the context lasts."""
    connection = Connection(address)
    try:
        yield connection
    finally:
        connection.close()


def exchange(address: tuple[str, int], sent: bytes) -> Reply:
    """One request on a connection of its own."""
    with connected(address) as connection:
        connection.send(sent)
        return connection.reply()
