"""Wrong about equality: values that are normalised, decoded, stemmed or cut before they are compared."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any
from urllib.parse import unquote

from tests.servers.behaviour import Behaviour
from tests.servers.data import KEYS
from tests.servers.messages import TriggerRequest
from tests.servers.variants.registry import breaks


def _without_accents(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))


def _ignorable(text: str) -> str:
    return "".join(one for one in text if unicodedata.category(one) != "Cf")


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


#: Each way of likeness, by the name and the story of the servers that apply it.
_WAYS: dict[str, tuple[Any, str]] = {
    "nfkc": (
        lambda text: unicodedata.normalize("NFKC", text),
        "normalised to NFKC, in which full width is plain",
    ),
    "casefold-beyond-ascii": (
        lambda text: "".join(one if one.isascii() else one.casefold() for one in text),
        "folded beyond ASCII only",
    ),
    "accents-ignored": (_without_accents, "compared by a collation that ignores accents"),
    "ignorables-dropped": (_ignorable, "stripped of invisible characters"),
    "trailing-whitespace-ignored": (
        lambda text: text.rstrip("\t\n\r\v\f"),
        "stripped of trailing tabs and newlines",
    ),
    "padded": (lambda text: text.rstrip(" "), "compared as CHAR columns: trailing blanks do not count"),
    "percent-decoded": (unquote, "percent-decoded"),
    "entities-decoded": (html.unescape, "HTML-unescaped"),
    "dashes-are-underscores": (
        lambda text: text.replace("-", "_"),
        "turned into slugs: - and _ are the same",
    ),
    "punctuation-dropped": (lambda text: re.sub(r"[^\w]|_", "", text), "stripped of punctuation"),
    "cut-at-nul": (lambda text: text.partition("\0")[0], "C strings, which end at NUL"),
    "quotes-stripped": (lambda text: text.strip("'\"`"), "stripped of quotes around them"),
    "blanks-inside-dropped": (lambda text: text.replace(" ", ""), "stripped of blanks, also inside"),
}

_ENTITY_WAYS: dict[str, tuple[Any, str]] = {
    "snake-case": (_snake, "turned into snake case"),
    "plural-stemmed": (lambda text: text.removesuffix("s"), "stemmed: a plural is its singular"),
    "extension-ignored": (
        lambda text: re.sub(r"\.(py|json|ts)$", "", text),
        "compared without a file's extension",
    ),
    "line-number-ignored": (lambda text: re.sub(r":\d+$", "", text), "stripped of a line number"),
    "dot-slash-ignored": (lambda text: text.removeprefix("./"), "normalised as paths: ./x is x"),
    "sigil-ignored": (lambda text: text.lstrip("@#$"), "stripped of @, # and $ at the head"),
    "letters-sorted": (lambda text: "".join(sorted(text)), "compared by a hash that knows no order"),
    "call-parens-ignored": (lambda text: text.removesuffix("()"), "stripped of the parentheses of a call"),
}


def _register(
    promise: str, prefix: str, what: str, ways: dict[str, tuple[Any, str]], hook: str, also: str
) -> None:
    for name, (normal, how) in ways.items():

        def alike(self: Any, one: str | None, two: str | None, normal: Any = normal) -> bool:
            if one is None:
                return hook == "pinned"
            return two is not None and normal(one) == normal(two)

        members: dict[str, Any] = {hook: alike}
        if hook == "pinned":

            def shares(self: Any, wanted: Any, actual: Any, normal: Any = normal) -> bool:
                held = {normal(one) for one in actual}
                return not wanted or any(normal(one) in held for one in wanted)

            members["shares"] = shares
        variant: Any = type(f"{prefix}{name}", (Behaviour,), members)
        breaks(
            promise,
            *(("SCOPE-1",) if hook == "pinned" else ()),
            name=f"{prefix}-{name}",
            also=also,
            story=f"{what} are {how}.",
        )(variant)


_register("SCOPE-5", "scope", "Scope values", _WAYS, "pinned", "SCOPE-8")
_register("MATCH-3", "match", "Entities", _WAYS | _ENTITY_WAYS, "same", "MATCH-5")


@breaks(
    "MATCH-3",
    name="match-transposed",
    also="MATCH-5",
    story="Search forgives two letters that changed places.",
)
class MatchTransposed(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        if name == entity:
            return True
        apart = [at for at, (one, two) in enumerate(zip(name, entity, strict=False)) if one != two]
        return (
            len(name) == len(entity)
            and len(apart) == 2
            and name[apart[0]] == entity[apart[1]]
            and name[apart[1]] == entity[apart[0]]
        )


@breaks(
    "MATCH-3", name="match-one-typo", also="MATCH-5", story="Search forgives one letter that was replaced."
)
class MatchOneTypo(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return (
            len(name) == len(entity) and sum(one != two for one, two in zip(name, entity, strict=True)) <= 1
        )


@breaks(
    "MATCH-3",
    name="match-any-line",
    also="MATCH-5",
    story="The pattern is anchored with ^ and $ in multi-line mode.",
)
class MatchAnyLine(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return entity in name.split("\n")


@breaks(
    "MATCH-3", name="match-first-word", also="MATCH-5", story="Only the first word of an entity is looked up."
)
class MatchFirstWord(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return name.split(" ")[0] == entity


@breaks(
    "MATCH-3", name="match-comma-list", also="MATCH-5", story="An entity with commas is taken for a list."
)
class MatchCommaList(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return entity in name.split(",")


@breaks("MATCH-3", name="match-key-value", also="MATCH-5", story="What follows `=` is looked up by itself.")
class MatchKeyValue(Behaviour):
    def same(self, name: str, entity: str) -> bool:
        return entity in (name, name.rpartition("=")[2])


# ------------------------------------------------------------------ enums and keys


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return unicodedata.normalize("NFKC", value).replace("\u200b", "") if isinstance(value, str) else value


@breaks("VAL-4", name="mode-nfkc", also="VAL-6", story="The mode is normalised to NFKC before it is checked.")
class ModeNfkc(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and isinstance(value.get("mode"), str):
            value = {**value, "mode": _plain(value["mode"])}
        return super().validate(value)


@breaks(
    "VAL-3",
    name="include-nfkc",
    also="VAL-10",
    story="The types are normalised to NFKC before they are checked.",
)
class IncludeNfkc(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and isinstance(value.get("include"), list):
            value = {**value, "include": _plain(value["include"])}
        return super().validate(value)


@breaks("VAL-3", name="include-comma-list", story="`lesson,procedure` is split, as in a query string.")
class IncludeCommaList(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and isinstance(value.get("include"), list):
            split = [
                part
                for one in value["include"]
                for part in (one.split(",") if isinstance(one, str) else [one])
            ]
            value = {**value, "include": split}
        return super().validate(value)


@breaks("VAL-5", name="task-nfc", story="The task is normalised to NFC before it is measured.")
class TaskNfc(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and isinstance(value.get("task"), str):
            value = {**value, "task": unicodedata.normalize("NFC", value["task"])}
        return super().validate(value)


@breaks("VAL-5", name="task-graphemes", story="The task is measured in what a reader takes for a character.")
class TaskGraphemes(Behaviour):
    def validate(self, value: Any) -> TriggerRequest:
        if isinstance(value, dict) and isinstance(value.get("task"), str):
            marks = "\u200d\ufe0f"
            value = {
                **value,
                "task": "".join(
                    one for one in value["task"] if not unicodedata.combining(one) and one not in marks
                ),
            }
        return super().validate(value)


class _LikeKeys(Behaviour):
    """Takes a key that is like a stored one."""

    def normal(self, key: str) -> str:
        raise NotImplementedError

    def known(self, key: str) -> bool:
        return self._stored(key) is not None

    def organisation(self, key: str) -> str:
        return KEYS[self._stored(key) or ""]

    def _stored(self, key: str) -> str | None:
        wanted = self.normal(key)
        return next((one for one in KEYS if self.normal(one) == wanted), None)


@breaks("AUTH-5", name="key-punctuation-ignored", story="Keys are compared without dashes and underscores.")
class KeyPunctuationIgnored(_LikeKeys):
    def normal(self, key: str) -> str:
        return re.sub(r"[-_]", "", key)


@breaks(
    "AUTH-5", name="key-middle-ignored", story="Keys are looked up by their masked form: first and last four."
)
class KeyMiddleIgnored(_LikeKeys):
    def normal(self, key: str) -> str:
        return f"{key[:9]}{len(key)}{key[-2:]}"


@breaks("AUTH-5", name="key-first-word", story="What follows a blank or a comma in the header is cut off.")
class KeyFirstWord(_LikeKeys):
    def normal(self, key: str) -> str:
        return re.split(r"[ ,;]", key)[0]


@breaks(
    "AUTH-5", name="key-quotes-stripped", story="Quotes around the key are stripped, as people paste them."
)
class KeyQuotesStripped(_LikeKeys):
    def normal(self, key: str) -> str:
        return key.strip("'\"")


@breaks(
    "AUTH-5",
    name="key-one-character-off",
    story="A checksum is compared that one changed letter does not change.",
)
class KeyOneCharacterOff(_LikeKeys):
    def _stored(self, key: str) -> str | None:
        for one in KEYS:
            if len(one) == len(key) and sum(a != b for a, b in zip(one, key, strict=True)) <= 1:
                return one
        return None
