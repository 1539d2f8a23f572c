"""Rows and fixtures over HTTP: judged as files are, put in place whole, exported without keys."""

# An answer's JSON may be anything; here it is looked into.
# mypy: disable-error-code="index"
from __future__ import annotations

import json
from threading import Thread
from typing import Any

import pytest
import yaml
from flask.testing import FlaskClient

from tests.mock.conftest import PATH
from trigger_fixtures import parse
from trigger_mock import Settings, create_app
from trigger_mock.limits import Overrides

ROWS, FIXTURES = "/_mock/benches/default/rows", "/_mock/benches/default/fixtures"
ID = "5f0c2f0e-6f0a-5d0b-9c57-0d4f6b1a7e21"
NORTH, SOUTH = "xtk_north", "xtk_south"


def memory(text: str = "About loops.", **fields: Any) -> dict[str, Any]:
    return {"type": "lesson", "text": text, "user_id": "u", "trigger_entities": ["loop.py"]} | fields


def document(*memories: dict[str, Any], **keys: str) -> dict[str, Any]:
    return {
        "organisations": {name: {"keys": [key]} for name, key in keys.items()},
        "memories": list(memories),
    }


def serving(content: dict[str, Any], settings: Settings | None = None) -> FlaskClient:
    return create_app(parse(json.dumps(content).encode()), settings=settings or Settings()).test_client()


@pytest.fixture
def client() -> FlaskClient:
    """One organisation, one row."""
    return serving(document(memory("first", organisation="north"), north=NORTH))


@pytest.fixture
def two() -> FlaskClient:
    """Two organisations."""
    return serving(document(north=NORTH, south=SOUTH))


def recalls(client: FlaskClient, key: str = NORTH, entity: str = "loop.py") -> list[str]:
    answer = client.post(PATH, json={"user_id": "u", "entities": [entity]}, headers={"x-api-key": key})
    assert answer.status_code == 200, answer.json
    return sorted(row["text"] for row in answer.json["data"])


def test_a_row_that_is_added_is_recalled_by_the_next_call(client: FlaskClient) -> None:
    answer = client.post(ROWS, json=memory())
    (stored,) = answer.json["memories"]
    assert (answer.status_code, stored["organisation"], stored["text"]) == (201, "north", "About loops.")
    assert recalls(client) == ["About loops.", "first"]
    assert client.get(f"{ROWS}/{stored['id']}").json == stored


def test_an_id_is_derived_as_for_files(client: FlaskClient) -> None:
    content = document(memory(organisation="north"), north=NORTH)
    (row,) = parse(json.dumps(content).encode()).rows
    (stored,) = client.post(ROWS, json=memory()).json["memories"]
    assert (stored["id"], stored["created_at"]) == (row.id, row.created_at)


def test_a_row_takes_the_place_of_the_one_of_its_id(client: FlaskClient) -> None:
    for text in ("one", "two"):
        assert client.post(ROWS, json=memory(text, id=ID.upper())).json["memories"][0]["id"] == ID
    assert recalls(client) == ["first", "two"]
    answer = client.put(f"{ROWS}/{ID.upper()}", json=memory("three"))
    assert (answer.status_code, answer.json["text"]) == (200, "three")
    assert recalls(client) == ["first", "three"]


def test_all_of_several_rows_are_stored_or_none(client: FlaskClient) -> None:
    rows = [memory("a"), memory("b", type="lessson"), memory("c", usr_id="u")]
    answer = client.post(ROWS, json=rows)
    assert (answer.status_code, answer.json["error"]["code"]) == (422, "invalid_fixtures")
    assert [(each["field"], each["seen"]) for each in answer.json["error"]["mistakes"]] == [
        ("memories[1].type", '"lessson"'), ("memories[2].usr_id", "an unknown field"),
    ]  # fmt: skip
    assert recalls(client) == ["first"]


@pytest.mark.parametrize(
    "body", [1, "x", None, [1], {}, [memory(), {}], memory(text=" "), memory(gate="maybe")]
)
def test_what_is_no_memory_is_refused_with_what_would_be_right(client: FlaskClient, body: Any) -> None:
    answer = client.post(ROWS, data=json.dumps(body), content_type="application/json")
    assert (answer.status_code, answer.json["error"]["code"]) == (422, "invalid_fixtures")
    assert all(each["expected"] for each in answer.json["error"]["mistakes"])
    assert recalls(client) == ["first"]


def test_an_organisation_that_is_not_there_is_refused(two: FlaskClient) -> None:
    """A conflict with what is there: no schema can tell which organisations those are."""
    answer = two.post(ROWS, json=memory(organisation="west"))
    (mistake,) = answer.json["error"]["mistakes"]
    assert answer.status_code == 409
    assert mistake == {
        "field": "memories[0].organisation", "seen": '"west"', "expected": "one of north, south",
    }  # fmt: skip


def test_of_several_organisations_one_must_be_named(two: FlaskClient) -> None:
    answer = two.post(ROWS, json=memory())
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "conflict")
    assert two.post(ROWS, json=memory(organisation="south")).status_code == 201
    assert (recalls(two), recalls(two, SOUTH)) == ([], ["About loops."])


