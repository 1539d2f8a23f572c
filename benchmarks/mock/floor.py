"""The floor: a bare Flask view that reads JSON and returns a constant.

Nothing of the kit is in here, and nothing that a Flask application could leave out: one route, `get_json`,
`jsonify` of a constant body. The constant is an answer that the mock gave, so that both sides send the same
number of bytes. As a program it serves that view with `waitress.serve` as it comes, or with granian set up
as the mock sets it up:

    python -m benchmarks.mock.floor PORT BODY.json [granian]
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask, Response, jsonify, request

PATH = "/v1/memories/trigger"
#: granian as the mock sets it up.
THREADS, BACKPRESSURE = 128, 512


def bare(constant: Any) -> Flask:
    """The application: reads the request's JSON, returns the constant."""
    app = Flask("floor", static_folder=None)

    @app.post(PATH)
    def trigger() -> Response:
        request.get_json()
        return jsonify(constant)

    return app


def main(port: int, body: str, server: str = "waitress") -> None:
    """Serve the view on loopback until killed."""
    if server == "granian":
        from granian.constants import Interfaces
        from granian.server import Server

        Server(
            "floor",
            address="127.0.0.1",
            port=port,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=THREADS,
            backpressure=BACKPRESSURE,
            websockets=False,
            log_enabled=False,
        ).serve(target_loader=partial(_of_file, body), wrap_loader=False)
    else:
        import waitress

        waitress.serve(_of_file(body), host="127.0.0.1", port=port, ident=None)


def _of_file(body: str) -> Flask:
    return bare(json.loads(Path(body).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
