"""Durations in an HDR histogram: three significant digits up to a minute, added up exactly.

A typed face for the library, and the one form of histogram that all of the kit's runs share. Values are
whole microseconds; what lasted longer than a minute counts as a minute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram  # pyright: ignore[reportMissingTypeStubs]

LONGEST_US = 60_000_000
DIGITS = 3


def microseconds(seconds: float) -> int:
    """Return a duration as it is recorded."""
    return min(max(int(seconds * 1e6), 1), LONGEST_US)


class Histogram:
    """Durations, counted."""

    __slots__ = ("_hist",)

    def __init__(self, encoded: bytes | None = None) -> None:
        self._hist: Any = HdrHistogram.decode(encoded) if encoded else HdrHistogram(1, LONGEST_US, DIGITS)  # pyright: ignore

    def record(self, seconds: float) -> None:
        """Count a duration."""
        self._hist.record_value(microseconds(seconds))

    def add(self, other: Histogram) -> None:
        """Add another histogram's counts to these."""
        self._hist.add(other._hist)

    def encode(self) -> bytes:
        """Return the histogram in the library's compressed form, for the wire."""
        encoded: bytes = self._hist.encode()
        return encoded

    @property
    def count(self) -> int:
        """How many durations were counted."""
        return int(self._hist.get_total_count())

    def counts(self) -> dict[int, int]:
        """Return every counted value (in microseconds, as distinguished) with its count."""
        hist = self._hist
        return {
            hist.get_value_from_index(index): number
            for index in range(hist.counts_len)
            if (number := hist.get_count_at_index(index))
        }

    def percentile(self, at: float) -> float | None:
        """Return a percentile in milliseconds (100 is the maximum), or None when nothing was counted."""
        return self.percentiles([at])[at]

    def percentiles(self, wanted: Sequence[float]) -> dict[float, float | None]:
        """Return several percentiles in milliseconds, in one pass."""
        if not self.count:
            return dict.fromkeys(wanted)
        found = self._hist.get_percentile_to_value_dict([at for at in wanted if at < 100])
        return {at: round(found.get(at, self._hist.get_max_value()) / 1000, 3) for at in wanted}

    def over(self, seconds: float) -> int:
        """Return how many durations were longer than this."""
        hist = self._hist
        limit = hist.get_highest_equivalent_value(microseconds(seconds))
        first = bisect_right(range(hist.counts_len), limit, key=hist.get_value_from_index)
        return sum(hist.get_count_at_index(index) for index in range(first, hist.counts_len))
