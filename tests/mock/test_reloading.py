"""Fixture files that change while the server answers: what is served, what is told, and what stays."""

# An answer's JSON may be anything; here it is looked into.
# mypy: disable-error-code="index"
from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.mock.conftest import PATH
from trigger_fixtures import Corpus, load, parse
from trigger_fixtures.sources import stamp_of
from trigger_mock import Settings, create_app
from trigger_mock.benches import Benches
from trigger_mock.reloading import Reloading

KEY = {"x-api-key": "xtk_north"}
NORTH: dict[str, Any] = {"north": {"keys": ["xtk_north"]}}
TYPES = "one of fact, artifact, episode, lesson, procedure"
BROKEN = "organisations: {north: {keys: [xtk_north]}}\nmemories:\n- {organisation: north, type: lessson}\n"


def document(*entities: str, organisations: dict[str, Any] | None = None) -> str:
    memories = [
        {
            "organisation": "north", "type": "lesson", "text": f"About {entity}.",
            "user_id": "u", "trigger_entities": [entity],
        }
        for entity in entities
    ]  # fmt: skip
    return json.dumps({"organisations": organisations or NORTH, "memories": memories})


#: What another file may add: memories alone.
MORE = json.dumps({"memories": json.loads(document("second"))["memories"]})


class Files:
    """A folder of fixtures, the application that answers from it, and what looks at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.save(document("first"))
        self.app: Flask = create_app(load(folder), settings=Settings())
        self.client: FlaskClient = self.app.test_client()
        self.benches: Benches = self.app.extensions["trigger_mock"]
        self.keeper = self.watch(lambda: load(folder))

    def watch(self, read: Callable[[], Corpus]) -> Reloading:
        """Have a new keeper that reads in this way."""
        self.keeper = self.benches.reloading = Reloading(self.benches, [self.folder], read, now=lambda: 0.0)
        return self.keeper

    def save(self, text: str, name: str = "one.yaml") -> None:
        """Save as editors do: a new file in the place of the old one."""
        new = self.folder / f".{name}.new"
        new.write_text(text, encoding="utf-8")
        new.replace(self.folder / name)

    def look(self) -> bool:
        """Look until a change has settled; whether anything was read."""
        return any([self.keeper.look(), self.keeper.look()])

    def recalls(self, *entities: str, key: dict[str, str] | None = None) -> list[str]:
        answer = self.client.post(PATH, json={"user_id": "u", "entities": entities}, headers=key or KEY)
        assert answer.status_code == 200, answer.json
        return sorted(row["text"] for row in answer.json["data"])

    def status(self) -> dict[str, Any]:
        answer = self.client.get("/_mock/fixtures/status")
        assert answer.status_code == 200
        return dict(answer.get_json())


@pytest.fixture
def files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Files:
    caplog.set_level(logging.INFO, "trigger_mock")
    return Files(tmp_path)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What the log says of fixtures: level and text."""
    return [(record.levelname, record.getMessage()) for record in caplog.records if "fixtures" in record.msg
            or record.levelno >= logging.ERROR]  # fmt: skip


def test_what_did_not_change_is_not_read_again(files: Files) -> None:
    assert not files.look()
    assert files.status() == {
        "sources": [str(files.folder)], "watched": True, "reloads": 0, "last_reload": None,
    }  # fmt: skip


