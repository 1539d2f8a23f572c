"""What each fault makes of an answer, over HTTP without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from trigger_fixtures import default
from trigger_mock import Settings, create_app
from trigger_mock.fault_header import HEADER

PATH = "/v1/memories/trigger"
KEY = {"x-api-key": "xtk_demo_acme"}
ASK = {"user_id": "user-123", "entities": ["tool_loop.py"], "mode": "retrieve"}
FAULTS = "/_mock/benches/default/faults"


class Bench:
    """The default bench, with what a test does to it."""

    def __init__(self, **settings: Any) -> None:
        self.slept: list[float] = []
        app = create_app(
            default(), settings=Settings(**settings), clock=lambda: 0.0, sleep=self.slept.append,
            request_ids=lambda: "req-1",
        )  # fmt: skip
        self.client: FlaskClient = app.test_client()

    def fault(self, kind: str, **parameters: Any) -> dict[str, Any]:
        return self.rule(fault={"kind": kind, **parameters})

    def rule(self, **rule: Any) -> dict[str, Any]:
        answer = self.client.post(FAULTS, json=rule)
        assert answer.status_code == 201, answer.data
        return dict(answer.get_json())

    def ask(self, headers: dict[str, str] | None = None, **fields: Any) -> TestResponse:
        return self.client.post(PATH, json={**ASK, **fields}, headers=KEY if headers is None else headers)

    def last(self) -> dict[str, Any]:
        return dict(self.client.get("/_mock/benches/default/calls").get_json()["calls"][-1])


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "unauthorized"), (422, "invalid_request"), (429, "rate_limited"), (500, "trigger_failed"),
        (503, "server_error"),
    ],
)  # fmt: skip
def test_an_error_comes_in_place_of_the_answer(bench: Bench, status: int, code: str) -> None:
    bench.fault("error", status=status)
    answer = bench.ask()
    assert answer.status_code == status
    assert answer.get_json() == {"detail": {"code": code, "message": "This error was asked for."}}
    assert answer.headers["X-Request-Id"] == "req-1"
    assert bench.last()["fault"] == "error"


def test_an_error_says_what_it_is_told_to(bench: Bench) -> None:
    bench.fault("error", status=503, code="busy", message="Later.", retry_after=7, envelope="error")
    answer = bench.ask()
    assert answer.get_json() == {"error": {"code": "busy", "message": "Later."}}
    assert answer.headers["Retry-After"] == "7"


def test_rate_limited_leaves_nothing_of_the_rate(bench: Bench) -> None:
    bench.rule(preset="rate-limited")
    answer = bench.ask()
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == answer.headers["RateLimit-Reset"] == "30"
    assert answer.headers["RateLimit-Remaining"] == "0"


def test_a_delay_passes_before_the_answer(bench: Bench) -> None:
    true = bench.ask().data
    bench.fault("delay", seconds=2.5)
    assert bench.ask().data == true
    assert bench.slept == [2.5]


def test_every_fault_may_be_held_back(bench: Bench) -> None:
    bench.fault("error", status=500, delay={"uniform": [1, 1]})
    assert bench.ask().status_code == 500
    assert bench.slept == [1.0]


def test_a_slow_gate_is_slow_under_compose_only_and_tells_it(bench: Bench) -> None:
    bench.rule(preset="slow-gate")
    assert bench.ask().get_json()["stage_timings"] == {"recall": 0.0, "total": 0.0}
    assert bench.slept == []
    timings = bench.ask(mode="compose").get_json()["stage_timings"]
    assert timings == {"recall": 0.0, "gate": 5.0, "total": 5.0}
    assert bench.slept == [5.0]


def test_malformed_is_no_json(bench: Bench) -> None:
    bench.fault("malformed")
    answer = bench.ask()
    assert answer.status_code == 200
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(answer.data)


def test_a_content_type_stands_in_place_of_the_true_one(bench: Bench) -> None:
    true = bench.ask().data
    bench.fault("content_type", value="text/plain")
    answer = bench.ask()
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.data == true


def test_fields_are_taken_away_and_put_in_place(bench: Bench) -> None:
    true = bench.ask().get_json()
    bench.fault(
        "alter",
        remove=["/data/0/details/matched_on", "/data/7", "/nowhere/at/all"],
        set={"/data/0/id": 5, "/data/-": "last", "/a~1b": True, "/data/x": 1},
    )
    del true["data"][0]["details"]["matched_on"]
    true["data"][0]["id"] = 5
    true["data"].append("last")
    true["a/b"] = True
    assert bench.ask().get_json() == true


def test_stale_is_what_the_organisation_was_told_before(bench: Bench) -> None:
    before = bench.ask().data
    bench.fault("stale")
    assert bench.ask(entities=["nothing.known"]).data == before


def test_stale_fields_are_those_of_the_answer_before(bench: Bench) -> None:
    before = bench.ask(mode="compose").get_json()
    bench.fault("stale", fields=["/context"])
    answer = bench.ask(entities=["nothing.known"], mode="compose").get_json()
    assert answer["context"] == before["context"] is not None
    assert answer["data"] == []


def test_stale_without_a_past_is_the_true_answer(bench: Bench) -> None:
    true = Bench().ask().data
    bench.fault("stale")
    assert bench.ask().data == true


def test_what_a_fault_made_of_an_answer_is_never_stale(bench: Bench) -> None:
    before = bench.ask().data
    bench.rule(fault={"kind": "malformed"}, times=1)
    bench.ask()
    bench.fault("stale")
    assert bench.ask(entities=["nothing"]).data == before


def test_what_is_put_into_one_answer_is_not_in_the_next(bench: Bench) -> None:
    bench.fault("alter", set={"/x": [], "/x/-": 1})
    assert [bench.ask().get_json()["x"] for _ in range(3)] == [[1], [1], [1]]


@pytest.mark.parametrize("number", [2**64, -(10**30)])
def test_numbers_beyond_64_bits_are_kept_as_json_readers_have_them(bench: Bench, number: int) -> None:
    rule = bench.rule(fault={"kind": "alter", "set": {"/x": number}}, match={"body": {"user_id": number}})
    assert rule["fault"]["set"] == {"/x": float(number)}
    assert bench.client.get(FAULTS).get_json()["faults"][0]["match"] == {"body": {"user_id": float(number)}}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "[" * 900 + "]" * 900])
def test_what_no_answer_could_carry_is_refused_before_it_is_a_fault(bench: Bench, value: str) -> None:
    body = '{"fault": {"kind": "alter", "set": {"/x": %s}}}' % value  # noqa: UP031 - braces are JSON's here
    answer = bench.client.post(FAULTS, data=body, content_type="application/json")
    assert answer.status_code == 422
    assert "no JSON, or nests too deeply" in answer.get_json()["error"]["message"]
    assert bench.client.get(FAULTS).get_json() == {"faults": []}


def test_one_organisation_never_gets_the_stale_answer_of_another(bench: Bench) -> None:
    bench.ask()
    bench.fault("stale")
    assert bench.ask({"x-api-key": "xtk_demo_globex"}, entities=["nothing.known"]).get_json()["data"] == []


def test_empty_is_an_answer_without_rows(bench: Bench) -> None:
    bench.fault("empty")
    answer = bench.ask(mode="compose")
    assert answer.status_code == 200
    assert answer.get_json() == {
        "object": "search", "mode": "compose", "data": [], "context": None,
        "stage_timings": {"recall": 0.0, "gate": 0.0, "total": 0.0}, "context_selection_applied": False,
    }  # fmt: skip


@pytest.mark.parametrize("body", [{"user_id": "u"}, {"entities": 5}], ids=["no signal", "wrong field"])
def test_errors_come_in_the_other_envelope(bench: Bench, body: dict[str, Any]) -> None:
    bench.fault("envelope")
    answer = bench.client.post(PATH, json=body, headers=KEY)
    assert answer.status_code == 422
    assert set(answer.get_json()) == {"error"}
    assert answer.get_json()["error"]["code"] == "invalid_request"


def test_a_redirect_leads_where_it_is_told(bench: Bench) -> None:
    bench.fault("redirect", location="https://other.test/v2", status=308)
    answer = bench.ask()
    assert (answer.status_code, answer.headers["Location"]) == (308, "https://other.test/v2")
    assert answer.data == b""


@pytest.mark.parametrize("kind", ["reset", "cut", "drip", "hang"])
def test_a_server_that_lends_no_connection_says_which_one_does(
    bench: Bench, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    bench.fault(kind)
    answer = bench.ask()
    assert answer.status_code == 500
    assert "waitress" in answer.get_json()["detail"]["message"]
    assert "waitress" in caplog.text


def test_a_fault_without_a_key_is_for_those_with_a_wrong_one_too(bench: Bench) -> None:
    bench.rule(fault={"kind": "error", "status": 503})
    assert bench.ask({}).status_code == 503


def test_a_fault_for_a_key_is_not_for_those_with_a_wrong_one(bench: Bench) -> None:
    rule = bench.rule(fault={"kind": "error", "status": 503}, api_key="xtk_demo_acme")
    assert rule["key"] == "acme/0"
    assert bench.ask({"x-api-key": "unknown"}).status_code == 401
    assert bench.ask({"x-api-key": "xtk_demo_globex"}).status_code == 200
    assert bench.ask().status_code == 503


def test_a_fault_of_one_bench_is_not_felt_in_another(bench: Bench) -> None:
    made = bench.client.post("/_mock/benches", json={"name": "other"}).get_json()
    bench.client.post("/_mock/benches/other/faults", json={"fault": {"kind": "error"}})
    assert bench.ask().status_code == 200
    assert bench.ask({"x-api-key": made["api_key"]}).status_code == 500


def headers(value: str) -> dict[str, str]:
    return {**KEY, HEADER: value}


@pytest.mark.parametrize(
    "value",
    [
        'error; status=503; message="a; b"; retry_after=2',
        '{"kind": "error", "status": 503, "message": "a; b", "retry_after": 2}',
    ],
)
def test_a_header_asks_for_a_fault(value: str) -> None:
    answer = Bench(fault_header=True).ask(headers(value))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.get_json()["detail"]["message"] == "a; b"


@pytest.mark.parametrize("value", ["rate-limited", "error;status=429;retry_after=30"])
def test_a_header_asks_for_a_preset_as_for_any_fault(value: str) -> None:
    answer = Bench(fault_header=True).ask(headers(value))
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")


def test_a_header_wins_over_the_rules_of_the_bench() -> None:
    bench = Bench(fault_header=True)
    bench.fault("error", status=500)
    assert bench.ask(headers("error; status=418")).status_code == 418


def test_a_preset_by_header_has_the_chances_of_a_preset() -> None:
    bench = Bench(fault_header=True)
    bench.rule(fault={"kind": "empty"})  # what strikes when the header does not
    met = [(bench.ask(headers("flaky")), bench.last()["fault"])[1] for _ in range(30)]
    assert set(met) == {"empty", "error", "reset", "cut"}


@pytest.mark.parametrize(
    "value",
    [
        "", "bogus", "error; status=200", "error; status=5e-2", "error; status",
        "error; status=500; status=501", "error; nothing=1", "delay", "delay; seconds=61",
        "delay; seconds=-1", "delay; seconds=NaN",
        "delay; seconds=true", "{", "[]", "{}", '{"kind": "delay", "seconds": 1e999}', "drip; bytes=0",
        "redirect; status=200", '"', ";;;", "error; message=\"unfinished", "Error", "error status=500",
        '{"kind": "alter", "set": {"no-pointer": 1}}', '{"kind": "mix", "of": []}', "\xff", "{" * 5000,
        '{"kind": "error", "message": "\\ud800"}', "redirect; location=\"a\\u0000b\"",
        'content_type; value="a\\r\\nSet-Cookie: b"', "mix; of=[{\"kind\": \"mix\"}]",
    ],
)  # fmt: skip
def test_a_header_that_asks_for_nothing_is_told_what_would_be_right(value: str) -> None:
    answer = Bench(fault_header=True).ask(headers(value))
    if value:
        assert answer.status_code == 400
        detail = answer.get_json()["detail"]
        assert detail["code"] == "invalid_fault"
        assert "expected a preset (slow-gate, flaky" in detail["message"]
        assert len(answer.data) < 3000
    else:
        assert answer.status_code == 200


@pytest.mark.parametrize("value", ["down", "bogus", "error; status=503"])
def test_a_header_does_nothing_where_it_is_not_asked_for(bench: Bench, value: str) -> None:
    true = bench.ask()
    answer = bench.ask(headers(value))
    assert (answer.status_code, answer.data) == (true.status_code, true.data)
    assert bench.last()["fault"] is None


def test_a_bench_reads_the_header_when_it_was_made_so(bench: Bench) -> None:
    made = bench.client.post("/_mock/benches", json={"fault_header": True}).get_json()
    asked = {"x-api-key": made["api_key"], HEADER: "error; status=503"}
    assert bench.ask(asked).status_code == 503
    assert bench.ask(headers("error; status=503")).status_code == 200


Made = Callable[[dict[str, Any]], TestResponse]


@pytest.fixture
def add(bench: Bench) -> Made:
    return lambda body: bench.client.post(FAULTS, json=body)


def test_rules_are_listed_with_how_often_they_struck(bench: Bench) -> None:
    first = bench.rule(fault={"kind": "empty"}, times=2, match={"mode": "retrieve"}, seed=5)
    bench.ask()
    bench.ask(mode="compose")
    listed = bench.client.get(FAULTS).get_json()["faults"]
    assert listed == [{**first, "meant": 1, "struck": 1}]
    assert bench.client.get(f"{FAULTS}/{first['id']}").get_json() == listed[0]


def test_rules_are_removed_one_by_one_or_all(bench: Bench) -> None:
    rules = [bench.fault("empty")["id"] for _ in range(3)]
    assert bench.client.delete(f"{FAULTS}/{rules[0]}").status_code == 204
    assert [rule["id"] for rule in bench.client.get(FAULTS).get_json()["faults"]] == rules[1:]
    assert bench.client.delete(FAULTS).status_code == 204
    assert bench.client.get(FAULTS).get_json() == {"faults": []}
    assert bench.client.delete(f"{FAULTS}/{rules[0]}").status_code == 404
    assert bench.client.get(f"{FAULTS}/{rules[0]}").status_code == 404


def test_what_is_said_with_a_preset_wins_over_what_it_says_itself(bench: Bench) -> None:
    rule = bench.rule(preset="slow-gate", match={"user_id": "u"}, probability=0.25)
    assert rule["match"] == {"mode": "compose", "user_id": "u"}
    assert rule["probability"] == 0.25
    assert rule["preset"] == "slow-gate"


def test_every_preset_is_listed_and_can_be_had_as_listed(bench: Bench, add: Made) -> None:
    presets = bench.client.get("/_mock/presets").get_json()["presets"]
    assert [each["name"] for each in presets] == ["slow-gate", "flaky", "rate-limited", "down", "half-open"]
    for each in presets:
        assert add({"fault": each["fault"], "match": each["match"]}).status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        {}, [], {"preset": "down", "fault": {"kind": "hang"}}, {"preset": "bogus"}, {"preset": 5},
        {"fault": {}}, {"fault": {"kind": "hang"}, "surprise": 1}, {"fault": {"kind": "hang", "seconds": 1}},
        {"fault": {"kind": "hang"}, "times": 0}, {"fault": {"kind": "hang"}, "times": 1.5},
        {"fault": {"kind": "hang"}, "probability": 1.1}, {"fault": {"kind": "hang"}, "seed": "x"},
        {"fault": {"kind": "hang"}, "match": {"surprise": 1}},
        {"fault": {"kind": "hang"}, "match": {"status": 200}},
        {"fault": {"kind": "delay", "seconds": {"uniform": [1, 2, 3]}}},
        {"fault": {"kind": "delay", "seconds": {"lognormal": {"median": 0}}}},
        {"fault": {"kind": "error", "status": 399}}, {"fault": {"kind": "redirect", "location": "a\nb"}},
        {"fault": {"kind": "mix", "of": [{"kind": "mix", "of": [{"kind": "hang"}]}]}},
    ],
)  # fmt: skip
def test_what_is_no_fault_is_declined_and_changes_nothing(bench: Bench, add: Made, body: Any) -> None:
    answer = add(body)
    assert answer.status_code == 422
    assert answer.get_json()["error"]["code"] == "invalid_request"
    assert bench.client.get(FAULTS).get_json() == {"faults": []}


def test_a_key_of_another_bench_is_none_of_this_one(bench: Bench, add: Made) -> None:
    made = bench.client.post("/_mock/benches", json={}).get_json()
    answer = add({"fault": {"kind": "hang"}, "api_key": made["api_key"]})
    assert answer.status_code == 404
    assert made["api_key"] not in answer.text
    assert bench.client.get(FAULTS).get_json() == {"faults": []}


def test_a_key_is_never_shown_again(bench: Bench) -> None:
    bench.rule(fault={"kind": "error", "message": "xtk_demo_acme"}, api_key="xtk_demo_acme")
    assert b"xtk_demo_acme" not in bench.client.get(FAULTS).data
