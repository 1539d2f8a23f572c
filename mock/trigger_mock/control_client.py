"""Speaking to a control plane: JSON over HTTP, each request on a connection of its own.

Nothing but Python's own library, so that a test run that steers a mock needs none of what the mock needs.
Knows no routes.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

PREFIX = "/_mock"
#: Seconds that an answer may take, on top of what the server was asked to wait.
PATIENCE = 20.0


class ControlError(Exception):
    """The control plane declined: `status`, `code` and `message` are its own words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message


class Unreachable(ConnectionError):
    """Nothing that is a mock answers at this address."""


class Control:
    """The control plane of the server at `url`; `token` is what it wants to hear, if anything."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no base URL; expected one such as http://127.0.0.1:8900")
        self._connection = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._address = parts.netloc.rpartition("@")[2]
        self._root = parts.path + PREFIX
        self._headers = {"Accept": "application/json", "Connection": "close"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def __repr__(self) -> str:
        return f"Control({self.url!r})"

    def send(
        self,
        method: str,
        *path: str | int,
        body: object = None,
        query: Mapping[str, object] | None = None,
        timeout: float = 0.0,
    ) -> Any:
        """Send one request to the room at `path`, whose parts may hold anything; return what it says.

        `timeout`: seconds that the server was asked to wait. Raises `ControlError` when it declines, and
        `Unreachable`.
        """
        __tracebackhide__ = True
        target = "/".join([self._root, *(quote(str(part), safe="") for part in path)])
        if query:
            target += f"?{urlencode({name: _word(value) for name, value in query.items()})}"
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers if content is None else self._headers | {"Content-Type": "application/json"}
        with closing(self._connection(self._address, timeout=timeout + PATIENCE)) as connection:
            try:
                connection.request(method, target, content, headers)
                response = connection.getresponse()
                status, answer = response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(
                    f"nothing answers at {self.url} ({type(error).__name__}) - is the mock running? "
                    "start it with: trigger-mock"
                ) from error
        return _read(status, answer, self.url)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(status: int, answer: bytes, url: str) -> Any:
    __tracebackhide__ = True
    try:
        said: Any = json.loads(answer) if answer else None
        if status < 400:
            return said
        error = said["error"]
        raise ControlError(status, str(error["code"]), str(error["message"]))
    except (ValueError, LookupError, TypeError):
        raise Unreachable(
            f"what answers at {url} is no control plane of the mock (status {status})"
        ) from None