def test_a_save_is_served_after_it_settled(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    files.save(document("second"))
    assert not files.keeper.look()
    assert files.recalls("first", "second") == ["About first."]
    assert files.keeper.look()
    assert files.recalls("first", "second") == ["About second."]
    assert told(caplog) == [("INFO", "fixtures read again: 1 memories")]


def a_new_file(folder: Path) -> None:
    (folder / "two.json").write_text(MORE, encoding="utf-8")


def a_new_folder(folder: Path) -> None:
    (folder / "deeper").mkdir()
    (folder / "deeper" / "two.json").write_text(MORE, encoding="utf-8")


def in_place(folder: Path) -> None:
    (folder / "one.yaml").write_text(document("first", "second"), encoding="utf-8")


@pytest.mark.parametrize("change", [a_new_file, a_new_folder, in_place])
def test_files_may_come_go_and_be_written_in_place(files: Files, change: Callable[[Path], object]) -> None:
    change(files.folder)
    assert files.look()
    assert files.recalls("first", "second") == ["About first.", "About second."]


def test_a_file_that_is_renamed_holds_what_it_held(files: Files) -> None:
    (files.folder / "one.yaml").rename(files.folder / "two.yaml")
    assert files.look()
    assert files.recalls("first") == ["About first."]
    assert files.status()["last_reload"]["ok"]


def test_a_file_that_is_gone_takes_its_rows_along(files: Files) -> None:
    files.save(MORE, "two.json")
    assert files.look()
    assert files.recalls("first", "second") == ["About first.", "About second."]
    (files.folder / "two.json").unlink()
    assert files.look()
    assert files.recalls("first", "second") == ["About first."]


def test_a_bad_save_keeps_the_old_data_and_is_told_once(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        files.save(BROKEN)
        assert files.look()
    assert files.recalls("first") == ["About first."]
    ((level, message),) = told(caplog)
    assert level == "ERROR"
    place = f"{files.folder / 'one.yaml'}:3: memories[0]"
    assert message.splitlines() == [
        "2 mistakes in the fixtures",
        f'{place}.type: seen "lessson"; expected {TYPES}; did you mean lesson?',
        f"{place}.text: seen nothing; expected text",
        "the fixtures as they were are served on",
    ]
    shown = files.status()["last_reload"]
    assert (shown["time"], shown["ok"]) == ("1970-01-01T00:00:00.000Z", False)
    assert shown["mistakes"][0] == {
        "file": str(files.folder / "one.yaml"), "line": 3, "field": "memories[0].type", "seen": '"lessson"',
        "expected": f"{TYPES}; did you mean lesson?",
    }  # fmt: skip


def test_the_next_good_save_mends_it_and_says_so_once(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    files.save(BROKEN)
    files.look()
    caplog.clear()
    for entity in ("second", "third"):
        files.save(document(entity))
        assert files.look()
    assert files.recalls("third") == ["About third."]
    assert told(caplog) == [
        ("INFO", "fixtures mended; read again: 1 memories"),
        ("INFO", "fixtures read again: 1 memories"),
    ]
    assert files.status()["reloads"] == 2


def test_another_mistake_is_told_again(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    files.save(BROKEN)
    files.look()
    files.save("[")
    files.look()
    assert [level for level, _ in told(caplog)] == ["ERROR", "ERROR"]


def test_files_that_are_gone_altogether_are_a_mistake_like_others(files: Files) -> None:
    (files.folder / "one.yaml").unlink()
    assert files.look()
    assert files.recalls("first") == ["About first."]
    assert not files.status()["last_reload"]["ok"]
    files.save(document("second"))
    assert files.look()
    assert files.recalls("second") == ["About second."]


def test_no_mistake_tells_a_key(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    secret = "xtk_secret_of_real_data"  # noqa: S105 - nobody's
    files.save(
        document("first", organisations={"north": {"keys": [secret, secret, f"{secret} "], secret: 1}})
    )
    assert files.look()
    assert secret not in "".join(message for _, message in told(caplog))
    assert secret not in json.dumps(files.status())


@pytest.mark.parametrize("half", ["", BROKEN], ids=["truncated", "broken"])
def test_a_save_that_is_caught_midway_is_neither_served_nor_told(
    files: Files, caplog: pytest.LogCaptureFixture, half: str
) -> None:
    """The writer goes on while the file is read: what was read is half of it."""

    writing = True

    def read() -> Corpus:
        nonlocal writing
        found = load_or_error(files.folder)
        if writing:
            writing = False
            files.save(document("second"))
        return found()

    files.watch(read)
    files.save(half)
    assert files.look()
    assert files.recalls("first") == ["About first."]
    assert (told(caplog), files.status()["last_reload"]) == ([], None)
    assert files.look()
    assert files.recalls("second") == ["About second."]
    assert [level for level, _ in told(caplog)] == ["INFO"]


def load_or_error(folder: Path) -> Callable[[], Corpus]:
    """Load now; give it, or raise, when called."""
    try:
        corpus = load(folder)
    except Exception as error:  # noqa: BLE001 - raised by what is returned
        kept = error

        def fail() -> Corpus:
            raise kept

        return fail
    return lambda: corpus


def test_whatever_fails_in_reading_is_tried_again_with_the_next_save_only(files: Files) -> None:
    tried: list[int] = []

    def read() -> Corpus:
        tried.append(1)
        raise RuntimeError("out of luck")

    files.watch(read)
    files.save(document("second"))
    files.keeper.look()
    with pytest.raises(RuntimeError):
        files.keeper.look()
    assert not any(files.keeper.look() for _ in range(5))
    assert (len(tried), files.recalls("first")) == (1, ["About first."])


def test_what_was_saved_while_the_server_started_is_not_missed(files: Files) -> None:
    before = stamp_of([files.folder])
    files.save(document("second"))
    files.keeper = Reloading(files.benches, [files.folder], lambda: load(files.folder), read=before)
    assert files.look()
    assert files.recalls("second") == ["About second."]


def test_a_file_of_the_same_size_and_time_is_told_apart_by_its_identity(files: Files) -> None:
    path = files.folder / "one.yaml"
    was = path.stat()
    files.save(document("other"))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert path.stat().st_size == was.st_size
    assert files.look()


def test_rows_added_at_run_time_stay_and_the_files_win(files: Files) -> None:
    rows = "/_mock/benches/default/rows"
    added = json.loads(document("added"))["memories"][0]
    (first,) = files.benches.default.store.rows
    assert files.client.post(rows, json=added).status_code == 201
    changed = {**added, "id": first.id, "text": "Changed."}
    assert files.client.post(rows, json=changed).status_code == 201
    files.save(document("first", "second"))
    files.look()
    assert files.recalls("first", "second", "added") == ["About added.", "About first.", "About second."]
    files.client.post("/_mock/benches/default/reset")
    assert files.recalls("first", "second", "added") == ["About first.", "About second."]


def test_rows_go_with_their_organisation(files: Files) -> None:
    both = {**NORTH, "south": {"keys": ["xtk_south"]}}
    files.save(document("first", organisations=both))
    files.look()
    added = {**json.loads(document("added"))["memories"][0], "organisation": "south"}
    assert files.client.post("/_mock/benches/default/rows", json=added).status_code == 201
    assert files.recalls("added", key={"x-api-key": "xtk_south"}) == ["About added."]
    files.save(document("first"))
    files.look()
    assert [row.organisation for row in files.benches.default.store.rows] == ["north"]


def test_keys_that_come_and_go_take_effect(files: Files) -> None:
    files.save(document("first", organisations={"north": {"keys": ["xtk_new"]}}))
    files.look()
    ask = {"user_id": "u", "entities": ["first"]}
    assert files.client.post(PATH, json=ask, headers=KEY).status_code == 401
    assert files.recalls("first", key={"x-api-key": "xtk_new"}) == ["About first."]


def test_a_changed_limit_takes_effect_at_once(files: Files) -> None:
    """What was counted under a rate of another period does not bind the new one."""
    ask = {"user_id": "u", "entities": ["first"]}

    def limited(rate: str) -> None:
        files.save(document("first", organisations={"north": {"keys": ["xtk_north"], "rate_limit": rate}}))
        assert files.look()

    limited("2/hour")
    assert [files.client.post(PATH, json=ask, headers=KEY).status_code for _ in range(3)] == [200, 200, 429]
    limited("1/minute")
    answer = files.client.post(PATH, json=ask, headers=KEY)
    assert (answer.status_code, answer.headers["RateLimit-Limit"]) == (200, "1")
    assert files.client.post(PATH, json=ask, headers=KEY).status_code == 429


def test_a_request_from_before_a_change_leaves_no_limit_behind(files: Files) -> None:
    late = files.benches.caller("xtk_north", None)
    files.save(document("first", organisations={"north": {"keys": ["xtk_north"], "rate_limit": "7/minute"}}))
    files.look()
    files.benches.default.limiter.spend(late)
    answer = files.client.post(PATH, json={"user_id": "u", "entities": ["first"]}, headers=KEY)
    assert answer.headers["RateLimit-Limit"] == "7"


def test_a_key_of_another_bench_is_a_mistake_that_changes_nothing(files: Files) -> None:
    made = files.client.post("/_mock/benches", json={"name": "other"}).json
    files.save(document("second", organisations={"north": {"keys": [made["api_key"]]}}))
    assert files.look()
    assert files.recalls("first") == ["About first."]
    (mistake,) = files.status()["last_reload"]["mistakes"]
    assert mistake["field"] == "organisations"
    assert made["api_key"] not in json.dumps(mistake)


def test_other_benches_feel_nothing_of_it(files: Files) -> None:
    made = files.client.post("/_mock/benches", json={"from": "default"}).json
    files.save(document("second"))
    files.look()
    assert files.recalls("first", key={"x-api-key": made["api_key"]}) == ["About first."]


def test_a_server_without_files_of_its_own_says_so() -> None:
    corpus = parse(document("first").encode(), name="at hand")
    client = create_app(corpus, settings=Settings()).test_client()
    assert client.get("/_mock/fixtures/status").json == {
        "sources": ["at hand"], "watched": False, "reloads": 0, "last_reload": None,
    }  # fmt: skip


def test_looking_ends_when_it_is_told_to(files: Files) -> None:
    files.keeper.start()
    files.keeper.stop()
    assert files.keeper._thread is not None
    assert not files.keeper._thread.is_alive()
