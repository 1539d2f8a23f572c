"""A file that is no contract document is named with its line and what is wrong there."""

from __future__ import annotations

from pathlib import Path

import pytest

from trigger_contracts.reading import UnreadableDocument, read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "contract:1: holds nothing"),
        (b"[]", "contract:1: holds an array"),
        (b"3", "contract:1: holds a number"),
        (b'{"a": 1,\n "b": }', "contract:2: not JSON"),
        (b"a: 1\nb: [", "contract:3: not YAML|contract:2: not YAML"),
        (b"a: 1\n\tb: 2", "contract:2: not YAML"),
        (b"openapi: 3.1.0\nx: \x07", "contract:2: not YAML"),
        (b"a: 1\nb: \xff", "contract:2: not UTF-8"),
        (b"{}", "contract:1: no `openapi` field"),
        (b'{"swagger": "2.0"}', "contract:1: a Swagger 2 document"),
        (b'{\n"openapi": 3.1}', "contract:2: `openapi` is 3.1; expected a text"),
        (b'{"openapi": "2.9"}', "contract:1: `openapi` is '2.9'"),
        (b"openapi: 3.1.0\nx: &a [*a]", "an alias holds itself"),
        (b"openapi: 3.1.0\nx: !!binary aGk=", "holds a bytes"),
        (b"openapi: 3.1.0\n? [1, 2]\n: x", "not YAML|unhashable"),
        (b"openapi: 3.1.0\nx: !!python/name:os.system", "contract:2: not YAML"),
        (b'{"openapi": "3.1.0", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b"openapi: 3.1.0\nx: " + b"[" * 5_000 + b"]" * 5_000, "nested too deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_contract_is_explained(tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "contract"
    file.write_bytes(text)

    with pytest.raises(UnreadableDocument, match=said):
        read(file)


def test_aliases_that_expand_without_end_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "contract"
    rows = ["openapi: 3.1.0", "a0: &a0 [x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    file.write_text("\n".join(rows), encoding="utf-8")

    with pytest.raises(UnreadableDocument, match="aliases expand"):
        read(file)


@pytest.mark.parametrize("name", ["missing.json", ".", "nul\0byte"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableDocument, match="cannot be read"):
        read(tmp_path / name)


def test_yaml_reads_as_json_would(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text(
        "\ufeffopenapi: '3.1.0'\nresponses: {200: {when: 2026-01-01}, true: x}\nshared: [&a {b: 1}, *a]\n",
        encoding="utf-8",
    )

    assert read(file) == {
        "openapi": "3.1.0",
        "responses": {"200": {"when": "2026-01-01"}, "true": "x"},
        "shared": [{"b": 1}, {"b": 1}],
    }
