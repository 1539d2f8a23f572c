"""What one run of the suite is told: where, as whom, how much, how gently.

Keys live here and nowhere else; no `repr` shows one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from trigger_contracts.document import ENDPOINT
from trigger_contracts.probes import Probe


class WrongUse(Exception):
    """The run cannot start as it was asked for; the message says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How much is asked of the target."""

    name: str
    repeats: int  # valid requests repeated to see one failure in fifty
    examples: int  # requests of one semantic property that Hypothesis makes, beside its listed ones
    generated: int  # bodies drawn from the schema, each way, beside its boundary cases
    threads: int
    rounds: int  # concurrent requests of one thread
    sample: float  # share of the long enumerations
    most: int  # entries of one enumeration
    compose: int  # compose calls that the run may spend
    probes: int  # known rows that are asked for


PROFILES: dict[str, Profile] = {
    "quick": Profile(
        name="quick",
        repeats=60,
        examples=0,
        generated=0,
        threads=6,
        rounds=8,
        sample=0.34,
        most=48,
        compose=70,
        probes=20,
    ),
    "standard": Profile(
        name="standard",
        repeats=200,
        examples=25,
        generated=80,
        threads=8,
        rounds=20,
        sample=1.0,
        most=100_000,
        compose=140,
        probes=40,
    ),
    "deep": Profile(
        name="deep",
        repeats=600,
        examples=150,
        generated=600,
        threads=16,
        rounds=50,
        sample=1.0,
        most=100_000,
        compose=1000,
        probes=200,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that a run may vary."""

    base_url: str
    api_key: str = field(default="", repr=False)
    other_api_key: str = field(default="", repr=False)
    limited_api_key: str = field(default="", repr=False)
    key_name: str = "TRIGGER_API_KEY"
    other_key_name: str = "TRIGGER_OTHER_API_KEY"
    limited_key_name: str = "TRIGGER_LIMITED_API_KEY"
    probes: tuple[Probe, ...] = ()
    profile: Profile = PROFILES["standard"]
    seed: int = 0
    rate: float | None = None
    max_requests: int | None = None
    max_compose: int | None = None
    max_wait: float = 120.0
    timeout: float = 15.0
    exhaust_rate_limit: bool = False
    accept_envelope_error: bool = False
    ca_bundle: str | None = None
    client_cert: str | None = None
    insecure: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    strict: bool = False

    @property
    def url(self) -> str:
        """The endpoint at the target."""
        return self.base_url.rstrip("/") + ENDPOINT

    @property
    def compose_budget(self) -> int:
        """Compose calls that may be spent."""
        return self.profile.compose if self.max_compose is None else self.max_compose


def checked_base_url(text: str) -> tuple[str, str | None]:
    """The base URL without a trailing slash, and a hint when it looks like more than a base.

    A URL that ends in the endpoint's own path, or in `/v1`, is what people paste from a browser or an SDK's
    configuration; it is cut back, and said to be.
    """
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUse(f"{text!r} is not an http or https URL; give the base, like https://api.example.com")
    if parts.username is not None or parts.password is not None:
        raise WrongUse("the URL carries credentials; give the key by an environment variable (--api-key-env)")
    if parts.query or parts.fragment:
        raise WrongUse("the URL has a query or a fragment; give the base, like https://api.example.com")
    try:
        _ = parts.port
    except ValueError as error:
        raise WrongUse(f"{text!r}: {error}") from None
    path = parts.path.rstrip("/")
    hint = None
    for tail in (ENDPOINT, "/v1/memories", "/v1"):
        if path.endswith(tail):
            path = path.removesuffix(tail)
            hint = (
                f"the URL ends in {tail}, which the suite adds itself: using "
                f"{urlunsplit((parts.scheme, parts.netloc, path, '', ''))}"
            )
            break
    return urlunsplit((parts.scheme, parts.netloc, path, "", "")), hint
