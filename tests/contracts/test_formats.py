"""Timestamps are RFC 3339 and ids are hyphenated UUIDs, to the letter."""

from __future__ import annotations

import pytest

from trigger_contracts.formats import is_date_time, is_uuid


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02t03:04:05.123456789z",
        "2026-01-02T03:04:05-00:00",
        "2024-02-29T23:59:59+23:59",
        "0000-02-29T00:00:00Z",
        "1998-12-31T23:59:60Z",
        "1998-12-31T15:59:60.5-08:00",
        "1999-01-01T05:29:60+05:30",
    ],
)
def test_a_timestamp_is_one(text: str) -> None:
    assert is_date_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05Z\n",
        "2026-01-02T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05+24:00",
        "٢٠٢٦-01-02T03:04:05Z",
    ],
)
def test_a_text_that_is_no_timestamp_is_refused(text: str) -> None:
    assert not is_date_time(text)


def test_a_uuid_is_hyphenated_in_either_case() -> None:
    assert is_uuid("0fa1c0e6-7f7d-4424-b72b-94b908c810ef")
    assert is_uuid("0FA1C0E6-7F7D-4424-B72B-94B908C810EF")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0fa1c0e67f7d4424b72b94b908c810ef",
        "{0fa1c0e6-7f7d-4424-b72b-94b908c810ef}",
        "urn:uuid:0fa1c0e6-7f7d-4424-b72b-94b908c810ef",
        "0fa1c0e6-7f7d-4424-b72b-94b908c810eg",
        "0fa1c0e6-7f7d-4424-b72b-94b908c810ef\n",
    ],
)
def test_a_text_that_is_no_uuid_is_refused(text: str) -> None:
    assert not is_uuid(text)


@pytest.mark.parametrize("value", [None, 3, [], {}])
def test_a_format_is_silent_about_what_is_no_text(value: object) -> None:
    assert is_date_time(value)
    assert is_uuid(value)
