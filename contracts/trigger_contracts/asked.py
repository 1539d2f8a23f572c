"""What a run of pytest was asked for, read and checked before anything is sent.

Whatever cannot be right (a name of no promise, a variable that holds no key, a file that is none of its
kind) is wrong use, and said with what would be right. Knows nothing of the target.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trigger_contracts import probes
from trigger_contracts.endpoint import ENDPOINT
from trigger_contracts.options import PROFILES, Options, WrongUse, checked_base_url
from trigger_contracts.promises import unknown_names
from trigger_contracts.report import KINDS
from trigger_contracts.wire import tls_context

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run as it was asked for."""

    options: Options
    reports: tuple[tuple[str, Path], ...]
    hint: str | None
    repairs: tuple[str, ...]
    as_command: bool
    is_worker: bool


def asked_for(config: pytest.Config) -> Asked:
    """Read the options of a pytest run, or raise `WrongUse`."""
    get = _options_of(config)
    base_url, hint = checked_base_url(get("--trigger-base-url"))
    only, skip, require = get("--trigger-only"), get("--trigger-skip"), get("--trigger-require")
    for names, beside in ((only, ()), (skip, ()), (require, ("all",))):
        unknown = unknown_names(names, beside=beside)
        if unknown:
            raise WrongUse(f"no promise or chapter is called {', '.join(unknown)}; --list prints them all")
    repairs = _contract(get("--trigger-contract"))
    key_name = get("--trigger-api-key-env")
    key = _key(key_name)
    options = Options(
        base_url=base_url,
        api_key=key,
        other_api_key=_key(get("--trigger-other-api-key-env")),
        limited_api_key=_key(get("--trigger-limited-api-key-env")),
        key_name=key_name,
        other_key_name=get("--trigger-other-api-key-env") or "TRIGGER_OTHER_API_KEY",
        limited_key_name=get("--trigger-limited-api-key-env") or "TRIGGER_LIMITED_API_KEY",
        probes=_probes(get("--trigger-probes"), get("--trigger-probes-from-fixtures"), key),
        profile=PROFILES[get("--trigger-profile")],
        seed=_seed(config),
        rate=get("--trigger-rate"),
        max_requests=get("--trigger-max-requests"),
        max_compose=get("--trigger-max-compose"),
        max_wait=get("--trigger-max-wait"),
        timeout=get("--trigger-timeout"),
        exhaust_rate_limit=get("--trigger-exhaust-rate-limit"),
        accept_envelope_error=get("--trigger-accept-envelope") == "error",
        ca_bundle=_file(get("--trigger-ca-bundle"), "--ca-bundle"),
        client_cert=_file(get("--trigger-client-cert"), "--client-cert"),
        insecure=get("--trigger-insecure"),
        only=tuple(only),
        skip=tuple(skip),
        require=tuple(require),
        strict=get("--trigger-strict"),
    )
    _check_tls(options)
    if options.rate is not None and not 0 < options.rate < float("inf"):
        raise WrongUse(f"the rate {options.rate:g} is no number of requests a second, like 10")
    if options.other_api_key and options.other_api_key == options.api_key:
        raise WrongUse("the other organisation's key is the same as the key")
    return Asked(
        options=options,
        reports=tuple(_report(text) for text in get("--trigger-report")),
        hint=hint,
        repairs=tuple(repairs),
        as_command=get("--trigger-as-command"),
        is_worker=hasattr(config, "workerinput"),
    )


def _options_of(config: pytest.Config) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        return config.getoption(name)

    return get


def _key(name: str | None) -> str:
    if not name:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise WrongUse(f"the environment variable {name} is not set; it should hold an API key")
    if not value.isascii() or any(ord(one) < 33 or ord(one) == 127 for one in value):
        raise WrongUse(f"the key in {name} holds characters that no header can carry")
    return value


def _contract(file: str | None) -> list[str]:
    """Judge by this document; what had to be mended in it."""
    if not file:
        return []
    from trigger_contracts.document import UnreadableDocument, judge_by
    from trigger_contracts.validation import compile_all

    try:
        repairs = judge_by(file)
        compile_all()
    except UnreadableDocument as error:
        raise WrongUse(str(error)) from None
    except (LookupError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())[:300]
        raise WrongUse(f"{file}: describes no POST {ENDPOINT} that can be judged by ({said})") from None
    return [
        f"{file}: {one.defect} repaired before judging, at {', '.join(one.pointers[:3])}"
        + (f" and {len(one.pointers) - 3} more places" if len(one.pointers) > 3 else "")
        for one in repairs
    ]


def _probes(file: str | None, fixtures: str | None, key: str) -> tuple[probes.Probe, ...]:
    try:
        if file:
            return probes.load(Path(file))
        if fixtures:
            return probes.from_fixtures(None if fixtures == "default" else Path(fixtures), key)
    except probes.ProbeMistake as error:
        raise WrongUse(str(error)) from None
    return ()


def _seed(config: pytest.Config) -> int:
    seed = config.getoption("--trigger-seed")
    if seed is not None:
        return int(seed)
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    return int(worker.get("trigger_seed", int.from_bytes(os.urandom(3), "big") % 1_000_000))


def _file(path: str | None, option: str) -> str | None:
    if path and not Path(path).is_file():
        raise WrongUse(f"{option}: no such file: {path}")
    return path


def _check_tls(options: Options) -> None:
    """See that the files for TLS hold what they should, before they are needed."""
    alone = replace(options, ca_bundle=None, client_cert=None)
    for option, given, only in (
        ("--ca-bundle", options.ca_bundle, replace(alone, ca_bundle=options.ca_bundle)),
        ("--client-cert", options.client_cert, replace(alone, client_cert=options.client_cert)),
    ):
        try:
            if given is not None:
                tls_context(only)
        except OSError as error:
            said = error.reason if isinstance(error, ssl.SSLError) else error.strerror
            raise WrongUse(f"{option}: {given} cannot be used ({said or error})") from None


def _report(text: str) -> tuple[str, Path]:
    kind, _, file = text.partition("=")
    if kind not in KINDS or not file:
        raise WrongUse(f"--report {text!r}: expected KIND=FILE, with KIND one of {', '.join(KINDS)}")
    return kind, Path(file)
