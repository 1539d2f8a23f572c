"""The command `trigger-mock explain`: why a request would be answered as it would be, without a server.

Exit 0: explained, refusals among them; 2: wrong use, or a file that cannot be read, said in one line. Whoever
runs it holds the fixtures, so rows of other organisations are shown as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trigger_mock.settings import MEBIBYTE

if TYPE_CHECKING:
    from trigger_fixtures import Corpus

STDIN = "-"


@click.command(short_help="Say why a request is answered as it is, without a server.")
@click.argument("body")
@click.option(
    "--fixtures", multiple=True, type=click.Path(), metavar="PATH", envvar="TRIGGER_MOCK_FIXTURES",
    help="File or folder, in place of the shipped set (`default`); repeat to overlay by id.",
)  # fmt: skip
@click.option("--key", metavar="KEY", help="Ask with this key of the fixtures.")
@click.option(
    "--organisation", metavar="NAME", help="Ask with a key of this organisation.  [default: the first]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_context
def explain(
    context: click.Context,
    body: str,
    fixtures: tuple[str, ...],
    key: str | None,
    organisation: str | None,
    *,
    as_json: bool,
) -> None:
    """Explain what the request in BODY (a JSON file, or - for stdin) fires and recalls, and why not more."""
    from trigger_mock.command import corpus_of
    from trigger_mock.explain import explain_bytes
    from trigger_mock.explanation_text import text_of

    outer: dict[str, Any] = context.parent.params if context.parent else {}
    corpus = corpus_of(fixtures or outer.get("fixtures", ()))
    name = _organisation(corpus, key, organisation)
    explanation = explain_bytes(_read(body), "application/json", name, corpus.rows, operator=True)
    # A terminal that knows no such letters shows their escapes.
    stdout: Any = sys.stdout
    if hasattr(stdout, "reconfigure"):
        stdout.reconfigure(errors="backslashreplace")
    click.echo(
        json.dumps(explanation.as_dict(), indent=2, ensure_ascii=False) if as_json else text_of(explanation)
    )


def _organisation(corpus: Corpus, key: str | None, name: str | None) -> str:
    if key is not None and name is not None:
        raise click.UsageError("--key and --organisation say the same thing; pass one of them")
    known = ", ".join(corpus.organisations)
    if key is not None:
        for organisation in corpus.organisations.values():
            if any(each.key == key for each in organisation.keys):
                return organisation.name
        raise click.UsageError(f"--key: no organisation of these fixtures has this key; they hold {known}")
    if name is None:
        return next(iter(corpus.organisations))
    if name not in corpus.organisations:
        raise click.UsageError(f"--organisation {name!r}: not in these fixtures; they hold {known}")
    return name


def _read(body: str) -> bytes:
    """What is in the file, up to the size that the mock accepts by default."""
    try:
        if body == STDIN:
            raw = sys.stdin.buffer.read(MEBIBYTE + 1)
        else:
            with Path(body).open("rb") as file:
                raw = file.read(MEBIBYTE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.UsageError(f"cannot read {body!r}: {reason}") from None
    if len(raw) > MEBIBYTE:
        raise click.UsageError(f"{body!r} is larger than 1 MiB; the mock answers 413 to such a body")
    return raw
