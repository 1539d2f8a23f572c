"""Wrong about who calls: keys, schemes, the 401 itself."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from tests.servers.behaviour import Behaviour, Visit
from tests.servers.data import HOME, KEYS, Row
from tests.servers.messages import Refusal, Reply, TriggerRequest
from tests.servers.variants.registry import SETS, breaks

_DEFAULT_KEY = next(iter(KEYS))

#: What cannot hold where a valid key in `x-api-key` draws 401: a verifier had better say nothing of it.
_ALL_BUT_AUTH = f"{SETS} VAL-1 VAL-2 VAL-3 VAL-4 VAL-5 VAL-6 VAL-8 VAL-10 MATCH-6 SCOPE-5 RATE-2 RATE-3"


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-off", also="AUTH-5",
    story="Authentication is switched off in this deployment and everybody is the default organisation.",
)  # fmt: skip
class AuthOff(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        offered = headers.get("x-api-key") or self.bearer(headers)
        return offered if offered in KEYS else _DEFAULT_KEY


@breaks(
    "AUTH-2", "AUTH-3", name="any-key", also="AUTH-5",
    story="The gateway checks that a key is there and leaves checking its value to nobody.",
)  # fmt: skip
class AnyKey(Behaviour):
    def known(self, key: str) -> bool:
        return bool(key)

    def organisation(self, key: str) -> str:
        return KEYS.get(key, HOME)


@breaks(
    "AUTH-2", name="only-bearer-checked", also="AUTH-5",
    story="The key store is asked in the Bearer branch only.",
)  # fmt: skip
class OnlyBearerChecked(AnyKey):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        offered = headers.get("x-api-key")
        return offered or Behaviour.authenticate(self, headers)

    def known(self, key: str) -> bool:
        return key in KEYS


@breaks(
    "AUTH-3", name="only-api-key-checked", also="AUTH-5",
    story="Bearer tokens are believed because an identity proxy used to stand in front.",
)  # fmt: skip
class OnlyApiKeyChecked(AnyKey):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        if "x-api-key" in headers:
            return super().authenticate(headers)
        bearer = self.bearer(headers)
        if not bearer:
            raise self.unauthorized()
        return bearer

    def known(self, key: str) -> bool:
        return key in KEYS


class _Loose(Behaviour):
    """A key is looked up by something that is not equality."""

    def alike(self, offered: str, stored: str) -> bool:
        raise NotImplementedError

    def known(self, key: str) -> bool:
        return any(self.alike(key, stored) for stored in KEYS)

    def organisation(self, key: str) -> str:
        return next(owner for stored, owner in KEYS.items() if self.alike(key, stored))


@breaks(
    "AUTH-5", name="key-prefix", story="Keys are looked up with LIKE 'key%', as the console's search does."
)
class KeyPrefix(_Loose):
    def alike(self, offered: str, stored: str) -> bool:
        return len(offered) >= 4 and stored.startswith(offered)


@breaks("AUTH-5", name="key-suffix", story="Only as many characters as the stored key has are compared.")
class KeySuffix(_Loose):
    def alike(self, offered: str, stored: str) -> bool:
        return offered.startswith(stored)


@breaks("AUTH-5", name="key-case", story="The key column has a case-insensitive collation.")
class KeyCase(_Loose):
    def alike(self, offered: str, stored: str) -> bool:
        return offered.lower() == stored.lower()


@breaks(
    "AUTH-5", name="basic-accepted", story="Whatever follows the first blank of Authorization is the key."
)
class BasicAccepted(Behaviour):
    def bearer(self, headers: Mapping[str, str]) -> str | None:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return super().bearer(headers)
        if key in KEYS:
            return key
        try:
            user, _, password = base64.b64decode(key, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return user if user in KEYS else password


@breaks(
    "AUTH-5",
    name="empty-key",
    story="An empty key equals the empty default of an unset setting.",
    also="AUTH-1",
)
class EmptyKey(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        return _DEFAULT_KEY if headers.get("x-api-key") == "" else super().authenticate(headers)


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-per-connection", also="AUTH-5",
    story="A connection that once showed a good key is trusted from then on.",
)  # fmt: skip
class AuthPerConnection(Behaviour):
    def prepare(self) -> None:
        self.trusted: dict[str, str] = {}
        self.connection = ""

    async def serve(self, visit: Visit) -> Reply:
        self.connection = visit.call.connection
        return await super().serve(visit)

    def authenticate(self, headers: Mapping[str, str]) -> str:
        try:
            key = super().authenticate(headers)
        except Refusal:
            if self.connection not in self.trusted:
                raise
            return self.trusted[self.connection]
        self.trusted[self.connection] = key
        return key


@breaks(
    "AUTH-1", name="anonymous-empty", story="No credentials mean an anonymous caller, who owns no rows: 200."
)
class AnonymousEmpty(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        if not {"x-api-key", "authorization"} & set(headers):
            return "anonymous"
        return super().authenticate(headers)

    def organisation(self, key: str) -> str:
        return KEYS.get(key, "nobody")


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="forbidden-403", also="AUTH-5 ERR-3",
    story="The gateway answers 403 for every refusal of access.",
)  # fmt: skip
class Forbidden(Behaviour):
    def unauthorized(self) -> Refusal:
        return Refusal(403, "forbidden", "access denied")


@breaks(
    "AUTH-1", "AUTH-2", "AUTH-3", name="auth-wrong-code",
    story="A refactoring renamed the stable code of the 401.",
)  # fmt: skip
class WrongCode(Behaviour):
    def unauthorized(self) -> Refusal:
        return Refusal(401, "invalid_api_key", "missing or invalid API key")


@breaks(
    "AUTH-1", name="auth-missing-422",
    story="The key header is a required parameter, so the framework answers 422 when it is absent.",
)  # fmt: skip
class MissingKey422(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        if not {"x-api-key", "authorization"} & set(headers):
            entry = {
                "type": "missing",
                "loc": ["header", "x-api-key"],
                "msg": "Field required",
                "input": None,
            }
            raise self.invalid([entry])
        return super().authenticate(headers)


@breaks(
    "ERR-1", "AUTH-1", "AUTH-2", "AUTH-3", name="auth-detail-string",
    story="The security dependency raises HTTPException with a plain string.",
)  # fmt: skip
class DetailString(Behaviour):
    def envelope(self, refusal: Refusal) -> dict[str, Any]:
        return {"detail": "Unauthorized"} if refusal.status == 401 else super().envelope(refusal)


@breaks(
    "ERR-1", "ERR-2", "AUTH-1", "AUTH-2", "AUTH-3", name="auth-html",
    story="A proxy replaces the body of 401 by its own page.",
)  # fmt: skip
class AuthHtml(Behaviour):
    def refuse(self, refusal: Refusal) -> Reply:
        if refusal.status != 401:
            return super().refuse(refusal)
        return Reply(401, b"<html><h1>401 Authorization Required</h1></html>", media_type="text/html")


@breaks(
    "AUTH-2", "AUTH-3", name="unknown-key-500", also="AUTH-5 ERR-3 ROB-1",
    story="The lookup of an unknown key raises instead of returning nothing.",
)  # fmt: skip
class UnknownKey500(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        if headers.get("x-api-key") or self.bearer(headers):
            try:
                return super().authenticate(headers)
            except Refusal:
                raise Refusal(500, "trigger_failed", "could not resolve the caller") from None
        return super().authenticate(headers)


@breaks(
    "AUTH-4", name="bearer-unsupported", story="Only the header of the first release is read.", also="ORDER-1"
)
class BearerUnsupported(Behaviour):
    def schemes(self) -> Sequence[str]:
        return ()


@breaks(
    "AUTH-4", name="api-key-unsupported", story="A proxy strips x-api-key on its way in.",
    also=f"{_ALL_BUT_AUTH} ERR-3",
)  # fmt: skip
class ApiKeyUnsupported(Behaviour):
    def authenticate(self, headers: Mapping[str, str]) -> str:
        return super().authenticate({name: value for name, value in headers.items() if name != "x-api-key"})


@breaks(
    "AUTH-4", name="bearer-fewer-rows", also="ORDER-1",
    story="Bearer callers go through the older filter, which leaves out rows that belong to a group.",
)  # fmt: skip
class BearerFewerRows(Behaviour):
    by_bearer = False

    async def serve(self, visit: Visit) -> Reply:
        self.by_bearer = "authorization" in visit.call.headers
        return await super().serve(visit)

    def admits(self, ask: TriggerRequest, row: Row) -> bool:
        hidden = self.by_bearer and bool(row.groups or row.agent)
        return not hidden and super().admits(ask, row)
