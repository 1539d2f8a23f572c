"""Who is calling: the key decides the organisation, and nothing else does.

Contract: security schemes `ApiKeyHeader` and `BearerToken`. `x-api-key` is read first; when both are sent
they must agree. The word `Bearer` is case-insensitive, the key is not. A public client sends `Authorization:
Token <key>`, which the contract does not name: refused unless allowed. Knows nothing of Flask; reads header
values as WSGI hands them over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from trigger_fixtures import ApiKey, Organisation
from trigger_mock.refusals import Unauthorized

if TYPE_CHECKING:
    from trigger_mock.benches import Bench


@dataclass(frozen=True, slots=True)
class Caller:
    """A known key, the organisation that it belongs to, and the bench whose organisation that is."""

    bench: Bench = field(repr=False)
    organisation: Organisation
    key: ApiKey = field(repr=False)

    @property
    def place(self) -> str:
        """What tells this key from others without telling it: `acme/0` is the first key of acme."""
        return f"{self.organisation.name}/{self.organisation.keys.index(self.key)}"


class KeyTaken(Exception):
    """A key can belong to one bench only."""


class Keyring:
    """The keys of all benches. Looking one up never waits for a change."""

    def __init__(self, *, allow_token_scheme: bool = False) -> None:
        self._callers: dict[str, Caller] = {}
        self._changing = Lock()
        self._schemes = frozenset({"bearer", "token"} if allow_token_scheme else {"bearer"})

    def admit(self, bench: Bench, organisations: Iterable[Organisation]) -> None:
        """Know the keys of these organisations as those of this bench, in place of all that it had.

        Raises `KeyTaken`, and changes nothing, when another bench has one of them.
        """
        known = _callers(bench, organisations)
        with self._changing:
            self._callers = self._free_of(bench, known) | known

    def require_free(self, bench: Bench, organisations: Iterable[Organisation]) -> None:
        """Raise `KeyTaken` when `admit` would."""
        self._free_of(bench, _callers(bench, organisations))

    def dismiss(self, bench: Bench) -> None:
        """Forget the keys of this bench."""
        with self._changing:
            self._callers = self._without(bench)

    def _free_of(self, bench: Bench, known: dict[str, Caller]) -> dict[str, Caller]:
        others = self._without(bench)
        if not known.keys().isdisjoint(others):
            raise KeyTaken("a key of these organisations belongs to another bench")
        return others

    def _without(self, bench: Bench) -> dict[str, Caller]:
        return {key: caller for key, caller in self._callers.items() if caller.bench is not bench}

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


def _callers(bench: Bench, organisations: Iterable[Organisation]) -> dict[str, Caller]:
    # WSGI hands header bytes over as latin-1 text, so that is how a key with other letters arrives.
    return {
        key.key.encode().decode("latin-1"): Caller(bench, organisation, key)
        for organisation in organisations
        for key in organisation.keys
    }


def uses_token_scheme(authorization: str | None) -> bool:
    """Tell whether a client sent `Authorization: Token …`: worth a hint, whatever the answer."""
    return authorization is not None and authorization[:6].lower() == "token "
