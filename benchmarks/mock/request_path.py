"""A request in process: the mock's whole path against the bare view, both called as a WSGI server calls
them.

Every request differs, so nothing is answered from memory of the same request; the rate limit counts, and is
out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.mock import stores
from benchmarks.mock.floor import PATH, bare
from benchmarks.mock.measure import Measure, interleaved, seconds
from trigger_fixtures import Rate
from trigger_mock import Settings, create_app
from trigger_mock.limits import Overrides

ROWS = 1000
BOUNDS = {"retrieve": 1.2, "compose": 1.6}
#: More than any memory for tasks should hold.
DIFFERENT = 3000

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def run(*, quick: bool) -> Iterator[Measure]:
    """Both modes: five identifiers, two rows back out of a thousand."""
    with TemporaryDirectory() as folder:
        corpus = stores.corpus(Path(folder, "rows.jsonl"), ROWS)
    mock = create_app(corpus, settings=Settings(limits=Overrides(Rate(10**9, 10))))
    for mode, bound in BOUNDS.items():
        bodies = stores.requests(mode, DIFFERENT, ROWS)
        content = answer(mock, bodies[0])
        constant = json.loads(content)
        if len(constant["data"]) != 2:
            raise RuntimeError(f"the mock recalled {len(constant['data'])} rows where two are known")
        sides = [_batch(bare(constant), bodies), _batch(mock, bodies)]
        timed = interleaved(sides, 150 if quick else 600)
        floor, own = (1e6 * timed.median(side) / BATCH for side in (0, 1))
        yield Measure(
            what=f"request path in process, {mode}",
            value=timed.ratio(),
            at_most=bound,
            detail=f"{own:.0f} µs against {floor:.0f} µs of the bare view; "
            f"minima {1e6 * timed.best(1) / BATCH:.0f}/{1e6 * timed.best(0) / BATCH:.0f}; "
            f"{len(content)} bytes back",
        )


#: Requests in one figure: two milliseconds, short enough to be left alone by the scheduler most of the time.
BATCH = 10


def _batch(app: Application, bodies: list[bytes]) -> Callable[[], float]:
    turns = cycle(bodies)

    def work() -> None:
        for _ in range(BATCH):
            answer(app, next(turns))

    return lambda: seconds(work)


def answer(app: Application, body: bytes) -> bytes:
    """The body that the application answers with; anything but 200 is an error."""
    statuses: list[str] = []
    reply = app(_environ(body), lambda status, _headers, _error=None: statuses.append(status))
    content = b"".join(reply)
    if close := getattr(reply, "close", None):
        close()
    if statuses != ["200 OK"]:
        raise RuntimeError(f"{statuses[0]}: {content[:300]!r}")
    return content


def _environ(body: bytes) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": PATH,
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8900",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1:8900",
        "HTTP_ACCEPT": "*/*",
        "HTTP_X_API_KEY": stores.KEY,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.errors": None,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
