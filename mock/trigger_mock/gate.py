"""Whether a recalled row helps with the task: a deterministic stand-in for the service's LLM relevance gate.

Contract: `TriggerRequest.task` and `mode=compose`. A verdict rests on the task and on the rows recalled, on
nothing else: no clock, no randomness, no network, and no row outside the caller's scope, whose words must not
be felt in an answer.

The score: the task and each row (text, categories, trigger entities) are split into terms (camelCase,
snake_case, dots and slashes apart, folded to lower case, stop words and single letters dropped, plural `s`
dropped; scripts written without blanks in pairs of characters). A term weighs more the fewer of the recalled
rows hold it. A row's confidence is `w / (w + 1)` for the weight `w` of the terms it shares with the task; one
shared term is enough to stay. Knows nothing of HTTP.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from trigger_fixtures import Keywords, Row
from trigger_mock.recall import Hit

#: Below this a row is dropped: the weight of one term that every recalled row holds just passes.
THRESHOLD = 0.4

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_APOSTROPHE = re.compile(r"['’]")
_ONE_LETTER = re.compile("[a-z0-9]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_NOTHING: frozenset[str] = frozenset()
_STOP_WORDS = frozenset(
    """about after all also an and any are as at be because been before but by can do does done for from get
    had has have how if in into is it its just me more must my need new no not of off on one only or our out
    over please should so some such than that the their them then there these they this those to too under up
    use used using via want was we were what when where which while who why will with without would you
    your aren couldn didn doesn don hadn hasn haven isn ll re shouldn ve wasn weren won wouldn""".split()
)


class Verdict(NamedTuple):
    """What the gate says of one row: whether it stays, how sure that is (0–1), and why."""

    kept: bool
    confidence: float
    because: str


def judge(task: str | None, hits: Sequence[Hit]) -> list[Verdict]:
    """One verdict a row, in order. Without a task (None or blank) every row stays, pinned or not."""
    if task is None or not task.strip():
        return [Verdict(True, 1.0, "no task was given, so nothing recalled is dropped")] * len(hits)
    said = _said(task)
    shared = [_vocabulary(hit.row) & said.keys() for hit in hits]
    spread: dict[str, int] = {}
    for each in shared:
        for term in each:
            spread[term] = spread.get(term, 0) + 1
    weights = {term: math.log(1 + len(hits) / holders) for term, holders in spread.items()}
    return [
        (_pinned(hit.row, task) if hit.row.gate else None) or _scored(each, weights, said)
        for hit, each in zip(hits, shared, strict=True)
    ]


@lru_cache(maxsize=1024)
def terms(text: str) -> frozenset[str]:
    """The terms of a text that say something."""
    return frozenset(_said(text))


def _said(text: str) -> dict[str, str]:
    """The terms of a text, each with the first part of a word that says it."""
    said: dict[str, str] = {}
    for word in reversed(_WORD.findall(text)):
        said.update(_spoken(word))
    return said


@lru_cache(maxsize=16384)
def _spoken(word: str) -> tuple[tuple[str, str], ...]:
    """The terms of a word, each with the part of it that it stands for. Texts differ, their words recur."""
    spoken: list[tuple[str, str]] = []
    # Of `what's` and `l'erreur` the longer side is the word.
    for part in _HUMP.split(max(_APOSTROPHE.split(word), key=len)):
        folded = part.casefold()
        if folded in _STOP_WORDS or _ONE_LETTER.fullmatch(folded):
            continue
        if _UNSPACED.fullmatch(folded) and len(folded) > 2:
            spoken += [(folded[at : at + 2], part[at : at + 2]) for at in range(len(folded) - 1)]
        else:
            spoken.append((_singular(folded), part))
    return tuple(spoken)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _vocabulary(row: Row) -> frozenset[str]:
    return _vocabulary_of(row.text, row.categories, row.trigger_entities)


@lru_cache(maxsize=8192)
def _vocabulary_of(text: str, categories: tuple[str, ...], entities: tuple[str, ...]) -> frozenset[str]:
    return _NOTHING.union(*map(terms, (text, *categories, *entities)))


def _pinned(row: Row, task: str) -> Verdict | None:
    match row.gate:
        case "always":
            return Verdict(True, 1.0, "pinned: always kept")
        case "never":
            return Verdict(False, 1.0, "pinned: never kept under a task")
        case Keywords(words):
            folded = task.casefold()
            present = [word for word in words if word.casefold() in folded]
            if present:
                return Verdict(True, 1.0, f"the task names {', '.join(present)}")
            return Verdict(False, 1.0, f"the task names none of {', '.join(words)}")
        case _:
            return None


def _scored(shared: Iterable[str], weights: dict[str, float], said: dict[str, str]) -> Verdict:
    # Summed in a fixed order: a float sum depends on it in the last digit, and a set has none.
    ordered = sorted(shared, key=lambda term: (-weights[term], term))
    weight = sum(map(weights.__getitem__, ordered))
    confidence = round(weight / (weight + 1), 4)
    if confidence < THRESHOLD:
        return Verdict(False, confidence, "shares no telling term with the task")
    return Verdict(True, confidence, f"shares {', '.join(said[term] for term in ordered[:3])} with the task")
