"""Targets that are no service, or a service in trouble: a verdict or a clear line, whole reports, a true exit
code, an end, and never a traceback.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.mock.processes import running
from tests.servers.hostile import KINDS, hostile, nothing_listens
from tests.servers.serving import serving
from tests.verify.commanding import command, environment, reports, run, states, whole

#: What each kind of target must come to: the exit code, and words of the line or the verdict.
_NOTHING_THERE = {
    "hang": "no whole answer in time",
    "reset": "the connection was",
    "close": "closed without an answer",
    "cut": "the answer was cut short",
    "stalled-body": "no whole answer in time",
    "garbage": "what came back is no HTTP",
    "trickle": "no whole answer in time",
    "endless": "the answer is longer than 16 MB",
    "bomb": "the answer is longer than 16 MB",
    "header-flood": "what came back is no proper HTTP",
    "edge-403": "a gateway or firewall",
    "bad-gateway": "a gateway or firewall",
    "redirect": "redirects are never followed",
    "not-found": "is not found (404)",
}
_JUDGED = {
    "dies-midway": (1, "AUTH-1"),
    "hangs-midway": (1, "AUTH-1"),
    "resets-midway": (1, "VAL-1"),
    "echoes-key": (1, "ERR-3"),
    "echoes-key-spelt": (1, "ERR-3"),
    "deep-json": (1, "SHAPE-1"),
    "deep-422": (1, "ERR-2"),
    "odd-status": (1, "ERR-3"),
    "status-999": (1, "ERR-3"),
    "retry-forever": (3, "rate limited"),
    "retry-never": (3, "rate limited"),
    "no-json": (1, "SHAPE-1"),
    "html-200": (1, "SHAPE-1"),
    "controls-500": (1, "ERR-3"),
    "binary-500": (1, "ERR-3"),
    "401-to-everything": (1, "AUTH-4"),
    "429-to-everything": (3, "rate limited"),
    "200-to-everything": (1, "VAL-1"),
    "500-to-everything": (1, "ERR-3"),
}
_QUICK = ("--profile", "quick", "--seed", "3", "--timeout", "0.5", "--max-wait", "1")
_SOME = tuple(f"--only={name}" for name in ("AUTH", "VAL-1", "ERR", "SHAPE-1", "MODE-1", "ROB-2"))


def _clear(ended: subprocess.CompletedProcess[str]) -> str:
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    return said


def test_every_hostile_target_has_an_expected_end() -> None:
    assert {*_NOTHING_THERE, *_JUDGED} == set(KINDS)


@pytest.mark.parametrize("kind", _NOTHING_THERE)
def test_a_target_that_is_no_service_ends_with_one_clear_line(kind: str, tmp_path: Path) -> None:
    with hostile(kind) as url:
        ended = run(url, *_QUICK, *reports(tmp_path))

    assert ended.returncode == 2
    assert _NOTHING_THERE[kind] in ended.stderr
    assert _clear(ended).count(_NOTHING_THERE[kind]) == 1
    document = whole(tmp_path)
    assert set(states(document).values()) == {"not_exercised"}
    assert document["exit_code"] == 2
    assert _NOTHING_THERE[kind] in document["summary"]


@pytest.mark.parametrize("kind", _JUDGED)
def test_a_target_that_answers_badly_is_judged_to_the_end(kind: str, tmp_path: Path) -> None:
    code, expected = _JUDGED[kind]
    some = () if kind.endswith("-midway") else _SOME

    with hostile(kind) as url:
        ended = run(url, *_QUICK, *some, *reports(tmp_path))

    assert ended.returncode == code, ended.stdout + ended.stderr
    assert expected in _clear(ended)
    document = whole(tmp_path)
    assert document["exit_code"] == code
    if code == 1:
        assert states(document)[expected] == "broken"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://nowhere.invalid", "the host name is not known"),
        ("http://a..b", "the host name is not one that can be looked up"),
    ],
)
def test_a_host_that_does_not_exist_is_said_to_be_unknown(url: str, said: str, tmp_path: Path) -> None:
    ended = run(url, *_QUICK, *reports(tmp_path))

    assert ended.returncode == 2
    assert said in _clear(ended)
    whole(tmp_path)


def test_a_port_where_nothing_listens_refuses(tmp_path: Path) -> None:
    with nothing_listens() as url:
        ended = run(url, *reports(tmp_path))

    assert ended.returncode == 2
    assert "connection refused; is it running?" in _clear(ended)
    whole(tmp_path)


def test_https_to_a_plain_port_names_the_likely_mistake() -> None:
    with serving() as served:
        ended = run(served.url.replace("http:", "https:"), *_QUICK, served=served)

    assert ended.returncode == 2
    assert "does it speak plain http?" in _clear(ended)


@pytest.mark.parametrize("tail", ["/v1", "/v1/memories/trigger", "/v1/memories/trigger/", "/"])
def test_a_url_that_says_too_much_is_cut_back_and_judged(tail: str) -> None:
    with serving() as served:
        ended = run(served.url + tail, "--only=AUTH-1", served=served)

    assert ended.returncode == 0, _clear(ended)
    assert ("hint: the URL ends in" in ended.stderr) == (tail != "/")


def test_a_base_path_is_kept() -> None:
    with serving() as served:
        ended = run(served.url + "/staging", "--only=AUTH-1", served=served)

    assert ended.returncode == 2
    assert f"{served.url}/staging/v1/memories/trigger is not found (404)" in _clear(ended)


# ------------------------------------------------------------------ the contract document itself


def _untouched(document: dict[str, Any]) -> None:
    pass


def _mended(document: dict[str, Any]) -> None:
    branches = _branches(document)
    branches[_bare(branches)] = {"$ref": "#/components/schemas/DirectiveDetails"}


def _removed(document: dict[str, Any]) -> None:
    branches = _branches(document)
    del branches[_bare(branches)]


def _branches(document: dict[str, Any]) -> list[Any]:
    found: list[Any] = document["components"]["schemas"]["Memory"]["properties"]["details"]["oneOf"]
    return found


def _bare(branches: list[Any]) -> int:
    return next(at for at, one in enumerate(branches) if isinstance(one, str))


def test_the_contract_untouched_or_mended_gives_the_same_verdicts(tmp_path: Path) -> None:
    verdicts: list[dict[str, str]] = []
    printed: list[str] = []
    source = Path(__file__).parents[2] / "openapi.public.json"
    with serving() as served:
        probes = str(served.write_probes(tmp_path))
        for change in (_untouched, _mended, _removed):
            document = json.loads(source.read_text())
            change(document)
            contract = tmp_path / "contract.json"
            contract.write_text(json.dumps(document, indent=2))
            ended = run(
                *(served.url, "--contract", str(contract), "--probes", probes, "--only=SHAPE", "--only=AUTH"),
                *("--profile=quick", "--seed=3", *reports(tmp_path)),
                served=served,
            )
            assert ended.returncode == 0, _clear(ended)
            printed.append(ended.stdout)
            verdicts.append(states(whole(tmp_path)))

    assert verdicts[0] == verdicts[1] == verdicts[2]
    entry = "#/components/schemas/Memory/properties/details/oneOf/3\n"
    assert entry in printed[0]
    assert entry not in printed[1] + printed[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not: [a, contract", "not YAML"),
        ('{"openapi": "3.1.0", "paths": {}}', "describes no POST /v1/memories/trigger"),
        ("7", "expected an object"),
    ],
)
def test_a_document_that_is_no_such_contract_is_wrong_use(text: str, said: str, tmp_path: Path) -> None:
    contract = tmp_path / "contract.yaml"
    contract.write_text(text)

    ended = run("http://127.0.0.1:1", "--contract", str(contract))

    assert ended.returncode == 2
    assert said in _clear(ended)


# ------------------------------------------------------------------ limits, authentication, interruption


def test_five_requests_a_minute_are_not_taken_for_refusals(tmp_path: Path) -> None:
    with running("--rate-limit", "5/minute") as mock:
        ended = run(mock.url, *_QUICK, *reports(tmp_path), KEY_ONE="xtk_demo_acme")

    assert ended.returncode == 3, _clear(ended)
    document = whole(tmp_path)
    assert document["counts"]["broken"] == document["counts"]["warned"] == 0
    assert document["traffic"]["rate_limited"] > 0
    assert "rate limited" in ended.stdout


@pytest.mark.parametrize(
    ("variant", "broken", "kept"),
    [
        ("auth-off", {"AUTH-1", "AUTH-2", "AUTH-3", "AUTH-5"}, set()),
        ("any-key", {"AUTH-2", "AUTH-3", "AUTH-5"}, {"AUTH-1"}),
        ("only-bearer-checked", {"AUTH-2", "AUTH-5"}, {"AUTH-1", "AUTH-3"}),
    ],
)
def test_authentication_that_is_off_or_lax_is_found_by_its_own_promises(
    variant: str, broken: set[str], kept: set[str], tmp_path: Path
) -> None:
    with serving(variant) as served:
        ended = run(served.url, *_QUICK, "--only=AUTH", *reports(tmp_path), served=served)

    assert ended.returncode == 1
    found = states(whole(tmp_path))
    assert {name for name, state in found.items() if state == "broken"} == broken
    assert {name for name, state in found.items() if state == "held"} >= kept


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGINT, 3), (signal.SIGTERM, 1)])
def test_an_interrupted_run_leaves_whole_reports(number: signal.Signals, times: int, tmp_path: Path) -> None:
    with serving() as served:
        arguments = [served.url, "--rate=60", *reports(tmp_path)]
        child = subprocess.Popen(
            command(*arguments),
            env=environment(served),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert child.stderr is not None
        while "[10/" not in (line := child.stderr.readline()):  # it says how far it is
            assert line, "the run ended before it could be interrupted"
        for _ in range(times):
            os.killpg(child.pid, number)
        out, err = child.communicate(timeout=60)

    assert child.returncode == 3, out + err
    assert "Traceback" not in out + err
    document = whole(tmp_path)
    assert document["interrupted"] is True
    assert document["counts"]["held"] > 0
    assert document["counts"]["broken"] == 0
    assert any(one["reason"] == "the run was interrupted" for one in document["promises"])


def test_ctrl_c_while_the_first_answer_is_awaited_leaves_whole_reports(tmp_path: Path) -> None:
    with hostile("hang") as url:
        child = subprocess.Popen(
            command(url, "--timeout=30", *reports(tmp_path)),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert child.stderr is not None
        child.stderr.readline()  # what it is about to do
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=25)

    assert child.returncode == 3, out + err
    assert "Traceback" not in out + err
    assert whole(tmp_path)["interrupted"] is True
