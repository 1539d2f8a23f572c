"""The command: `python -m tests.servers.reference --port 0 --variant NAME [--rate-limit N/seconds]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.servers.behaviour import Rate
from tests.servers.data import KEYS, PROBES
from tests.servers.serving import Server, address, listener
from tests.servers.variants import BENIGN, VARIANTS, named


def rate(text: str) -> Rate:
    """`N/seconds` as a rate."""
    amount, _, seconds = text.partition("/")
    return Rate(int(amount), int(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.reference", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--variant", default="reference", choices=["reference", *BENIGN, *VARIANTS], metavar="NAME"
    )
    parser.add_argument("--rate-limit", type=rate, metavar="N/SECONDS")
    parser.add_argument(
        "--probes-to", type=Path, metavar="FILE", help="write the probe file there before serving"
    )
    parser.add_argument("--list", action="store_true", help="print the variants and end")
    parser.add_argument("--keys", action="store_true", help="print the (invented) keys and end")
    given = parser.parse_args()
    if given.list:
        for variant in (*BENIGN.values(), *VARIANTS.values()):
            print(f"{variant.name:34} {' '.join(sorted(variant.breaks)) or '-':18} {variant.story}")
        return
    if given.keys:
        for key, owner in KEYS.items():
            print(f"{key} {owner}")
        return
    if given.probes_to:
        given.probes_to.write_text(json.dumps(PROBES, indent=1), encoding="utf-8")
    sock = listener(given.port)
    server = Server(named(given.variant).make(given.rate_limit))
    print(f"listening on {address(sock)}", flush=True)
    server.run([sock])


if __name__ == "__main__":
    main()
