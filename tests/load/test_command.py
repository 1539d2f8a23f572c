"""The command against servers whose behaviour is known: one or two short runs a test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.load import toy
from tests.load.conftest import ROOT, Ended, skip_if_starved, start, surroundings
from trigger_loadtests.__main__ import run_command
from trigger_loadtests.scenarios import WRITERS

Serve = Callable[..., str]
Load = Callable[..., Ended]

#: The whole length of the truths below takes minutes; by default they are told in a shorter, still
#: meaningful form.
LONG = bool(os.environ.get("TRIGGER_LONG_TESTS"))


def test_a_smoke_run_of_every_scenario_meets_its_objectives_and_says_so(serve: Serve, load: Load) -> None:
    ended = load(serve("--delay", "0.005"), "--rate", "80", "-d", "2", *(f"-s{name}" for name in WRITERS))

    assert ended.code == 0, ended
    assert set(ended.account["scenarios"]) == set(WRITERS)
    assert ended.account["overall"]["sent"] == 160
    assert ended.account["overall"]["failures"] == {}
    assert "MET (exit 0): all objectives were met" in ended.out


@pytest.mark.parametrize("profile", ["steady", "ramp", "spike", "soak"])
def test_every_shape_runs_as_long_as_asked_and_sends_its_area(serve: Serve, load: Load, profile: str) -> None:
    ended = load(serve(), "-p", profile, "--rate", "20", "-d", "2", "-o", "achieved-rate>80%")

    assert ended.code == 0, ended
    wanted = sum(
        (stage["start"] + stage["end"]) / 2 * stage["seconds"] for stage in ended.account["run"]["stages"]
    )
    assert ended.account["overall"]["sent"] == pytest.approx(wanted, abs=1)


def test_a_closed_run_says_what_it_cannot_show(serve: Serve, load: Load) -> None:
    ended = load(serve("--freeze-at", "1", "--freeze-for", "1"), "--users", "8", "-d", "3", "-o", "p95<9s")

    assert ended.code == 0, ended
    assert ended.account["run"]["model"] == "closed"
    assert "cannot show it fully" in " ".join(ended.out.split())


def test_a_stall_shows_in_the_response_times_of_the_open_model(serve: Serve, load: Load) -> None:
    freeze, seconds = (5, 30) if LONG else (1, 6)
    url = serve("--delay", "0.01", "--freeze-at", "1", "--freeze-for", str(freeze))
    ended = load(url, "-p", "steady", "--rate", "40", "-d", str(seconds), "-o", "p99<800ms")

    figures = ended.account["overall"]
    assert ended.code == 1, ended
    assert figures["response_ms"]["p99"] >= freeze * 800
    assert figures["response_ms"]["p50"] < 100
    assert figures["service_ms"]["p50"] < 100
    assert ended.account["rate"]["achieved"] > 0


@pytest.mark.parametrize(
    ("arguments", "key", "said"),
    [
        (["http://127.0.0.1:1"], toy.KEY, "connection refused"),
        (["http://nowhere.invalid", "--i-own-this-target", "nowhere.invalid"], toy.KEY, "DNS"),
        (["http://example.com"], toy.KEY, "--i-own-this-target example.com"),
        (["http://127.0.0.1:1", "-o", "p95<fast"], toy.KEY, "cannot be read"),
        (["http://127.0.0.1:1", "--json", "/no/such/folder/a.json"], toy.KEY, "cannot be written"),
        (["http://127.0.0.1:1", "-p", "soak", "--rate", "9000"], toy.KEY, "--max-requests"),
        (["http://127.0.0.1:1", "--api-key-env", "NOT_SET"], toy.KEY, "NOT_SET"),
        (["http://127.0.0.1:1", "--rate", "nan"], toy.KEY, "is not a number"),
        (
            ["http://127.0.0.1:1", "--master", "--processes", "2"],
            toy.KEY,
            "leave out --worker and --processes",
        ),
        (["http://127.0.0.1:1", "--html", "same.html", "--json", "./same.html"], toy.KEY, "the same file"),
        (["http://127.0.0.1:1", "--worker"], toy.KEY, "leave out the URL"),
        ([], toy.KEY, "base URL"),
    ],
)
def test_wrong_use_and_nothing_there_end_with_2_and_say_why(
    arguments: list[str], key: str, said: str
) -> None:
    process = start(*arguments, key=key)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 2, err
    assert said in out + err
    assert "Traceback" not in err


def test_a_wrong_key_ends_with_2_and_is_not_shown(serve: Serve, load: Load) -> None:
    ended = load(serve(), key="xtk_wrong_and_secret")

    assert ended.code == 2
    assert "refuses the key ($TRIGGER_API_KEY) with 401" in ended.err
    assert "xtk_wrong_and_secret" not in ended.out + ended.err


@pytest.mark.parametrize(("allowed", "code"), [("0.5%", 1), ("2%", 0)])
def test_one_percent_of_errors_is_held_against_what_is_allowed(
    serve: Serve, load: Load, allowed: str, code: int
) -> None:
    ended = load(
        serve("--fault-every", "100"), "--rate", "130", "-d", "3", "-o", f"errors<{allowed}", "-s", "miss"
    )

    assert ended.code == code, ended
    assert ended.account["overall"]["failures"].keys() == {"status-500"}


def test_every_kind_of_wrong_answer_is_counted_under_its_own_name(serve: Serve, load: Load) -> None:
    url = serve("--fault", "each", "--fault-every", "3")
    ended = load(url, "--rate", "40", "-d", "3", "--timeout", "1", "-s", "miss", "--compose", "0")

    failures = ended.account["overall"]["failures"]
    always = {"status-500", "html", "redirect", "reset", "cut-body", "mode-echo", "row-type", "timeout"}
    assert ended.code == 1
    assert always <= set(failures) <= always | {"schema"}


def test_a_target_that_dies_midway_is_a_missed_objective_with_its_reason(serve: Serve, load: Load) -> None:
    ended = load(serve("--die-at", "1.5"), "--rate", "30", "-d", "4")

    assert ended.code == 1, ended
    assert "refused" in ended.account["overall"]["failures"]
    assert "most frequent failure: refused" in ended.account["verdict"]["why"]


def test_throttling_is_counted_apart_and_a_retry_after_is_obeyed_or_ignored(serve: Serve, load: Load) -> None:
    arguments = ["--rate", "40", "-d", "3", "-s", "miss"]
    obeyed = load(serve("--limit", "15"), *arguments)
    ignored = load(serve("--limit", "15"), *arguments, "--retry-after", "ignore")

    assert (obeyed.code, ignored.code) == (1, 1)
    assert obeyed.account["overall"]["failed"] == ignored.account["overall"]["failed"] == 0
    assert obeyed.account["rate"]["withheld"] > obeyed.account["overall"]["throttled"] > 0
    assert ignored.account["rate"]["withheld"] == 0
    assert ignored.account["overall"]["throttled"] > 45


def test_a_generator_with_too_few_users_gives_no_verdict_on_the_target(serve: Serve, load: Load) -> None:
    ended = load(serve("--delay", "0.2"), "--rate", "60", "--users", "2", "-d", "2", "--timeout", "2")

    assert ended.code == 3, ended
    assert "GENERATOR FELL SHORT" in ended.out
    assert "--users" in ended.account["verdict"]["why"]


def test_a_run_that_makes_no_call_is_not_met(serve: Serve, load: Load) -> None:
    ended = load(serve(), "--rate", "0.1", "-d", "1")

    assert (ended.code, ended.account["verdict"]["why"]) == (2, "no call was made, so nothing was measured")


def test_the_bound_on_requests_ends_a_closed_run(serve: Serve, load: Load) -> None:
    ended = load(serve(), "--users", "20", "-d", "30", "--max-requests", "15")

    assert ended.account["overall"]["sent"] <= 15
    assert ended.account["run"]["elapsed"] < 25
    assert any("--max-requests" in note for note in ended.account["verdict"]["notes"])


def test_capacity_finds_the_rate_that_a_target_can_serve(serve: Serve, load: Load) -> None:
    truth = 60
    seconds, tolerance = (150, 0.15) if LONG else (22, 0.25)
    url = serve("--limit", str(truth)) if not LONG else serve("--per-second", str(truth))
    ended = load(
        url, "-p", "capacity", "--rate", "45", "-d", str(seconds), "-s", "miss", "--retry-after", "ignore"
    )

    assert ended.code == 0, ended
    assert ended.account["capacity"]["rate"] == pytest.approx(truth, rel=tolerance)


def test_a_search_that_runs_out_of_requests_reports_what_was_found_until_then(
    serve: Serve, load: Load
) -> None:
    ended = load(serve(), "-p", "capacity", "--rate", "20", "-d", "25", "--max-requests", "70")

    assert ended.code == 0, ended
    assert ended.account["capacity"]["rate"] == 20
    assert "--max-requests was reached" in ended.account["verdict"]["why"]
    assert ended.account["run"]["elapsed"] < 20


def test_a_search_whose_target_dies_reports_no_capacity(serve: Serve, load: Load) -> None:
    ended = load(serve("--die-at", "2.5"), "-p", "capacity", "--rate", "20", "-d", "10")

    assert ended.code == 1, ended
    assert "it may have died" in ended.account["verdict"]["why"]


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = [int(child) for child in path.read_text().split()]
        if len(found) >= 2:
            return found
        time.sleep(0.05)
    raise AssertionError("no workers came")


def wait_for_calls(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("time"):
            return line
    raise AssertionError("the run ended before it said how it goes")


def test_a_killed_worker_is_said_and_leaves_no_verdict(serve: Serve, tmp_path: Path) -> None:
    process = start(serve(), "--rate", "30", "-d", "7", "--processes", "2")
    victim = workers_of(process)[0]
    wait_for_calls(process)
    os.kill(victim, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 3, out
    assert "1 of 2 workers were lost" in " ".join(out.split())


def test_two_workers_send_what_was_asked_and_no_artefact_or_command_line_shows_the_key(
    serve: Serve, tmp_path: Path
) -> None:
    written = {name: tmp_path / f"run.{name}" for name in ("json", "html", "csv", "junit")}
    options = [text for name, path in written.items() for text in (f"--{name}", str(path))]
    process = start(serve("--fault-every", "10"), "--rate", "50", "-d", "3", "--processes", "2", *options)
    workers = workers_of(process)
    time.sleep(0.5)
    shown = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in (process.pid, *workers)]
    out, err = process.communicate(timeout=60)

    skip_if_starved(out)
    assert process.returncode == 1, err
    assert "sent 150" in out
    for text in (out, err, *shown, *(path.read_text() for path in written.values())):
        assert text
        assert toy.KEY not in text


def test_a_master_conducts_workers_that_come_to_it(serve: Serve) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    worker = start("--worker", "--master-port", port)
    master = start(serve(), "--rate", "30", "-d", "3", "--master", "--master-port", port)
    out, err = master.communicate(timeout=60)
    worker.communicate(timeout=30)
    skip_if_starved(out)

    assert (master.returncode, worker.returncode) == (0, 0), err
    assert "sent 90" in out


def test_a_worker_whose_master_never_answers_says_so() -> None:
    code = (
        "from trigger_loadtests import engine; from trigger_loadtests.__main__ import main;"
        "engine.locust.runners.CONNECT_TIMEOUT = engine.MEETING_SECONDS = 1;"
        "main(['--worker', '--master-port', '1'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=surroundings(), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 2, ended.stderr
    assert "no master answered at 127.0.0.1:1" in ended.stderr


def test_ctrl_c_still_writes_everything_and_does_not_end_with_0(serve: Serve, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    process = start(serve(), "--rate", "30", "-d", "60", "--html", str(page))
    wait_for_calls(process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)

    assert process.returncode == 3, out
    assert "the run was interrupted" in out
    assert "</html>" in page.read_text()


def locust(url: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "locust",
        "-f",
        "loadtests/trigger_loadtests/locustfile.py",
        "--headless",
    ]
    variables = {**surroundings(), "TRIGGER_LOAD_API_KEY": toy.KEY, **more}
    return subprocess.run(
        [*command, "--host", url, *options],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_plain_locust_runs_the_same_agents(serve: Serve) -> None:
    ended = locust(serve(), "-u", "10", "-r", "10", "-t", "3s", "--only-summary")

    assert ended.returncode == 0, ended.stderr
    assert " retrieve" in ended.stdout + ended.stderr


def test_plain_locust_is_held_to_the_same_bounds(serve: Serve) -> None:
    stranger = locust("http://example.com", "-u", "1", "-t", "20s", "--only-summary")
    bounded = locust(serve(), "-u", "5", "-r", "5", "-t", "50s", "--only-summary", TRIGGER_LOAD_DURATION="2")

    assert stranger.returncode == 2
    assert "--i-own-this-target" in stranger.stderr
    assert "TRIGGER_LOAD_DURATION" in bounded.stderr


def test_help_fits_a_screen_and_all_of_it_can_be_asked_for() -> None:
    short, everything = (
        CliRunner().invoke(run_command, [option]).output for option in ("--help", "--help-all")
    )

    assert short.count("\n") <= 40
    for option in run_command.params:
        assert option.opts[-1] in everything or option.name == "target"
    assert "--master-port" not in short


def test_importing_the_package_loads_no_locust_before_an_agent_is_asked_for() -> None:
    code = (
        "import sys, trigger_loadtests as kit; kit.parse('p95<1s'); print('locust' in sys.modules);"
        "print([name for name in kit.__all__ if getattr(kit, name) is None], 'locust' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert ended.stdout.split("\n")[:2] == ["False", "[] True"]


def test_asking_for_help_loads_no_locust() -> None:
    code = "import sys, trigger_loadtests.__main__; print({'locust', 'gevent'} & set(sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert ended.stdout.strip() == "set()"


def test_settings_come_from_the_environment_too(serve: Serve) -> None:
    variables: dict[str, Any] = {**surroundings(), "TRIGGER_LOAD_RATE": "30", "TRIGGER_LOAD_DURATION": "1s"}
    ended = subprocess.run(
        [sys.executable, "-m", "trigger_loadtests", serve()],
        env=variables, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    skip_if_starved(ended.stdout)
    assert ended.returncode == 0, ended.stderr
    assert "sent 30" in ended.stdout
