from __future__ import annotations

from pathlib import Path

import pytest

from trigger_loadtests import safety
from trigger_loadtests.acquaintance import Key, UnknownError, key_from, population_from
from trigger_loadtests.safety import TargetError


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://localhost", "https://[::1]:1", "http://127.9.9.9"]
)
def test_this_machine_may_be_loaded_freely(url: str) -> None:
    safety.allow(url, [])


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://10.0.0.8",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://0.0.0.0",
        "http://[2001:db8::1]",
    ],
)
def test_any_other_host_must_be_named_as_ones_own(url: str) -> None:
    with pytest.raises(TargetError, match="--i-own-this-target"):
        safety.allow(url, ["another.example.com"])


@pytest.mark.parametrize(
    ("url", "owned"),
    [("https://API.example.com/base", "api.example.com"), ("http://[2001:db8::1]:80", "[2001:db8::1]")],
)
def test_a_host_that_was_named_may_be_loaded(url: str, owned: str) -> None:
    safety.allow(url, [owned])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:80",
        "ftp://x",
        "http://",
        "http://u:secretpw@h",
        "http://h?key=secretpw",
        "http://h#f",
        "http://h:99999",
    ],
)
def test_what_is_no_base_url_is_refused_without_repeating_a_password(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        safety.base_url(text)

    assert "secretpw" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://h:1/", "http://h:1"),
        ("http://h/api/", "http://h/api"),
        ("http://h/v1/memories/trigger", "http://h"),
    ],
)
def test_a_base_url_is_taken_without_its_end(text: str, base: str) -> None:
    assert safety.base_url(text) == base


def test_a_key_comes_from_the_variable_that_was_named() -> None:
    assert key_from({"K": "one", "TRIGGER_API_KEY": "two"}, "K", loopback=True)[0] == "one"
    assert key_from({"TRIGGER_API_KEY": "two"}, None, loopback=False)[0] == "two"


def test_a_named_variable_that_is_empty_is_wrong_use() -> None:
    with pytest.raises(UnknownError, match="MISSING"):
        key_from({"TRIGGER_API_KEY": "two"}, "MISSING", loopback=True)


def test_away_from_this_machine_there_is_no_demo_key() -> None:
    with pytest.raises(UnknownError, match="--api-key-env"):
        key_from({}, None, loopback=False)
    assert key_from({}, None, loopback=True).demo


@pytest.mark.parametrize("secret", ["with\nnewline", "trailing ", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(secret: str) -> None:
    with pytest.raises(UnknownError) as caught:
        key_from({"K": secret}, "K", loopback=True)

    assert secret not in str(caught.value)


def test_a_key_does_not_show_itself() -> None:
    assert "sesame" not in repr(Key("sesame", "$K"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "probes: []",
        "probes: [7]",
        "probes: [{user_id: u}]",
        "probes: [{user_id: u, trigger_entities: x}]",
        "probes: [{user_id: u, trigger_entities: [x], group_ids: g}]",
        "probes: [{trigger_entities: [x]}]",
        "{",
    ],
)
def test_a_probe_file_that_holds_no_known_row_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "probes.yaml"
    path.write_text(text)

    with pytest.raises(UnknownError, match=r"probes\.yaml"):
        population_from([], str(path), Key("k", "$K"), 0)


def test_probes_are_what_agents_know(tmp_path: Path) -> None:
    path = tmp_path / "probes.yaml"
    path.write_text(
        "probes: [{id: a, type: lesson, user_id: u, trigger_entities: [x, y]},"
        '{id: b, type: procedure, user_id: "\\uD800", trigger_entities: [z]}]'
    )

    population = population_from([], str(path), Key("k", "$K"), 0)

    assert [(row.user_id, row.entities) for row in population.rows] == [("u", ("x", "y"))]


def test_the_shipped_fixtures_are_what_the_demo_key_knows() -> None:
    key = key_from({}, None, loopback=True)
    population = population_from([], None, key, 0)

    assert len(population.rows) > 10
    assert "shipped" in population.source
