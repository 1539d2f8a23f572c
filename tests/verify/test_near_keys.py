"""Near misses of a key: what a report shows can be run, and what a target echoes of them tells no key."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from trigger_contracts.near import near_keys
from trigger_contracts.redaction import MASK, Redactor

#: Invented; of even and odd length, with and without characters that a shell minds.
_KEYS = ("rk_North-4Hq8Zt2m", "xtk_demo_acme_key1", "xtk_s3cr&t<Key>/w1th+\"odd'\\chars==")
_EACH = [(key, what) for key in _KEYS for what in near_keys(key, "KEY")]
#: Half of a key in a row tells it nearly; less is no secret.
_TELLING = [(key, what) for key, what in _EACH if len(near_keys(key, "KEY")[what][0]) * 2 > len(key)]
_NAMES = [f"{number}-{what.replace(' ', '-')}" for number, (_, what) in enumerate(_EACH)]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize("key", _KEYS, ids=["odd", "even", "quoted"])
def test_a_shell_makes_of_the_variable_what_was_sent(key: str) -> None:
    for what, (sent, expression) in near_keys(key, "KEY").items():
        made = subprocess.run(
            ["sh", "-c", f'printf %s "{expression}"'],
            env={**os.environ, "KEY": key},
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stdout == sent, what


@pytest.mark.parametrize(("key", "what"), _EACH, ids=_NAMES)
def test_an_expression_holds_nothing_of_the_key(key: str, what: str) -> None:
    _, expression = near_keys(key, "KEY")[what]

    assert Redactor([key])(expression) == expression


@pytest.mark.parametrize(("key", "what"), _TELLING)
def test_an_echoed_near_miss_is_masked_where_it_tells_the_key(key: str, what: str) -> None:
    sent, _ = near_keys(key, "KEY")[what]

    assert MASK in Redactor([key])(f"no such key: {sent}")
