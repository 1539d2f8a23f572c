"""What a run may be told, and how it then behaves: pace, budget, seed, strictness, trust."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.servers.serving import Served, serving
from tests.verify.commanding import reports, run, states, whole
from trigger_contracts.exchange import Request
from trigger_contracts.options import Options
from trigger_contracts.target import Target

_QUICK = ("--profile=quick", "--seed=5")


def _judged(folder: Path, served: Served, *arguments: str) -> dict[str, Any]:
    run(served.url, *_QUICK, *arguments, *reports(folder), served=served)
    return whole(folder)


def _essence(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a repeated run must repeat: verdicts, counts, the requests that show a failure."""
    return [
        (one["id"], one["state"], one["times_seen"], one["evidence"] and one["evidence"]["curl"])
        for one in document["promises"]
    ]


def test_a_seed_repeats_a_run_exactly(tmp_path: Path) -> None:
    some = ("--only=AUTH", "--only=VAL", "--only=ROB-1", "--only=MATCH-6")
    with serving("any-key") as served:
        first = _judged(tmp_path, served, *some)
        again = _judged(tmp_path, served, *some)

    assert _essence(first) == _essence(again)
    assert first["traffic"]["requests"] == again["traffic"]["requests"]


def test_only_and_skip_choose_what_is_judged(tmp_path: Path) -> None:
    with serving() as served:
        document = _judged(tmp_path, served, "--only=AUTH", "--only=VAL-1", "--skip=AUTH-5")

    assert list(states(document)) == ["AUTH-1", "AUTH-2", "AUTH-3", "AUTH-4", "VAL-1"]


def test_a_chapter_may_be_required(tmp_path: Path) -> None:
    with serving() as served:
        open_ = _judged(tmp_path, served, "--only=AUTH", "--only=MATCH-1", "--require=MATCH")
        met = _judged(tmp_path, served, "--only=AUTH", "--only=MATCH-1", "--require=AUTH")

    assert open_["exit_code"] == 3
    assert met["exit_code"] == 0


def test_a_budget_of_requests_is_kept(tmp_path: Path) -> None:
    with serving() as served:
        document = _judged(tmp_path, served, "--max-requests=25")

    assert document["traffic"]["requests"] == 25
    assert document["exit_code"] == 3


def test_errors_under_error_are_one_finding_and_may_be_accepted(tmp_path: Path) -> None:
    some = ("--only=AUTH", "--only=ERR", "--only=VAL-1")
    with serving("error-envelope") as served:
        told = _judged(tmp_path, served, *some)
        silent = _judged(tmp_path, served, *some, "--accept-envelope=error")

    assert [name for name, state in states(told).items() if state == "broken"] == ["ERR-1"]
    assert silent["exit_code"] == 0


def test_pace_is_kept_between_requests() -> None:
    asleep: list[float] = []
    now = [100.0]

    def sleep(seconds: float) -> None:
        asleep.append(seconds)
        now[0] += seconds

    options = Options(base_url="http://127.0.0.1:1", rate=4, timeout=0.2)
    target = Target(options, sleep=sleep, clock=lambda: now[0])
    for _ in range(5):
        target.send(Request("POST", b"{}", ()))

    assert asleep == pytest.approx([0.25] * 4)


def test_no_pace_is_given_by_a_rate_of_nothing() -> None:
    for rate in ("0", "-1", "nan", "inf", "10/day"):
        ended = run("http://127.0.0.1:1", f"--rate={rate}")
        assert ended.returncode == 2
        assert "requests a second" in ended.stderr


# ------------------------------------------------------------------ certificates


