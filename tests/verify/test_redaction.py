"""A key is found in whatever way it is written, and ordinary text is left alone."""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trigger_contracts.redaction import MASK, Redactor

#: What a header can carry without being quoted.
_KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=48).filter(
    lambda key: not any(key[at : at + 8].lower() in MASK for at in range(len(key) - 7))
)


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(one):04X}" for one in text)


def _entities(text: str) -> str:
    return "".join(f"&#{ord(one)};" for one in text)


def _hex_entities(text: str) -> str:
    return "".join(f"&#x{ord(one):x};" for one in text)


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _basic(text: str) -> str:
    return base64.b64encode(f"user:{text}".encode()).decode()


_WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper": str.upper,
    "backwards": lambda text: text[::-1],
    "json": lambda text: json.dumps(text)[1:-1],
    "json in json": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "json escapes": _escaped,
    "url": lambda text: urllib.parse.quote(text, safe=""),
    "url twice": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""),
    "every byte of a url": _percent,
    "html": html.escape,
    "html entities": _entities,
    "html entities in hex": _hex_entities,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 after a name": _basic,
    "hex": lambda text: text.encode().hex(),
}


@pytest.mark.parametrize("how", _WRITTEN)
@given(
    key=_KEYS,
    before=st.sampled_from(["", "key=", '{"seen": "', "a\nb "]),
    after=st.sampled_from(["", '"}', "\n"]),
)
@settings(max_examples=20, deadline=None)
def test_no_spelling_of_a_key_survives(how: str, key: str, before: str, after: str) -> None:
    written = _WRITTEN[how](key)

    shown = Redactor([key])(before + written + after)

    assert MASK in shown
    assert key.lower() not in shown.lower()
    assert written not in shown or written in MASK


@given(key=_KEYS, data=st.data())
@settings(max_examples=150, deadline=None)
def test_no_half_of_a_key_survives_where_a_text_was_cut(key: str, data: st.DataObject) -> None:
    least = max(8, (len(key) + 1) // 2)
    start = data.draw(st.integers(0, len(key) - least))
    end = data.draw(st.integers(start + least, len(key)))

    shown = Redactor([key])(f"<{key[start:end]}")

    assert key[start:end] not in shown
    assert MASK in shown


@given(text=st.text(st.sampled_from("0123456789 \n{}[],:"), max_size=200))
@settings(max_examples=100, deadline=None)
def test_a_text_that_holds_no_key_is_left_as_it_is(text: str) -> None:
    assert Redactor(["xtk_demo_acme", "other-key-of-another"])(text) == text


def test_a_short_key_is_masked_as_a_word_and_not_within_others() -> None:
    assert (
        Redactor(["cat"])("the cat is no category: x-api-key cat")
        == f"the {MASK} is no category: x-api-key {MASK}"
    )


def test_without_keys_nothing_is_masked() -> None:
    assert Redactor(["", ""])("anything") == "anything"
