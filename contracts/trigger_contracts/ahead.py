"""Making the generated bodies in another process, while this one talks to the target.

Schemathesis takes seconds to load and to draw, and the bodies depend on nothing that the target says: by the
time a property asks for them they are there. Whatever goes wrong over there costs only time, since they are
then made here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from trigger_contracts.document import effective, is_other

#: No generation takes longer than this; a process that does is given up.
_LONGEST = 120.0

_underway: dict[tuple[int, int], subprocess.Popen[bytes]] = {}


def begin(seed: int, amount: int) -> None:
    """Start to make the bodies of that seed, unless that was done."""
    if (seed, amount) in _underway:
        return
    with tempfile.TemporaryFile() as contract, suppress(OSError):
        contract.write(json.dumps(effective()).encode())
        contract.seek(0)
        _underway[seed, amount] = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", __name__, str(seed), str(amount), str(int(is_other()))],
            stdin=contract,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )


def take(seed: int, amount: int) -> list[dict[str, Any]] | None:
    """The bodies of that seed as they were made elsewhere, or None when they are to be made here."""
    process = _underway.pop((seed, amount), None)
    if process is None:
        return None
    try:
        said, _ = process.communicate(timeout=_LONGEST)
        return json.loads(said) if process.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None
    finally:
        _end(process)


def forget() -> None:
    """End whatever nobody will ask for any more."""
    while _underway:
        _end(_underway.popitem()[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with process:  # closes its pipe and waits for it
        pass


def main() -> None:
    """Make the bodies for the contract on standard input, and print them: its boundary cases too, where
    they are not those that are shipped.
    """
    from trigger_contracts.generation import generate

    os.nice(10)
    seed, amount, boundaries = map(int, sys.argv[1:])
    made = generate(json.load(sys.stdin), seed, amount, boundaries=bool(boundaries))
    json.dump([asdict(one) for one in made], sys.stdout)


if __name__ == "__main__":
    main()
