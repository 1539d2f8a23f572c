"""Who is calling: the key decides the organisation, and nothing else does.

Contract: security schemes `ApiKeyHeader` and `BearerToken`. `x-api-key` is read first; when both are sent
they must agree. The word `Bearer` is case-insensitive, the key is not. A public client sends `Authorization:
Token <key>`, which the contract does not name: refused unless allowed. Knows nothing of Flask; reads header
values as WSGI hands them over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trigger_fixtures import ApiKey, Organisation
from trigger_mock.refusals import Unauthorized


@dataclass(frozen=True, slots=True)
class Caller:
    """A known key and the organisation it belongs to."""

    organisation: Organisation
    key: ApiKey = field(repr=False)


class Keyring:
    """The keys of all organisations."""

    def __init__(self, organisations: Iterable[Organisation], *, allow_token_scheme: bool = False) -> None:
        # WSGI hands header bytes over as latin-1 text, so that is how a key with other letters arrives.
        self._callers = {
            key.key.encode().decode("latin-1"): Caller(organisation, key)
            for organisation in organisations
            for key in organisation.keys
        }
        self._schemes = frozenset({"bearer", "token"} if allow_token_scheme else {"bearer"})

    def caller(self, api_key: str | None, authorization: str | None) -> Caller:
        """Return who sent these two headers (None where one is absent).

        Raises `Unauthorized` when no known key is among them, and when the two carry different keys. An
        `Authorization` of a scheme that carries no key of ours (`Basic` from a proxy, say) is no credential:
        it is as if it were absent.
        """
        bearer = self._bearer(authorization)
        if api_key is not None and bearer is not None and api_key != bearer:
            raise Unauthorized("x-api-key and Authorization carry different keys")
        key = bearer if api_key is None else api_key
        if key is None:
            raise Unauthorized("no credential was sent")
        caller = self._callers.get(key)
        if caller is None:
            raise Unauthorized(f"the key in {'Authorization' if api_key is None else 'x-api-key'} is unknown")
        return caller

    def _bearer(self, authorization: str | None) -> str | None:
        if authorization is None:
            return None
        scheme, _, key = authorization.partition(" ")
        return key.strip(" ") if scheme.lower() in self._schemes else None


def uses_token_scheme(authorization: str | None) -> bool:
    """Tell whether a client sent `Authorization: Token …`: worth a hint, whatever the answer."""
    return authorization is not None and authorization[:6].lower() == "token "
