"""What a decoded JSON value is, in words that a type checker follows; either may hold anything."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def whole(value: Any) -> Any:
    """A number of JSON as an integer where it is one, for a `BeforeValidator`: there 600.0 is as whole as
    600.
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value
