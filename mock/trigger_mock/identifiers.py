"""Which identifiers an action fires: the greppable symbols in its tool name, its arguments' values and its
output.

Contract: `ActionContext` ('greppable identifiers are extracted server-side'); the rules are this project's
reading of it.

Texts. The `tool` name; every string in the values of `args`, at any depth; `output`. Keys of `args` do not
fire. Numbers and booleans in `args` fire by their JSON text alone, as the client wrote it (`1.50`, `404`,
`true`); null fires nothing.

From each text:

1. the whole text, trimmed;
2. each word (the text split at white space), as it stands and *bare*: without quotes and brackets around it
   and without punctuation after it;
3. runs of two to four consecutive words, joined by one blank, as they stand and bare, and likewise within
   each stretch between `=`, `:`, `,`, `(` and `)`: `gh pr view`, also in `PR=$(gh pr view 12)`;
4. the pieces of a word between `=`, `:`, `,`, `(` and `)`, bare.

Words, pieces and a whole text of one line are read further:

5. a path or URL (anything with `/` or `\\` in it) fires every trailing sub-path, `src/app/loop.py` →
   `app/loop.py` and `loop.py`, and the stem of its file, `loop`; one with back-slashes fires the slashed form
   of each as well; a query or fragment is cut off, and a URL fires its absolute path, `/v1/refunds`. A
   directory's name alone never fires: `/home/users/` gives `home/users`, not `users`, and
   `app/(auth)/page.tsx` no `auth`;
6. a file's name on its own (`loop.py`) fires its stem. It is told from a dotted name by its ending: up to
   five letters and digits that begin with a letter, or one of a few longer ones such as `parquet`;
7. a dotted or `::` name fires its trailing parts: `stripe.refunds.create` → `refunds.create` and `create`.

Linear in the input: rules 5 to 7 look at the last 64 segments of a name and make nothing longer than 1,024
characters. Knows nothing of rows: what is fired here is only ever compared whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from trigger_mock.json_values import is_array, is_object
from trigger_mock.numbers import json_text

MOST_SEGMENTS = 64
LONGEST_PART = 1024
LONGEST_RUN = 4

_OPENING = "'\"`“”‘’«»()[]{}<>"
_CLOSING = _OPENING + ".,;:!?…"
_BETWEEN_PIECES = re.compile(r"([=:,()]+)")
_QUERY = re.compile(r"[?#]")
_SEPARATOR = re.compile(r"[/\\]+")
_FILE_ENDING = re.compile(r"[A-Za-z][A-Za-z0-9]{0,4}|feather|gradle|markdown|parquet|properties|sqlite3?")
_READ_FURTHER = re.compile(r"[/\\.=:,()]")


class Action(Protocol):
    """The call in flight, as the contract's `ActionContext`."""

    @property
    def tool(self) -> str | None: ...  # noqa: D102
    @property
    def args(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def output(self) -> str | None: ...  # noqa: D102


def identifiers(action: Action) -> frozenset[str]:
    """All identifiers that the action fires, by the rules above."""
    fired: set[str] = set()
    for _, value in sources(action):
        if isinstance(value, str):
            read(value, fired)
        else:
            fired.add(json_text(value))
    return frozenset(fired)


def sources(action: Action) -> Iterator[tuple[str, str | float | bool]]:
    """The values that fire, each with where it stands (`action.args.edits[0].path`), in the order of the
    request.
    """
    if action.tool is not None:
        yield "action.tool", action.tool
    if action.args is not None:
        # A stack in place of recursion: arguments may be nested as deeply as JSON parsing allows.
        stack: list[tuple[str, Any]] = [("action.args", action.args)]
        while stack:
            place, value = stack.pop()
            if is_object(value):
                stack.extend((f"{place}.{key}", value[key]) for key in reversed(value))
            elif is_array(value):
                stack.extend((f"{place}[{at}]", value[at]) for at in reversed(range(len(value))))
            elif value is not None:
                yield place, value
    if action.output is not None:
        yield "action.output", action.output


def read(text: str, fired: set[str]) -> None:
    """Add what one text fires."""
    words = text.split()
    if not words:
        return
    whole = text.strip()
    fired.add(whole)
    if len(words) > 1 and len(whole) <= LONGEST_PART and "\n" not in whole:
        _read_path(whole, fired)
    bare = [word.lstrip(_OPENING).rstrip(_CLOSING) for word in words]
    for word in {*words, *bare}:
        if word:
            fired.add(word)
            if _READ_FURTHER.search(word):
                _read_word(word, fired)
    _read_runs(words, fired)
    if bare != words:
        _read_runs(bare, fired)
        for stretch in _BETWEEN_PIECES.split(text)[::2]:
            _read_runs([word.lstrip(_OPENING).rstrip(_CLOSING) for word in stretch.split()], fired)


def _read_runs(words: list[str], fired: set[str]) -> None:
    for length in range(2, LONGEST_RUN + 1):
        fired.update(map(" ".join, zip(*(words[start:] for start in range(length)), strict=False)))


def _read_word(word: str, fired: set[str]) -> None:
    _read_name(word, fired)
    parts = _BETWEEN_PIECES.split(word)
    if len(parts) > 1:
        bare = {
            parts[at].lstrip(_OPENING).rstrip(_CLOSING)
            for at in range(0, len(parts), 2)
            if not _is_directory(parts, at)
        }
        for piece in filter(None, bare):
            fired.add(piece)
            _read_name(piece, fired)


def _is_directory(parts: list[str], at: int) -> bool:
    """Whether a piece is the name of a directory alone, as `auth` is in `app/(auth)/page.tsx`."""
    before = parts[at - 2] if at > 1 else ""
    after = parts[at + 2] if at + 2 < len(parts) else ""
    if not after.startswith(("/", "\\")) or _SEPARATOR.search(parts[at]):
        return False
    return before.endswith(("/", "\\")) or parts[at + 1].startswith(")")


def _read_name(name: str, fired: set[str]) -> None:
    if "/" in name or "\\" in name:
        _read_path(name, fired)
        return
    stem, _, ending = name.rpartition(".")
    if stem.strip(".") and _FILE_ENDING.fullmatch(ending):
        fired.add(stem)
    for joint in (".", "::"):
        if joint in name:
            _read_trailing_parts(name, joint, fired)


def _read_trailing_parts(name: str, joint: str, fired: set[str]) -> None:
    start = len(name)
    for _ in range(MOST_SEGMENTS):
        start = name.rfind(joint, 0, start)
        if start < 0 or len(name) - start > LONGEST_PART:
            return
        part = name[start + len(joint) :]
        if part:
            fired.add(part)


def _read_path(path: str, fired: set[str]) -> None:
    _, is_url, rest = path.partition("://")
    if is_url:
        path = rest
    cut = _QUERY.split(path, maxsplit=1)[0]
    for one in filter(None, {path, cut}):
        if len(one) <= LONGEST_PART:
            fired.add(one)
        _read_sub_paths(one, fired)
        if "\\" in one:
            slashed = _SEPARATOR.sub("/", one)
            if len(slashed) <= LONGEST_PART:
                fired.add(slashed)
            _read_sub_paths(slashed, fired)
    if is_url and "/" in cut and len(cut) <= LONGEST_PART:
        fired.add(cut[cut.index("/") :])


def _read_sub_paths(path: str, fired: set[str]) -> None:
    kept = path.rstrip("/\\")
    ends_in_directory = len(kept) < len(path)
    at = len(kept)
    for segment in range(MOST_SEGMENTS):
        at = max(kept.rfind("/", 0, at), kept.rfind("\\", 0, at))
        if at < 0 or len(kept) - at > LONGEST_PART:
            break
        part = kept[at + 1 :]
        if part and not (ends_in_directory and segment == 0):
            fired.add(part)
    if not ends_in_directory:
        name = kept[max(kept.rfind("/"), kept.rfind("\\")) + 1 :]
        stem, dot, _ = name.rpartition(".")
        if dot and stem.strip("."):
            fired.add(stem)
