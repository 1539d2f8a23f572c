"""Sending bytes and taking bytes: HTTP/1.1 over kept connections, one a thread.

Redirects are answers, never followed. A connection that was idle and turns out closed is opened anew once;
a fresh one that dies is the target's doing. Every wait has an end: connecting, reading, and the answer as a
whole.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import cast
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from trigger_contracts.exchange import Reply, Request
from trigger_contracts.options import Options

#: An answer longer than this is cut: nothing in the contract comes near it.
LONGEST = 16 * 1024 * 1024
_STALE_AFTER = 0.5
#: The alerts by which a server says what it thinks of the client's certificate, or of its absence.
_WANTS_A_CERTIFICATE = re.compile(
    r"ALERT_(CERTIFICATE|BAD_CERT|UNSUPPORTED_CERT|UNKNOWN_CA|HANDSHAKE_FAILURE)"
)


class Unreachable(Exception):
    """No answer came; the text says how."""


class TooLong(ValueError):
    """The answer has no end in sight."""


class Wire:
    """The connections to one target."""

    def __init__(self, options: Options) -> None:
        parts = urlsplit(options.base_url)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._secure else 80)
        self._netloc = parts.netloc
        self._path = quote(urlsplit(options.url).path, safe="/%:@!$&'()*+,;=~")
        self._timeout = options.timeout
        self._context = tls_context(options) if self._secure else None
        proxy = None if proxy_bypass(self._host) else getproxies().get(parts.scheme)
        self._proxy = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
        self._local = threading.local()
        self._all: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def send(
        self, request: Request, *, fresh: bool = False, meanwhile: Callable[[], None] = lambda: None
    ) -> Reply:
        """Send on the thread's connection (or a fresh one) and take the answer, or raise `Unreachable`.

        `meanwhile` is what may be done while the target thinks; it raises nothing.
        """
        connection = None if fresh else getattr(self._local, "connection", None)
        if fresh:
            self.forget()
        idle = time.monotonic() - getattr(self._local, "used", 0.0)
        if connection is not None and connection.sock is not None:
            try:
                return self._exchange(connection, request, meanwhile)
            except (http.client.RemoteDisconnected, ConnectionError) as error:
                self.forget()
                if idle < _STALE_AFTER and not getattr(self._local, "closing", False):
                    raise Unreachable(_said(error)) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.forget()
                raise Unreachable(_said(error)) from None
        try:
            return self._exchange(self._open(), request, meanwhile)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.forget()
            raise Unreachable(_said(error)) from None

    def forget(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()
            with self._lock:
                if connection in self._all:
                    self._all.remove(connection)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()

    def _open(self) -> http.client.HTTPConnection:
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.hostname or "", self._proxy.port or 3128
        connection: http.client.HTTPConnection
        if self._context is not None:
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
            if self._proxy is not None:
                connection.set_tunnel(self._host, self._port)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        self._local.connection = connection
        with self._lock:
            self._all.append(connection)
        return connection

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Request, meanwhile: Callable[[], None]
    ) -> Reply:
        deadline = time.monotonic() + self._timeout * 2
        path = self._path
        if self._proxy is not None and self._context is None:
            path = f"http://{self._netloc}{path}"
        lines = [f"{request.method} {path} HTTP/1.1\r\nHost: {self._netloc}\r\n".encode("latin-1")]
        lines += [_line(name, value) for name, value in request.headers]
        if request.method == "POST" or request.body:
            lines.append(b"Content-Length: %d\r\n" % len(request.body))
        if connection.sock is None:
            connection.connect()
        taken = cast("socket.socket", connection.sock)
        # A refusal may come before the whole body was read: what was said still counts.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            connection.send(b"".join((*lines, b"\r\n", request.body)))
        meanwhile()
        _acknowledge_at_once(connection)
        with http.client.HTTPResponse(taken, method=request.method) as response:
            response.begin()
            _acknowledge_at_once(connection)
            body = _read(response, deadline)
        headers = tuple(response.headers.items())
        self._local.used = time.monotonic()
        self._local.closing = response.will_close
        if response.will_close:
            connection.close()
        return Reply(response.status, headers, _decoded(body, response.headers.get("Content-Encoding")))


@lru_cache(maxsize=256)
def _line(name: str, value: str) -> bytes:
    """A header as it is sent; most are the same in every request."""
    sent = f"{name}: {value}".encode()
    if b"\r" in sent or b"\n" in sent:
        raise ValueError(f"the header {name} would break its line")
    return sent + b"\r\n"


def _acknowledge_at_once(connection: http.client.HTTPConnection) -> None:
    """Spare 40 ms an answer with servers that send head and body apart and wait for the first to be
    acknowledged.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is not None and connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.setsockopt(socket.IPPROTO_TCP, option, 1)


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    pieces: list[bytes] = []
    total = 0
    # A known length is read in small pieces: a read waits for all it asks for.
    while piece := response.read(512) if response.length is not None else response.read1(65536):
        pieces.append(piece)
        total += len(piece)
        if total > LONGEST:
            raise TooLong
        if time.monotonic() > deadline:
            raise TimeoutError("the answer never ended")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _decoded(body: bytes, encoding: str | None) -> bytes:
    """The body less its compression, as far as the longest answer goes; as it came where it lies about it."""
    bits = {"gzip": 31, "deflate": zlib.MAX_WBITS}.get((encoding or "").strip().lower())
    if bits is None:
        return body
    try:
        whole = zlib.decompressobj(bits).decompress(body, LONGEST + 1)
    except zlib.error:
        return body
    if len(whole) > LONGEST:
        raise TooLong
    return whole


def _said(error: BaseException) -> str:
    """The failure in words that a reader of a report knows."""
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"the certificate is not trusted ({error.verify_message}); "
                "--ca-bundle FILE names your own authority"
            )
        case ssl.SSLError() if error.reason and _WANTS_A_CERTIFICATE.search(error.reason):
            return (
                f"the target wants to see another client certificate ({error.reason}); "
                "--client-cert FILE shows yours"
            )
        case ssl.SSLEOFError():
            return "TLS failed (the connection was closed)"
        case ssl.SSLError():
            return f"TLS failed ({error.reason})"
        case TimeoutError():
            return "no whole answer in time"
        case ConnectionRefusedError():
            return "connection refused"
        case socket.gaierror():
            return "the host name is not known"
        case http.client.RemoteDisconnected():
            return "the connection was closed without an answer"
        case http.client.IncompleteRead():
            return "the answer was cut short"
        case http.client.BadStatusLine():
            return "what came back is no HTTP"
        case ConnectionError():
            return "the connection was reset"
        case OSError():
            return os.strerror(error.errno) if error.errno else type(error).__name__
        case UnicodeError():
            return "the host name is not one that can be looked up"
        case TooLong():
            return f"the answer is longer than {LONGEST >> 20} MB"
        case _:
            return f"what came back is no proper HTTP ({type(error).__name__})"


def tls_context(options: Options) -> ssl.SSLContext:
    """How the target's certificate is checked, and ours shown."""
    context = ssl.create_default_context(cafile=options.ca_bundle)
    if options.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.client_cert:
        context.load_cert_chain(options.client_cert)
    return context
