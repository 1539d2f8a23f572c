"""The page of the control plane as it is sent: its markup, what a browser may do with it, and its forms."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.conftest import KEY, PATH
from tests.mock.processes import run_code
from trigger_fixtures import Keywords, default, load
from trigger_mock import Settings, create_app

PAGES = ("calls", "calls/1", "explain", "rows", "faults", "clock")
XSS = "</pre></textarea><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
FORM = {"Origin": "http://localhost"}
MISTAKEN = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}


class _Markup(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def of(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture
def bench() -> FlaskClient:
    """A server of its own, with one call in its journal."""
    client = create_app(default(), settings=Settings()).test_client()
    client.post(PATH, json=MISTAKEN, headers=KEY)
    return client


def _page(client: FlaskClient, path: str, **options: Any) -> str:
    answer = client.get(f"/_mock/page/default/{path}", **options)
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_a_language_landmarks_one_heading_and_labels(bench: FlaskClient, path: str) -> None:
    markup = _Markup(_page(bench, path))
    named = {each.get("for") for each in markup.of("label")}
    fields = [each for each in markup.of("input", "select", "textarea") if each.get("type") != "hidden"]
    places = [each["id"] for _, each in markup.tags if "id" in each]

    assert markup.of("html")[0]["lang"] == "en"
    assert [len(markup.of(name)) for name in ("header", "main", "footer", "h1", "title")] == [1] * 5
    assert {each.get("aria-label") for each in markup.of("nav")} >= {"Pages"}
    assert markup.of("a")[0]["href"] == "#main"
    assert all(each.get("id") in named for each in fields)
    assert len(places) == len(set(places))
    assert {each.get("aria-labelledby") for each in markup.of("section")} <= {*places, None}


@pytest.mark.parametrize("path", [*PAGES, "nothing", "calls/99"])
def test_no_page_runs_anything_but_the_one_script_of_its_own(bench: FlaskClient, path: str) -> None:
    answer = bench.get(f"/_mock/page/default/{path}")
    markup = _Markup(answer.text)
    policy = answer.headers["Content-Security-Policy"]

    assert [each.get("src") for each in markup.of("script")] == ["/_mock/page/page.js"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not [
        each for _, each in markup.tags if any(name.startswith("on") or name == "style" for name in each)
    ]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"


def test_nothing_of_a_page_comes_from_elsewhere(bench: FlaskClient) -> None:
    markup = _Markup(_page(bench, "calls/1"))
    addresses = [
        address
        for _, each in markup.tags
        for name in ("src", "href", "action")
        if (address := each.get(name))
    ]

    assert [each for each in addresses if not each.startswith(("/_mock/", "#"))] == []
    for asset in ("page.css", "page.js", "icon.svg"):
        content = bench.get(f"/_mock/page/{asset}")
        assert content.status_code == 200
        assert "http" not in content.text.replace("http://www.w3.org/2000/svg", "")


def test_the_page_says_that_a_field_is_not_read_and_what_it_would_have_fired(bench: FlaskClient) -> None:
    said = "action.input is not read; action.args would have fired tool_loop.py"

    assert said in _page(bench, "calls")
    assert said in _page(bench, "calls/1")
    explained = bench.post(
        "/_mock/page/default/explain",
        data={"body": json.dumps(MISTAKEN), "organisation": "acme"},
        headers=FORM,
    )
    assert said in explained.text


def test_a_refused_call_says_what_to_change(bench: FlaskClient) -> None:
    bench.post(PATH, json={"entities": ["tool_loop.py"]}, headers=KEY)
    bench.post(PATH, json={"user_id": "user-123", "entities": ["tool_loop.py"]})

    assert "pass at least one non-empty user_id" in _page(bench, "calls/2")
    assert "Send a key of this server" in _page(bench, "calls/3")


def test_hostile_text_is_text_wherever_it_stands(tmp_path: Path) -> None:
    fixtures = tmp_path / "fixtures.json"
    row = {
        "organisation": "o", "type": "procedure", "user_id": XSS, "text": XSS, "steps": [XSS],
        "categories": [XSS], "trigger_entities": [XSS], "group_ids": [XSS],
    }  # fmt: skip
    fixtures.write_text(json.dumps({"organisations": {"o": {"keys": ["xtk_o"]}}, "memories": [row]}))
    corpus = load(str(fixtures))
    client = create_app(corpus, settings=Settings()).test_client()
    headers = {"x-api-key": "xtk_o", "x-request-id": XSS, XSS[20:26]: XSS, "user-agent": XSS}
    client.post(PATH, json={"user_id": XSS, "entities": [XSS]}, headers=headers)
    client.post(
        PATH, json={"user_id": XSS, XSS: XSS, "action": {"tool": XSS, "args": {XSS: XSS}}}, headers=headers
    )
    client.post(PATH, data=XSS, headers=headers)

    pages = [
        "calls",
        "calls/1",
        "calls/2",
        "calls/3",
        "rows",
        f"row?id={corpus.rows[0].id}",
        "explain?call=2",
    ]
    for path in pages:
        markup = _Markup(text := _page(client, path))
        assert len(markup.of("script")) == 1
        assert [each.get("src") for each in markup.of("img")] == ["/_mock/page/icon.svg"]
        assert "&lt;script&gt;" in text
    for path in ("calls", "rows"):
        echoed = _Markup(
            _page(client, path, query_string={"entity": XSS, "text": XSS, "done": XSS, "before": XSS})
        )
        assert len(echoed.of("script")) == 1


def test_characters_without_a_shape_are_written_out(bench: FlaskClient) -> None:
    bench.post(
        PATH, json={"user_id": "u", "action": {"tool": "a\u202eb\u200bc\u2028d\u00a0e\x07f"}}, headers=KEY
    )

    for path in ("calls", "calls/2"):
        text = _page(bench, path)
        assert not re.search("[\u202e\u200b\u2028\u00a0\x07]", text)
        assert ">\\u202e</span>b" in text


def test_a_long_text_is_cut_and_there_to_be_opened(bench: FlaskClient) -> None:
    bench.post(
        PATH, json={"user_id": "u", "action": {"tool": "y" * 1000}}, headers={**KEY, "x-long": "z" * 5000}
    )

    text = _page(bench, "calls/2")
    assert "y" * 1000 not in _page(bench, "calls")
    assert "1,000 characters" in _page(bench, "calls")
    assert "z" * 5000 in text
    assert "5,000 characters, open" in text


def test_no_key_is_on_any_page(bench: FlaskClient) -> None:
    key = KEY["x-api-key"]
    bench.post(
        PATH, json={"user_id": key, "action": {"tool": key, "args": {"a": key}}}, headers={**KEY, "x-k": key}
    )
    store = bench.application.extensions["trigger_mock"].default.store
    row = next(row for row in store.rows if row.organisation == "acme")
    leaky = row._replace(
        id="leaky", text=key, trigger_entities=(key,), group_ids=(key,), gate=Keywords((key,))
    )
    store.put([leaky])

    pages = ("calls", "calls/2", "explain?call=2", "rows?text=xtk_d", "row?id=leaky", "calls/live")
    for path in pages:
        assert key not in _page(bench, path)


def test_a_form_from_elsewhere_changes_nothing(bench: FlaskClient) -> None:
    for headers in (
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://evil.example/localhost"},
    ):
        for form in ("calls/clear", "reset", "clock/freeze", "clock/advance", "explain"):
            assert bench.post(f"/_mock/page/default/{form}", headers=headers).status_code == 403

    assert "1 call<" in _page(bench, "calls")


def test_whoever_may_not_speak_to_the_control_plane_sees_no_page(bench: FlaskClient) -> None:
    bench.application.extensions["trigger_mock"].open(default(), name="private-bench")

    for headers in ({"Host": "evil.example"}, {"X-Forwarded-For": "203.0.113.9"}):
        answer = bench.get("/_mock/", headers=headers)
        assert answer.status_code == 403
        assert "private-bench" not in answer.text
    token = "tok" * 3
    client = create_app(default(), settings=Settings(control_token=token)).test_client()
    assert client.get("/_mock/").status_code == 401
    assert "Calls" in client.get("/_mock/", headers={"Authorization": f"Bearer {token}"}).text


def test_forms_lead_back_to_a_page_that_says_what_was_done(bench: FlaskClient) -> None:
    for form, said in (
        ("clock/freeze", "The clock stands still."),
        ("clock/resume", "The clock runs."),
        ("reset", "The bench is as at its start."),
        ("calls/clear", "All calls are forgotten."),
    ):
        answer = bench.post(f"/_mock/page/default/{form}", headers=FORM)
        assert answer.status_code == 303
        assert said in bench.get(answer.location).text


def test_the_clock_is_moved_by_a_button_or_by_the_field(bench: FlaskClient) -> None:
    clock = bench.application.extensions["trigger_mock"].default.clock
    clock.freeze()
    before = clock.now

    bench.post("/_mock/page/default/clock/advance", data={"seconds": "60"}, headers=FORM)
    bench.post("/_mock/page/default/clock/advance", data={"seconds": "60", "step": "3600"}, headers=FORM)
    for seconds in ("-1", "nan", "inf", "", "1e99", "x"):
        refused = bench.post("/_mock/page/default/clock/advance", data={"seconds": seconds}, headers=FORM)
        assert refused.status_code == 422

    assert clock.now == before + 3660


def test_a_preset_is_switched_on_and_off(bench: FlaskClient) -> None:
    faults = bench.application.extensions["trigger_mock"].default.faults

    bench.post("/_mock/page/default/faults/preset", data={"preset": "rate-limited"}, headers=FORM)
    assert [rule.preset for rule in faults] == ["rate-limited"]
    assert bench.post(PATH, json=MISTAKEN, headers=KEY).status_code == 429
    assert "struck 1 of 1 call meant" in _page(bench, "faults")
    assert "fault: error" in re.sub("<[^>]+>", "", _page(bench, "calls"))
    bench.post("/_mock/page/default/faults/preset", data={"preset": "rate-limited"}, headers=FORM)
    assert list(faults) == []
    assert bench.post(PATH, json=MISTAKEN, headers=KEY).status_code == 200
    unknown = bench.post("/_mock/page/default/faults/preset", data={"preset": XSS}, headers=FORM)
    assert unknown.status_code == 422


def test_any_fault_is_written_as_json_and_a_wrong_one_is_said(bench: FlaskClient) -> None:
    faults = bench.application.extensions["trigger_mock"].default.faults

    for wrong in (XSS, "", "[]", '{"fault": {"kind": "nonsense"}}', '{"preset": "no"}', '{"typo": 1}'):
        answer = bench.post("/_mock/page/default/faults", data={"rule": wrong}, headers=FORM)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert len(_Markup(answer.text).of("script")) == 1
    rule = {"fault": {"kind": "error", "status": 503}, "match": {"tool": XSS}, "times": 2}
    for _ in range(2):
        bench.post("/_mock/page/default/faults", data={"rule": json.dumps(rule)}, headers=FORM)
    assert len(list(faults)) == 2
    assert len(_Markup(_page(bench, "faults")).of("script")) == 1

    first = next(iter(faults)).id
    bench.post("/_mock/page/default/faults/remove", data={"rule": first}, headers=FORM)
    assert len(list(faults)) == 1
    bench.post("/_mock/page/default/faults/remove", headers=FORM)
    assert list(faults) == []


def test_filters_choose_calls_and_a_wrong_one_is_said(bench: FlaskClient) -> None:
    bench.post(PATH, json={"user_id": "user-123", "entities": ["tool_loop.py"]}, headers=KEY)

    def numbers(**filters: str) -> list[str]:
        return re.findall(r'data-number="(\d+)"', _page(bench, "calls", query_string=filters))

    assert numbers() == ["2", "1"]
    assert numbers(recalled="yes") == ["2"]
    assert numbers(recalled="no") == ["1"]
    assert numbers(tool="x") == ["1"]
    assert numbers(entity="tool_loop.py") == ["2"]
    assert numbers(status="200", user_id="user-123", organisation="acme") == ["2", "1"]
    assert numbers(before="2") == ["1"]
    assert numbers(status="many") == []
    assert "status" in _page(bench, "calls", query_string={"status": "many"})


def test_many_calls_come_in_pages(bench: FlaskClient) -> None:
    for _ in range(60):
        bench.post(PATH, json={"user_id": "u", "entities": ["e"]}, headers=KEY)

    first = _page(bench, "calls")
    older = re.search(r'href="([^"]*before=12[^"]*)"', first)
    assert older
    assert len(re.findall("data-number", first)) == 50
    assert len(re.findall("data-number", bench.get(older[1]).text)) == 11


def test_the_live_list_is_sent_only_when_it_changed(bench: FlaskClient) -> None:
    listed = _page(bench, "calls/live")
    state = re.search('data-state="([^"]+)"', listed)
    assert state

    assert bench.get("/_mock/page/default/calls/live", query_string={"state": state[1]}).status_code == 204
    bench.post(PATH, json=MISTAKEN, headers=KEY)
    again = bench.get("/_mock/page/default/calls/live", query_string={"state": state[1]})
    assert again.status_code == 200
    assert "<html" not in again.text


def test_rows_are_filtered_and_paged(bench: FlaskClient) -> None:
    def ids(**filters: str) -> list[str]:
        return re.findall(
            r'class="go mono" href="[^"]*id=([^"]+)"', _page(bench, "rows", query_string=filters)
        )

    rows = default().rows
    assert len(ids()) == 50
    assert len({*ids(), *ids(offset="50"), *ids(offset="100")}) == len(rows)
    assert len(ids(type="fact")) == sum(row.type == "fact" for row in rows)
    assert len(ids(entity="tool_loop.py", organisation="acme")) == sum(
        "tool_loop.py" in row.trigger_entities and row.organisation == "acme" for row in rows
    )
    assert ids(text="no row holds this") == []
    assert ids(type="nonsense") == []


def test_what_is_not_there_is_a_page_too(bench: FlaskClient) -> None:
    for path in ("default/calls/99", "default/row?id=x", "gone/calls", "default/explain?call=99"):
        answer = bench.get(f"/_mock/page/{path}")
        assert answer.status_code == 404
        assert "<h1>404</h1>" in answer.text


def test_a_bench_has_pages_of_its_own(bench: FlaskClient) -> None:
    benches = bench.application.extensions["trigger_mock"]
    made = benches.open(default(), name="other")
    bench.post(PATH, json=MISTAKEN, headers={"x-api-key": made.store.organisations["acme"].keys[0].key})

    assert bench.get("/_mock/page/?bench=other").location == "/_mock/page/other/calls"
    assert "1 call<" in bench.get("/_mock/page/other/calls").text
    assert "<option selected>other</option>" in bench.get("/_mock/page/other/calls").text
    bench.post("/_mock/page/other/reset", headers=FORM)
    assert "0 calls<" in bench.get("/_mock/page/other/calls").text
    assert "1 call<" in _page(bench, "calls")


def test_nothing_of_the_page_is_imported_before_somebody_asks_for_it() -> None:
    code = (
        "import sys; from trigger_mock import create_app, Settings; from trigger_fixtures import default\n"
        "client = create_app(default(), settings=Settings()).test_client()\n"
        "client.post('/v1/memories/trigger'); assert 'trigger_mock.control.page' not in sys.modules\n"
        "client.get('/_mock/'); assert 'trigger_mock.control.page' in sys.modules"
    )
    assert run_code(code).returncode == 0


def test_the_page_is_gone_when_the_control_plane_is_off() -> None:
    client = create_app(default(), settings=Settings(control=False)).test_client()

    answer = client.get("/_mock/")
    assert answer.status_code == 404
    assert answer.content_type == "application/json"