@contextmanager
def _behind_tls(
    served: Served, certificate: Path, key: Path, *, clients: Path | None = None
) -> Iterator[str]:
    """A TLS front before a plain server: bytes in, bytes out; it may ask who the client is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    port = int(served.url.rpartition(":")[2])

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def meet(raw: socket.socket) -> None:
        with (
            suppress(OSError),
            context.wrap_socket(raw, server_side=True) as outside,
            socket.create_connection(("127.0.0.1", port)) as inside,
        ):
            back = threading.Thread(target=pump, args=(inside, outside), daemon=True)
            back.start()
            pump(outside, inside)
            back.join(10)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=meet, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def _certified(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that vouches for itself, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_client_certificate_is_shown_to_who_asks_for_it(tmp_path: Path) -> None:
    certificate, key = _certified(tmp_path, "server")
    ours, our_key = _certified(tmp_path, "client")
    both = tmp_path / "both.pem"
    both.write_text(ours.read_text() + our_key.read_text())
    trust = f"--ca-bundle={certificate}"

    with serving() as served, _behind_tls(served, certificate, key, clients=ours) as url:
        nameless = run(url, "--only=AUTH-1", trust, served=served)
        known = run(url, "--only=AUTH-1", trust, f"--client-cert={both}", served=served)
        another = run(url, "--only=AUTH-1", trust, f"--client-cert={_other(tmp_path)}", served=served)

    assert known.returncode == 0, known.stdout + known.stderr
    for refused in (nameless, another):
        assert refused.returncode == 2
        assert "Traceback" not in refused.stdout + refused.stderr
    assert "--client-cert" in nameless.stderr, nameless.stderr


def _other(folder: Path) -> Path:
    """The certificate and key of a client that nobody knows."""
    certificate, key = _certified(folder, "stranger")
    both = folder / "stranger.both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    return both


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_certificate_is_checked_unless_told_otherwise(tmp_path: Path) -> None:
    certificate, key = _certified(tmp_path, "server")
    with serving() as served, _behind_tls(served, certificate, key) as url:
        distrusted = run(url, "--only=AUTH-1", served=served)
        trusted = run(url, "--only=AUTH-1", f"--ca-bundle={certificate}", served=served)
        unchecked = run(url, "--only=AUTH-1", "--insecure", served=served)

    assert distrusted.returncode == 2
    assert "the certificate is not trusted" in distrusted.stderr
    assert "--ca-bundle FILE" in distrusted.stderr
    assert trusted.returncode == 0, trusted.stdout + trusted.stderr
    assert unchecked.returncode == 0
    assert "the certificate is not checked (--insecure)" in unchecked.stderr


@pytest.mark.parametrize("option", ["--ca-bundle", "--client-cert"])
def test_files_for_tls_that_hold_no_certificate_are_wrong_use(option: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate")

    for file in (empty, tmp_path / "nowhere.pem"):
        ended = run("https://127.0.0.1:1", f"{option}={file}")
        assert ended.returncode == 2
        assert str(file) in ended.stderr
        assert "Traceback" not in ended.stdout + ended.stderr


def test_options_may_come_from_the_environment(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    with serving() as served:
        ended = run(
            served.url,
            served=served,
            TRIGGER_VERIFY_ONLY="AUTH-1 AUTH-2",
            TRIGGER_VERIFY_SEED="11",
            TRIGGER_VERIFY_REPORT=f"json={report}",
        )

    assert ended.returncode == 0, ended.stderr
    document = json.loads(report.read_text())
    assert document["seed"] == 11
    assert list(states(document)) == ["AUTH-1", "AUTH-2"]


def test_strict_makes_warnings_count(tmp_path: Path) -> None:
    with serving("include-repeated") as served:
        lax = _judged(tmp_path, served, "--only=VAL-10", "--only=AUTH-1")
        strict = _judged(tmp_path, served, "--only=VAL-10", "--only=AUTH-1", "--strict")

    assert states(lax) == states(strict) == {"AUTH-1": "held", "VAL-10": "warned"}
    assert (lax["exit_code"], strict["exit_code"]) == (0, 1)


def test_a_report_names_the_seed_that_repeats_the_run(tmp_path: Path) -> None:
    with serving() as served:
        ended = run(served.url, "--only=AUTH-1", *reports(tmp_path), served=served)

    seed = json.loads((tmp_path / "report.json").read_text())["seed"]
    assert f"seed {seed}" in ended.stdout
