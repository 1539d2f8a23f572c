"""The page in a browser: calls that come while one looks, keys, switches, and text that would like to run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.mock.browser import CHROMIUM, Browser, chromium
from tests.mock.processes import Running, running

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

KEY = "xtk_page"
XSS = "</pre></textarea><script>window.owned=1</script><img src=x onerror='owned=1'><svg onload=alert(1)>"
ROWS = {
    "organisations": {"north": {"keys": [KEY]}},
    "memories": [
        {
            "organisation": "north", "type": "lesson", "user_id": "user-123",
            "trigger_entities": ["tool_loop.py"], "text": "Re-raise AbortError in the loop.",
        },
        {
            "organisation": "north", "type": "procedure", "user_id": XSS, "trigger_entities": [XSS, "evil"],
            "text": XSS + "\u202e" + "w" * 3000, "steps": [XSS],
        },
    ],
}  # fmt: skip
MISTAKEN = {"user_id": "user-123", "action": {"tool": "x", "input": {"file_path": "tool_loop.py"}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    path = tmp_path_factory.mktemp("page") / "fixtures.json"
    path.write_text(json.dumps(ROWS))
    with running("--port=0", f"--fixtures={path}") as up:
        yield up


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(started: Browser, server: Running) -> Iterator[Browser]:
    """A tab on a bench as at its start; whatever the console says fails the test."""
    _ask(server, "/_mock/benches/default/reset")
    started.size(1280, 900)
    started.complaints.clear()
    yield started
    assert started.complaints == []
    assert not started.evaluate("window.owned")


def _ask(server: Running, path: str, body: bytes = b"", **headers: str) -> int:
    request = Request(server.url + path, body, {"content-type": "application/json", **headers}, method="POST")
    try:
        with urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def _call(server: Running, body: Any, **headers: str) -> int:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _ask(server, "/v1/memories/trigger", raw, **{"x-api-key": KEY, **headers})


def _focused(browser: Browser) -> str:
    return str(browser.evaluate("document.activeElement.innerText || document.activeElement.id"))


def test_a_call_appears_as_it_comes_and_its_page_tells_why(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/")
    assert "No call yet" in browser.text()

    _call(server, MISTAKEN)
    browser.until("document.querySelectorAll('[data-number]').length === 1")
    assert "action.input is not read; action.args would have fired tool_loop.py (1 row)" in browser.text()
    browser.click("[data-number] a.go")

    said = browser.text()
    assert "action.input is not read; action.args would have fired tool_loop.py (1 row)" in said
    assert "200 with no rows: no row of north carries the identifier fired" in said
    assert "action.tool" in said
    assert '-H "x-api-key: $TRIGGER_API_KEY"' in said
    assert KEY not in browser.evaluate("document.documentElement.outerHTML")


def test_nothing_comes_while_the_list_is_paused(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/")
    browser.press("p")
    browser.until("document.querySelector('[data-told]').innerText === 'Paused'")
    _call(server, MISTAKEN)
    browser.evaluate("new Promise((done) => setTimeout(done, 2500))")  # two looks would have happened by now
    assert browser.evaluate("document.querySelectorAll('[data-number]').length") == 0

    browser.press("p")
    browser.until("document.querySelectorAll('[data-number]').length === 1")


def test_keys_move_through_the_calls_and_open_one(browser: Browser, server: Running) -> None:
    for _ in range(3):
        _call(server, MISTAKEN)
    browser.open(f"{server.url}/_mock/")
    numbers = browser.evaluate("[...document.querySelectorAll('a.go')].map((each) => each.innerText)")

    browser.press("j")
    assert _focused(browser) == numbers[0]
    browser.press("j", "ArrowDown", "j")
    assert _focused(browser) == numbers[2]
    browser.press("k")
    assert _focused(browser) == numbers[1]
    _call(server, MISTAKEN)
    browser.until("document.querySelectorAll('[data-number]').length === 4")
    assert _focused(browser) == numbers[1]
    browser.expecting_load(lambda: browser.press("Enter"))
    assert browser.evaluate("document.title").startswith(numbers[1].replace("\n#", " "))


def test_the_slash_key_leads_to_the_filter_and_it_filters(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/page/default/rows")
    assert "2" in browser.evaluate("document.querySelector('.head').innerText")

    browser.press("/")
    assert _focused(browser) == "text"
    browser.write("ABORTERROR")
    browser.expecting_load(lambda: browser.press("Enter"))

    assert "1 that match, of 2" in browser.text()
    browser.click("a.go")
    assert "Re-raise AbortError in the loop." in browser.text()


def test_the_first_tab_stop_skips_to_the_content(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/")
    browser.press("Tab")
    assert _focused(browser) == "Skip to the content"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    browser.press("Enter")
    browser.until("document.activeElement.id === 'main'")


def test_the_clock_is_frozen_moved_and_let_go(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/page/default/clock")
    browser.click("form[action$=freeze] button")
    assert "stands still" in browser.text()
    before = browser.evaluate("Date.parse(document.querySelector('.clock time').dateTime)")
    browser.click("button[value='3600']")
    after = browser.evaluate("Date.parse(document.querySelector('.clock time').dateTime)")
    assert after - before == 3_600_000
    browser.click("form[action$=resume] button")
    assert "The clock runs." in browser.text()


def test_a_fault_is_switched_on_met_and_switched_off(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/page/default/faults")
    browser.click("button[value='rate-limited']")
    assert browser.evaluate("document.querySelector('[value=rate-limited]').ariaChecked") == "true"
    assert _call(server, MISTAKEN) == 429

    browser.click("nav a")
    assert "fault: error" in browser.text()
    browser.click("nav a[href$=faults]")
    assert "struck 1 of 1 call" in browser.text()
    browser.click("button[value='rate-limited']")
    assert "Nothing: every call is answered as it should be." in browser.text()
    assert _call(server, MISTAKEN) == 200


def test_an_explanation_is_given_without_a_call(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/page/default/explain")
    browser.press("/")
    browser.evaluate("document.activeElement.value = ''")
    browser.write(json.dumps(MISTAKEN))
    browser.click("main button.first")

    assert "action.input is not read; action.args would have fired tool_loop.py" in browser.text()
    assert json.loads(browser.evaluate("document.querySelector('textarea').value")) == MISTAKEN
    browser.open(f"{server.url}/_mock/")
    assert "No call yet" in browser.text()


def _hostile_pages(server: Running) -> Iterator[str]:
    headers = {"x-request-id": XSS, "user-agent": XSS, "x-odd": XSS}
    _call(server, {"user_id": XSS, "entities": [XSS, "evil"]}, **headers)
    _call(server, {XSS: XSS, "user_id": "u", "action": {"tool": XSS, "args": {XSS: "w" * 5000}}}, **headers)
    _call(server, XSS.encode(), **headers)
    _call(server, MISTAKEN, **{"x-api-key": XSS})
    rule = {"fault": {"kind": "error", "message": XSS}, "match": {"tool": XSS, "body": {XSS: "w" * 3000}}}
    assert _ask(server, "/_mock/benches/default/faults", json.dumps(rule).encode()) == 201
    with urlopen(f"{server.url}/_mock/benches/default/calls", timeout=30) as answer:
        numbers = [call["number"] for call in json.load(answer)["calls"]]
    with urlopen(f"{server.url}/_mock/benches/default/rows", timeout=30) as answer:
        rows = [row["id"] for row in json.load(answer)["memories"]]
    pages = ["calls", *(f"calls/{number}" for number in numbers), "rows", *(f"row?id={row}" for row in rows)]
    pages += [f"explain?call={numbers[1]}", "faults", "clock", "calls/0"]
    yield from (f"{server.url}/_mock/page/default/{page}" for page in pages)


@pytest.mark.parametrize("width", [375, 1280])
def test_hostile_text_neither_runs_nor_widens_the_page(browser: Browser, server: Running, width: int) -> None:
    browser.size(width, 800)
    for url in _hostile_pages(server):
        browser.open(url)
        browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        if url.endswith("calls/0"):
            assert len(browser.complaints) == 1  # the console names the 404
            browser.complaints.clear()
        assert browser.complaints == [], url
        assert not browser.evaluate("window.owned"), url
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, url
        assert browser.evaluate("document.querySelectorAll('script').length") == 1, url


def test_hostile_text_that_arrives_live_does_not_run(browser: Browser, server: Running) -> None:
    browser.open(f"{server.url}/_mock/")
    list(_hostile_pages(server))
    browser.until("document.querySelectorAll('[data-number]').length === 4")
    assert "<script>" in browser.text()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Browser, server: Running, dark: bool) -> None:
    """4.5 to 1, as WCAG AA wants, for every text on every page."""
    browser.size(1280, 900, dark=dark)
    for url in _hostile_pages(server):
        browser.open(url)
        assert browser.evaluate(_FAINT) == [], url
    browser.complaints.clear()


_FAINT = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
    .reduce((sum, each, at) => sum + each * [.2126, .7152, .0722][at], 0);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
  };
  document.getAnimations().forEach((each) => each.cancel());
  return [...document.querySelectorAll("body *")]
    .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((each) => each.checkVisibility() && !["SCRIPT", "OPTION"].includes(each.tagName))
    .filter((each) => {
      const [one, other] = [light(numbers(getComputedStyle(each).color)), light(ground(each))].sort();
      return (Math.max(one, other) + .05) / (Math.min(one, other) + .05) < 4.5;
    })
    .map((each) => each.outerHTML.slice(0, 200));
})()"""
