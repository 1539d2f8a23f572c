"""Who may speak to the control plane, tried from where one may not."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.mock.processes import run_code
from trigger_fixtures import default
from trigger_mock import Settings, create_app

BENCHES = "/_mock/benches"
TOKEN = "s3cret:with:colons-é"  # noqa: S105 - of this test alone


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(default(), settings=Settings()).test_client()


@pytest.fixture(scope="module")
def tokened() -> FlaskClient:
    return create_app(default(), settings=Settings(control_token=TOKEN)).test_client()


def environ(address: str | None = "127.0.0.1", host: str = "localhost:8900") -> dict[str, Any]:
    return {"REMOTE_ADDR": address, "HTTP_HOST": host}


def latin(text: str) -> str:
    return text.encode().decode("latin-1")


def basic(password: str, name: str = "any") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "127.0.0.1:8900",
        "127.9.9.9",
        "[::1]:8900",
        "mock.localhost:80",
        "[::ffff:127.0.0.1]",
    ],
)
def test_this_machine_is_asked_for_by_its_own_names(client: FlaskClient, host: str) -> None:
    assert client.get(BENCHES, environ_overrides=environ(host=host)).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8900",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example#localhost",
        "localhost:80:evil",
        "localhost:port",
        "127.0.0.1:999999",
        "[::1",
        "[::1]x",
        "::1",
        "",
        "0.0.0.0",  # noqa: S104 - a name to be refused
        "[::]",
        "192.168.1.5",
        "2130706433",
        "0x7f.1",
        "127.1",
        "localhost evil",
        "evil.example\\localhost",
    ],
)
def test_another_name_that_leads_here_is_refused(client: FlaskClient, host: str) -> None:
    assert client.get(BENCHES, environ_overrides=environ(host=host)).status_code == 403


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
def test_this_machine_may_ask(client: FlaskClient, address: str) -> None:
    assert client.get(BENCHES, environ_overrides=environ(address)).status_code == 200


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "::2", "::ffff:10.0.0.1", "", "<local>", "localhost", "fe80::1%lo"]
)
def test_another_machine_may_not(client: FlaskClient, address: str) -> None:
    answer = client.get(BENCHES, environ_overrides=environ(address))
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "Via", "X-Forwarded-Proto"]
)
def test_nor_may_whoever_comes_through_a_proxy(client: FlaskClient, header: str) -> None:
    assert client.get(BENCHES, headers={header: "127.0.0.1"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:9000"},
        {"Origin": "http://localhost:8900.evil.example"},
        {"Origin": "http://localhost:8900", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "new-value"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_page_of_another_site_changes_nothing(
    client: FlaskClient, tokened: FlaskClient, method: str, headers: dict[str, str]
) -> None:
    for asked, more in ((client, {}), (tokened, {"Authorization": basic(TOKEN)})):
        answer = asked.open(
            f"{BENCHES}/default/reset", method=method, headers=headers | more, environ_overrides=environ()
        )
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://localhost:8900", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_its_own_pages_and_programs_do(client: FlaskClient, headers: dict[str, str]) -> None:
    answer = client.post(f"{BENCHES}/default/reset", headers=headers, environ_overrides=environ())
    assert answer.status_code == 204


@pytest.mark.parametrize("authorization", [f"Bearer {latin(TOKEN)}", f"bearer  {latin(TOKEN)}", basic(TOKEN)])
def test_the_token_opens_from_anywhere(tokened: FlaskClient, authorization: str) -> None:
    answer = tokened.get(
        BENCHES,
        headers={"Authorization": authorization, "X-Forwarded-For": "10.1.1.1"},
        environ_overrides=environ("10.0.0.1", "mock.example"),
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer x", f"Bearer {latin(TOKEN)}x", f"Bearer {latin(TOKEN)[:-1]}",
     latin(TOKEN), f"Token {latin(TOKEN)}", "Basic", "Basic !!!", "Basic c3g=", basic(""),
     basic("x"), basic("x", TOKEN), f"Bearer{latin(TOKEN)}", "Bearer \xff"],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "path", [BENCHES, "/_mock/openapi.json", "/_mock/", "/_mock", "/_mock/live/", "/_mock/no"]
)
def test_without_the_token_nothing_answers(tokened: FlaskClient, authorization: str, path: str) -> None:
    answer = tokened.get(path, headers={"Authorization": authorization}, environ_overrides=environ())
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].lower().startswith("basic ")
    assert TOKEN not in answer.text


def test_probes_of_containers_need_no_token(tokened: FlaskClient) -> None:
    there = environ("10.0.0.1", "10.0.0.9:8900")
    assert tokened.get("/_mock/live", environ_overrides=there).get_json() == {"status": "live"}
    assert tokened.get("/_mock/ready", environ_overrides=there).get_json()["status"] == "ready"
    assert tokened.post("/_mock/live", environ_overrides=there).status_code == 401


@pytest.mark.parametrize(
    "path", ["/_mock", "/_mock/", "/_mock/live", "/_mock/benches", "/_mock/openapi.json", "/_mock/nothing"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_switched_off_it_is_a_path_like_any_other(path: str, method: str) -> None:
    client = create_app(
        default(), settings=Settings(control=False), request_ids=lambda: "req-1"
    ).test_client()
    answer, other = client.open(path, method=method), client.open("/nothing", method=method)
    assert (answer.status_code, answer.data) == (404, other.data)
    assert dict(answer.headers) == dict(other.headers)


@pytest.mark.parametrize(
    ("settings", "asked"), [("control=False", "/_mock/live"), ("", "/v1/memories/trigger")]
)
def test_nothing_of_it_is_imported_before_it_is_asked_for(settings: str, asked: str) -> None:
    done = run_code(
        "import sys\n"
        "from trigger_mock import Settings, create_app\n"
        "from trigger_fixtures import default\n"
        f"client = create_app(default(), settings=Settings({settings})).test_client()\n"
        f"client.get({asked!r})\n"
        "print(sorted(name for name in sys.modules if name.startswith('trigger_mock.control.')))\n"
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