def test_filters_choose_rows_and_pages_are_in_the_order_of_ids(two: FlaskClient) -> None:
    made = [
        memory("one", organisation="north", agent_id="a", group_ids=["g"]),
        memory("two", organisation="south", trigger_entities=["other"]),
        memory("Three", organisation="south", type="procedure"),
    ]
    two.post(ROWS, json=made)

    def found(query: str) -> list[str]:
        return sorted(each["text"] for each in two.get(f"{ROWS}?{query}").json["memories"])

    assert found("organisation=south") == ["Three", "two"]
    assert found("entity=other") == ["two"]
    assert found("group_id=g&agent_id=a&user_id=u") == ["one"]
    assert found("text=THREE&type=procedure") == ["Three"]
    assert found("app_id=a") == []
    every = two.get(ROWS).json
    assert [each["id"] for each in every["memories"]] == sorted(each["id"] for each in every["memories"])
    assert two.get(f"{ROWS}?offset=1&limit=1").json == {
        "memories": every["memories"][1:2], "matching": 3,
    }  # fmt: skip


def test_rows_are_replaced_and_removed(client: FlaskClient) -> None:
    assert client.put(ROWS, json=[memory("a", id=ID), memory("b")]).status_code == 200
    assert recalls(client) == ["a", "b"]
    assert client.delete(f"{ROWS}/{ID}").status_code == 204
    assert client.delete(f"{ROWS}/{ID}").status_code == 404
    assert client.get(f"{ROWS}/{ID}").status_code == 404
    assert recalls(client) == ["b"]
    assert client.delete(ROWS).status_code == 204
    assert recalls(client) == []
    client.post("/_mock/benches/default/reset")
    assert recalls(client) == ["first"]


def test_rows_of_one_bench_are_not_those_of_another(client: FlaskClient) -> None:
    made = client.post("/_mock/benches", json={"name": "mine"}).json
    client.post("/_mock/benches/mine/rows", json=memory("mine"))
    assert (recalls(client, made["api_key"]), recalls(client)) == (["mine"], ["first"])


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_an_export_is_a_file_that_holds_what_is_served_and_no_key(client: FlaskClient, form: str) -> None:
    client.post(ROWS, json=memory("é\n---\n- no", id=ID))
    answer = client.get(f"{FIXTURES}?format={form}")
    assert answer.content_type.partition(";")[0] == f"application/{form}"
    assert NORTH not in answer.text
    corpus = parse(answer.data, form="json" if form == "json" else "yaml")
    assert sorted(row.text for row in corpus.rows) == ["first", "é\n---\n- no"]
    assert corpus.organisations["north"].keys[0].key == "xtk_exported_1"


def test_keys_are_exported_on_demand_and_the_export_put_back_is_the_same(client: FlaskClient) -> None:
    whole = client.get(f"{FIXTURES}?keys=true").json
    assert whole["organisations"]["north"]["keys"] == [NORTH]
    assert (
        yaml.safe_load(client.get(f"{FIXTURES}?keys=true&format=yaml").text)["memories"][0]["text"] == "first"
    )
    client.delete(ROWS)
    assert client.put(FIXTURES, json=whole).status_code == 204
    assert client.get(f"{FIXTURES}?keys=true").json == whole
    assert recalls(client) == ["first"]


def test_fixtures_that_are_put_bring_their_keys_and_limits_until_the_reset(client: FlaskClient) -> None:
    put = document(memory("south", organisation="south"), south=SOUTH)
    put["organisations"]["south"]["rate_limit"] = "1/minute"
    assert client.put(FIXTURES, json=put).status_code == 204
    ask = {"user_id": "u", "entities": ["loop.py"]}
    assert recalls(client, SOUTH) == ["south"]
    assert client.post(PATH, json=ask, headers={"x-api-key": SOUTH}).status_code == 429
    assert client.post(PATH, json=ask, headers={"x-api-key": NORTH}).status_code == 401
    client.post("/_mock/benches/default/reset")
    assert recalls(client) == ["first"]
    assert client.post(PATH, json=ask, headers={"x-api-key": SOUTH}).status_code == 401


def test_a_key_of_another_bench_is_refused_and_nothing_changes(client: FlaskClient) -> None:
    made = client.post("/_mock/benches", json={"name": "mine"}).json
    answer = client.put(FIXTURES, json=document(north=made["api_key"]))
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "conflict")
    assert made["api_key"] not in answer.text
    assert (recalls(client), recalls(client, made["api_key"])) == (["first"], [])


def test_no_mistake_tells_a_key(client: FlaskClient) -> None:
    put = {"organisations": {"north": {"keys": [NORTH, NORTH, f"{NORTH} "], NORTH: 1}}}
    answer = client.put(FIXTURES, json=put)
    assert answer.status_code == 422
    assert NORTH not in answer.text
    assert recalls(client) == ["first"]


def test_readers_see_all_of_what_was_put_or_nothing() -> None:
    unlimited = Settings(limits=Overrides("none", "none"))
    client = serving(document(memory("first", organisation="north"), north=NORTH), unlimited)
    application = client.application
    sizes: set[tuple[int, int]] = set()
    running = True

    def read() -> None:
        own = application.test_client()
        while running:
            found = recalls(own)
            sizes.add((len(found), len(set(found))))

    client.put(ROWS, json=[memory("0", app_id=str(number)) for number in range(20)])
    reader = Thread(target=read)
    reader.start()
    for generation in range(1, 30):
        rows = [memory(str(generation), app_id=str(number)) for number in range(20)]
        assert client.put(ROWS, json=rows).status_code == 200
    running = False
    reader.join()
    assert sizes == {(20, 1)}
