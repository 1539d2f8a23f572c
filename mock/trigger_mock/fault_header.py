"""`X-Trigger-Mock-Fault`: the fault that a request asks for by itself, for clients that can set nothing but
headers.

Its value is a preset's name, a kind with its parameters (`error; status=503; retry_after=2`), or a fault as a
JSON object. Knows nothing of what a fault does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from trigger_mock.fault_kinds import Fault
from trigger_mock.json_values import is_object
from trigger_mock.presets import PRESETS, Preset
from trigger_mock.refusals import Refusal
from trigger_mock.seen import shown

HEADER = "X-Trigger-Mock-Fault"
#: Where WSGI has it.
IN_ENVIRONMENT = "HTTP_X_TRIGGER_MOCK_FAULT"

_FAULT: TypeAdapter[Fault] = TypeAdapter(Fault)
_KIND = re.compile(r"[a-z_]+")
#: A part of the short form: text in quotes may hold what separates parts.
_PART = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*")+')
_RIGHT = (
    f"expected a preset ({', '.join(PRESETS)}), a kind with its parameters such as error; status=503, "
    "or a fault as a JSON object"
)


class InvalidFault(Refusal):
    """The header asks for no fault that there is."""

    status, code = 400, "invalid_fault"


@lru_cache(maxsize=256)
def asked_by(header: str) -> Fault | Preset:
    """The fault or preset that a header's value names. Raises `InvalidFault`."""
    text = header.strip()
    if text in PRESETS:
        return PRESETS[text]
    try:
        return _FAULT.validate_json(orjson.dumps(_read(text)), strict=True)
    except ValidationError as error:
        raise InvalidFault(f"{HEADER}: {mistakes(error)}; {_RIGHT}") from None


def mistakes(error: ValidationError) -> str:
    """What is wrong with a fault, field by field."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'][1:])) or 'the fault'}: {each['msg'][:1].lower()}{each['msg'][1:]}"
        for each in error.errors(include_url=False, include_input=False)[:10]
    )


def _read(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        try:
            value = orjson.loads(text.encode("latin-1", "replace"))
        except orjson.JSONDecodeError as error:
            raise InvalidFault(f"{HEADER} is no JSON: {error}; {_RIGHT}") from None
        return value if is_object(value) else {}
    kind, *parts = (part.strip() for part in _PART.findall(text) or [""])
    if not _KIND.fullmatch(kind) or _PART.sub("", text).strip("; "):
        raise InvalidFault(f"{HEADER} is {shown(text)!r}; {_RIGHT}")
    fault: dict[str, Any] = {"kind": kind}
    for part in filter(None, parts):
        name, separator, value = part.partition("=")
        if not separator or name.strip() in fault:
            raise InvalidFault(f"{HEADER}: {shown(part)!r} is no parameter, or is given twice; {_RIGHT}")
        fault[name.strip()] = _value(value.strip())
    return fault


def _value(text: str) -> Any:
    """A parameter as JSON where it is some, else as text."""
    try:
        return orjson.loads(text.encode("latin-1", "replace"))
    except orjson.JSONDecodeError:
        return text
