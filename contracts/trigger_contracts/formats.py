"""The two formats that the contract asserts: `date-time` (RFC 3339) and `uuid` (RFC 9562, hyphenated).

Kept here so that every validator of the kit asserts the same thing; libraries differ on leap seconds, letter
case and braces. Each takes a text and says whether it is one; what is no text is not their business, as JSON
Schema has it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping

_DATE_TIME = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]"
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<ahead>[01][0-9]|2[0-3]):(?P<past>[0-5][0-9]))"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def is_date_time(text: object) -> bool:
    """Say whether a text is an RFC 3339 timestamp; a leap second only where UTC can have one."""
    if not isinstance(text, str):
        return True
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return False
    try:
        # RFC 3339 has a year 0000 and Python has not; 2000 is as much a leap year.
        dt.date.fromisoformat(re.sub("^0000", "2000", found["date"]))
    except ValueError:
        return False
    if found["second"] != "60":
        return True
    offset = int(found["ahead"] or 0) * 60 + int(found["past"] or 0)
    local = int(found["hour"]) * 60 + int(found["minute"])
    utc = local + offset if found["sign"] == "-" else local - offset
    return utc % 1440 == 1439


def is_uuid(text: object) -> bool:
    """Say whether a text is a UUID in the hyphenated form, in either letter case."""
    return not isinstance(text, str) or _UUID.fullmatch(text) is not None


FORMATS: Mapping[str, Callable[[object], bool]] = {"date-time": is_date_time, "uuid": is_uuid}
