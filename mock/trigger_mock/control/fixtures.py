"""The whole data of a bench over HTTP: exported as fixtures, or replaced by others.

Keys are secrets of whoever loads real data, so an export names them and does not tell them, unless asked to.
"""

from __future__ import annotations

from itertools import count
from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from trigger_fixtures import Corpus, KeyName, Organisation, document_of, dump
from trigger_mock.benches import Bench
from trigger_mock.control.fixture_schema import DOCUMENT, corpus_of
from trigger_mock.control.room import Room, benches, json_response

room = Room("fixtures")


class Export(BaseModel):
    """How an export is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Annotated[Literal["json", "yaml"], Field(description="What files hold, too.")] = "json"
    keys: Annotated[
        bool, Field(description="Tell the keys themselves, in place of xtk_exported_1 and so on.")
    ] = False


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
