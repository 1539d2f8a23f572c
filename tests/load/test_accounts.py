"""The account of a run and everything written from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from click.testing import CliRunner

from tests.load.test_recorder import calls
from trigger_loadtests import account, page, reports
from trigger_loadtests.capacity import Search
from trigger_loadtests.comparison import compare_command
from trigger_loadtests.finished import Member, Run, Step
from trigger_loadtests.objectives import gather
from trigger_loadtests.plan import Plan
from trigger_loadtests.population import invented
from trigger_loadtests.recorder import Recorder
from trigger_loadtests.shapes import Profile, stages

SCHEMA = json.loads((files("trigger_loadtests") / "report.schema.json").read_text())


def plan(profile: Profile = "steady", model: str = "open") -> Plan:
    return Plan(
        target="http://127.0.0.1:1",
        profile=profile,
        model="open" if model == "open" else "closed",
        stages=stages(profile, 30, 20),
        seconds=20,
        max_requests=10_000,
        max_in_flight=100,
        timeout=5,
        seed=1,
        mix={"coding": 1, "miss": 1},
        compose=0.5,
        population=invented(1),
    )


def late(run: Run, seconds: float) -> Run:
    for cell in run.recorder.cells.values():
        for _ in range(cell.sent):
            cell.lag.record(seconds)
    return run


def ran(
    of: Plan,
    *,
    sent: int = 600,
    lost: bool = False,
    interrupted: bool = False,
    steps: Sequence[Step] = (),
    search: Search | None = None,
) -> Run:
    recorder = Recorder()
    for call in calls(sent, seed=9):
        recorder.due(call.due)
        recorder.record(call)
    return Run(
        plan=of,
        recorder=recorder,
        members=[Member("a", cpu=[1, 20, 30]), Member("b", lost=lost, cpu=[1, 20, 30])],
        elapsed=20.2,
        interrupted=interrupted,
        mishaps=[],
        steps=list(steps),
        search=search,
        why_closed="",
    )


def told(run: Run, *written: str) -> dict[str, Any]:
    objectives = gather(run.plan.profile, written, defaults=False)
    return account.document(run, objectives, started="2026-01-01T00:00:00Z", version="1")


MET = told(ran(plan()), "errors<50%", "p95<60s")


def a_search(ended: str, met: float) -> Run:
    search = Search(first=10, top=100, met=met, ended=ended)  # type: ignore[arg-type]
    short = ("late",) if ended == "generator-short" else ()
    steps = [
        Step(
            rate=rate, seconds=5, met=rate <= met, achieved=rate, results=(), kept_up=rate <= met, short=short
        )
        for rate in (10.0, 20.0)
    ]
    return ran(plan("capacity"), steps=steps, search=search)


@pytest.mark.parametrize(
    "document",
    [
        MET,
        told(ran(plan()), "errors<0.1%", "compose:p50<1ms"),
        told(ran(plan(model="closed"))),
        told(ran(plan(), sent=0), "p95<1s"),
        told(a_search("found", 10.0)),
    ],
    ids=["met", "missed", "closed", "nothing", "capacity"],
)
def test_every_account_has_the_documented_form(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(document)


@pytest.mark.parametrize(
    ("document", "code", "said"),
    [
        (MET, 0, "all objectives were met"),
        (told(ran(plan()), "errors<0.1%"), 1, "errors<0.1%"),
        (told(ran(plan(), sent=0), "p95<1s"), 2, "no call was made"),
        (told(ran(plan(), lost=True), "errors<0.1%"), 3, "1 of 2 workers were lost"),
        (told(ran(plan(), interrupted=True), "errors<50%"), 3, "interrupted"),
        (told(late(ran(plan()), 0.2), "p95<500ms"), 3, "the generator sent calls up to"),
        (told(late(ran(plan()), 0.2), "p95<1ms"), 1, "p95<1ms"),
        (told(late(ran(plan()), 0.2), "achieved-rate>99.9%"), 3, "the generator sent calls up to"),
        (told(late(ran(plan()), 0.2), "errors<0.1%"), 1, "errors<0.1%"),
        (told(late(ran(plan()), 0.2), "p95<60s"), 0, "all objectives were met"),
        (told(late(ran(plan()), 3.0), "p95<60s"), 3, "the generator sent calls up to"),
        (told(a_search("found", 10.0)), 0, "10.0/s"),
        (told(a_search("nothing-met", 0.0)), 1, "no rate met"),
        (told(a_search("generator-short", 10.0)), 3, "the generator"),
    ],
)
def test_the_verdict_says_why_and_decides_the_exit_code(
    document: dict[str, Any], code: int, said: str
) -> None:
    assert document["verdict"]["exit_code"] == code
    assert said in document["verdict"]["why"]
    assert document["verdict"]["why"] in " ".join(reports.table(document).split())


def test_a_closed_run_says_in_words_what_it_cannot_show() -> None:
    document = told(ran(plan(model="closed")))

    assert any("cannot show it fully" in note for note in document["verdict"]["notes"])
    assert document["rate"]["wanted"] is None


def test_the_wanted_rate_is_the_shapes_and_not_what_the_living_workers_sent() -> None:
    assert told(ran(plan(), sent=300))["rate"]["wanted"] == pytest.approx(30.0)


def test_the_page_stands_alone_and_tells_the_same(tmp_path: Path) -> None:
    text = page.render(told(ran(plan()), "errors<0.1%"))

    assert text.count("<svg") >= 3
    for outside in ("<script", "http-equiv", "src=", "@import", "url("):
        assert outside not in text
    assert text.count("<svg") == text.count("</svg>")
    assert "status-500" in text


def test_text_from_the_run_cannot_become_markup() -> None:
    document = {**MET, "verdict": {**MET["verdict"], "why": "<img src=x onerror=alert(1)>"}}

    assert "<img" not in page.render(document)


def test_a_page_of_a_run_without_calls_can_be_written() -> None:
    assert "Nothing was measured" in page.render(told(ran(plan(), sent=0), "p95<1s"))


def test_junit_counts_missed_objectives_as_failures_and_a_missing_verdict_as_an_error(tmp_path: Path) -> None:
    path = tmp_path / "objectives.xml"
    reports.write(told(ran(plan(), lost=True), "errors<0.1%", "p95<60s"), junit=path)
    suite = ET.parse(path).getroot().find("testsuite")  # noqa: S314 - written two lines above

    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")


def test_the_csv_has_a_line_for_each_slice_and_a_column_for_each_failure(tmp_path: Path) -> None:
    path = tmp_path / "timeline.csv"
    reports.write(MET, csv=path)
    head, *lines = path.read_text().splitlines()

    assert head.startswith("at,seconds,wanted,sent,answered,throttled,failed,p50_ms")
    assert head.endswith("failed:status-500")
    assert len(lines) == len(MET["timeline"])


def changed(document: dict[str, Any], **percentiles: float) -> dict[str, Any]:
    overall = {**document["overall"], "response_ms": {**document["overall"]["response_ms"], **percentiles}}
    return {**document, "overall": overall}


def compared(tmp_path: Path, before: Any, after: Any, *options: str) -> tuple[int, str]:
    for name, document in (("a.json", before), ("b.json", after)):
        (tmp_path / name).write_text(document if isinstance(document, str) else json.dumps(document))
    result = CliRunner().invoke(
        compare_command, [str(tmp_path / "a.json"), str(tmp_path / "b.json"), *options]
    )
    return result.exit_code, result.output


def test_a_run_is_no_worse_than_itself(tmp_path: Path) -> None:
    assert compared(tmp_path, MET, MET)[0] == 0


def test_a_slower_release_is_a_regression_by_name(tmp_path: Path) -> None:
    was = MET["overall"]["response_ms"]["p95"]
    code, said = compared(tmp_path, MET, changed(MET, p95=was * 1.5))

    assert (code, said.splitlines()[-1]) == (1, "worse: all p95")
    assert compared(tmp_path, MET, changed(MET, p95=was * 1.5), "--threshold", "60")[0] == 0
    assert compared(tmp_path, changed(MET, p95=was * 1.5), MET)[0] == 0


def test_a_few_milliseconds_are_noise_whatever_their_share(tmp_path: Path) -> None:
    assert compared(tmp_path, changed(MET, p50=1.0), changed(MET, p50=4.0))[0] == 0
    assert compared(tmp_path, changed(MET, p50=1.0), changed(MET, p50=4.0), "--floor", "1")[0] == 1


@pytest.mark.parametrize("broken", ["", "[]", "{}", '{"format": "other"}'])
def test_a_file_that_is_no_account_cannot_be_compared(tmp_path: Path, broken: str) -> None:
    assert compared(tmp_path, MET, broken)[0] == 2


def test_runs_of_different_shapes_are_compared_only_when_one_insists(tmp_path: Path) -> None:
    other = told(ran(plan("ramp")), "errors<50%")

    assert compared(tmp_path, MET, other)[0] == 2
    assert compared(tmp_path, MET, other, "--anyway")[0] in (0, 1)


def test_a_lower_capacity_is_a_regression(tmp_path: Path) -> None:
    assert compared(tmp_path, told(a_search("found", 20.0)), told(a_search("found", 10.0)))[0] == 1
    assert compared(tmp_path, told(a_search("found", 10.0)), told(a_search("found", 20.0)))[0] == 0
