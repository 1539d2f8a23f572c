"""One server for a whole test run, however many processes the run has: the first that needs it starts it, and
it ends with the last.

Whoever uses it holds a connection to it, the lease. The operating system closes that with its process,
however that ends, so that no server outlives its run. Which server there is stands in a file of the run's own
folder; a lock makes one process at a time read or write it. Nothing but Python's own library.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

#: Seconds that a server may take to come up on a busy machine.
STARTING = 60.0
#: Seconds until a server in its place says welcome.
WELCOMING = 10.0
#: Seconds that whoever started a server stays to see it end, in case that it was the last to use it.
PARTING = 1.0
WELCOME = b"welcome\n"


class NoServer(RuntimeError):
    """The server did not come up; says what it said."""


@dataclass(slots=True)
class Lease:
    """A server that lives at least until this is released."""

    url: str
    _held: socket.socket = field(repr=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def release(self) -> None:
        """Do without the server from here on."""
        self._held.close()
        process, self._process = self._process, None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(PARTING)
            # When others still use it, it is theirs now: nothing to warn of.
            process.returncode = process.returncode or 0


def lease(folder: Path) -> Lease:
    """Take part in the server of the run that owns this folder. Raises `NoServer`."""
    with _locked(folder / "trigger-mock.lock"):
        state = folder / "trigger-mock.json"
        return _joined(state) or _started(state)


def _joined(state: Path) -> Lease | None:
    """A lease on the server that is there, unless it is gone."""
    try:
        known = json.loads(state.read_text("utf-8"))
        return Lease(known["url"], _held(known["lease"], known["secret"]))
    except (OSError, ValueError, KeyError):
        return None


def _held(port: int, secret: str) -> socket.socket:
    """Return a connection that holds a server. Raises `OSError` when it has gone."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=WELCOMING)
    try:
        connection.sendall(f"{secret}\n".encode())
        with connection.makefile("rb") as said:
            welcome = said.readline() == WELCOME
    except BaseException:
        connection.close()
        raise
    if not welcome:
        connection.close()
        raise ConnectionError("the server is about to leave")
    return connection


def _started(state: Path) -> Lease:
    secret = secrets.token_hex(16)
    log = state.with_suffix(".log")
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "trigger_mock.leased"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the tests, which still need it on their way out
        )
    # Killed when it takes too long, so that reading its line comes to an end.
    watch = threading.Timer(STARTING, process.kill)
    watch.daemon = True
    watch.start()
    try:
        said = json.loads(_told(process, secret))
        held = _held(said["lease"], secret)
    except (OSError, ValueError):
        process.kill()
        process.wait()
        why = log.read_text("utf-8", "replace").strip()[-2000:] or "it said nothing"
        raise NoServer(f"the mock did not come up: {why}") from None
    finally:
        watch.cancel()
    state.write_text(json.dumps({**said, "secret": secret}), "utf-8")
    return Lease(said["url"], held, process)


def _told(process: subprocess.Popen[bytes], secret: str) -> bytes:
    """The line that a server says once it knows the secret."""
    if process.stdin is None or process.stdout is None:
        raise TypeError("a server is spoken to by pipes")
    with process.stdin as stdin, process.stdout as stdout:
        stdin.write(f"{secret}\n".encode())
        stdin.flush()
        return stdout.readline()


def _environment() -> dict[str, str]:
    """This environment, with this process's own ways to find modules, and without what it says to a mock."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIGGER_MOCK_")}
    return kept | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Wait until no other process is in here. The lock goes with the process that has it."""
    with path.open("a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if sys.platform == "win32":
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_UN)
