"""The whole data of a bench over HTTP: exported as fixtures, or replaced by others; and how the files stand
that the server was started with.

Keys are secrets of whoever loads real data, so an export names them and does not tell them, unless asked to.
"""

from __future__ import annotations

from itertools import count
from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from trigger_fixtures import Corpus, KeyName, Organisation, document_of, dump
from trigger_mock.benches import Bench
from trigger_mock.control.fixture_schema import DOCUMENT, corpus_of
from trigger_mock.control.room import Room, benches, json_response, rfc3339
from trigger_mock.reloading import Status

room = Room("fixtures")


class Export(BaseModel):
    """How an export is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Annotated[Literal["json", "yaml"], Field(description="What files hold, too.")] = "json"
    keys: Annotated[
        bool, Field(description="Tell the keys themselves, in place of xtk_exported_1 and so on.")
    ] = False


class MistakeShown(TypedDict):
    """One mistake in a file. `line` is null where the file as a whole is meant."""

    file: str
    line: int | None
    field: str
    seen: str
    expected: str


class LastReload(TypedDict):
    """The last time that the files were read again; `ok`: what they hold is served."""

    time: str
    ok: bool
    mistakes: list[MistakeShown]


class FilesShown(TypedDict):
    """The files of the default bench. `watched`: they are read again when they change; `reloads`: how often
    that was put in place; `last_reload` is null where they were not read again since the start.
    """

    sources: list[str]
    watched: bool
    reloads: int
    last_reload: LastReload | None


@room.serve("GET", "/fixtures/status", answer=FilesShown)
def show_files() -> FilesShown:
    """Tell how the fixture files stand, and what is wrong with them."""
    keeper = benches().reloading
    status = keeper.status if keeper else Status(sources=benches().default.store.origin.sources)
    last: LastReload | None = None
    if status.read_at is not None:
        mistakes: list[MistakeShown] = [
            {
                "file": each.file,
                "line": each.line,
                "field": each.field,
                "seen": each.seen,
                "expected": each.expected,
            }
            for each in status.mistakes
        ]
        last = {"time": rfc3339(status.read_at), "ok": not mistakes, "mistakes": mistakes}
    return {
        "sources": list(status.sources),
        "watched": status.watched,
        "reloads": status.reloads,
        "last_reload": last,
    }


@room.serve(
    "GET", "/benches/{bench}/fixtures", query=Export, answer=dict[str, Any], media=("application/yaml",)
)
def export_fixtures(bench: Bench, query: Export) -> Response:
    """Export rows and organisations as they stand, as a file would hold them."""
    key_name = None if query.keys else _names()
    if query.format == "yaml":
        return Response(dump(bench.store.corpus, key_name=key_name), content_type="application/yaml")
    return json_response(document_of(bench.store.corpus, key_name=key_name))


@room.serve("PUT", "/benches/{bench}/fixtures", body=DOCUMENT)
def replace_fixtures(bench: Bench, body: Any) -> None:
    """Have these organisations, keys and rows in place of all that there were, until the next reset."""
    corpus = corpus_of(body)
    benches().replace(bench, Corpus(organisations=corpus.organisations, rows=corpus.rows, sources=()))


def _names() -> KeyName:
    """What stands for each key: a key of its own, so that the export can be read again."""
    numbers = count(1)

    def name(_organisation: Organisation, _position: int) -> str:
        return f"xtk_exported_{next(numbers)}"

    return name
