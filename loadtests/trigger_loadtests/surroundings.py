"""The station of a Locust environment: set by `trigger-load`, or made here for plain Locust.

Plain Locust is held to the same bounds. Variables, all with the prefix `TRIGGER_LOAD_`: `API_KEY`,
`SEED`, `COMPOSE`, `TIMEOUT`, `MAX_REQUESTS`, `DURATION` (seconds), `RETRY_AFTER` (obey or ignore),
`INSECURE`, `I_OWN_THIS_TARGET`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from trigger_loadtests import safety
from trigger_loadtests.mixture import USUAL_MIX
from trigger_loadtests.plan import Plan
from trigger_loadtests.population import invented
from trigger_loadtests.station import Station

_log = logging.getLogger(__name__)
_SLOT = "trigger_station"


def settle(environment: Any, station: Station) -> None:
    """Make this the station of an environment."""
    setattr(environment, _SLOT, station)


def station(environment: Any) -> Station:
    """Return the station of an environment."""
    found: Station = getattr(environment, _SLOT)
    return found


def plan_from(variables: Mapping[str, str], target: str) -> Plan:
    """Read a closed-model plan from environment variables."""

    def said(name: str, usual: str) -> str:
        return variables.get(f"TRIGGER_LOAD_{name}", usual)

    seed = int(said("SEED", "0"))
    return Plan(
        target=safety.base_url(target),
        profile="steady",
        model="closed",
        stages=(),
        seconds=min(float(said("DURATION", "600")), safety.MOST_SECONDS),
        max_requests=min(int(said("MAX_REQUESTS", "1000000")), safety.MOST_REQUESTS),
        max_in_flight=1000,
        timeout=float(said("TIMEOUT", "10")),
        seed=seed,
        mix=dict(USUAL_MIX),
        compose=float(said("COMPOSE", "0.2")),
        population=invented(seed),
        obey_retry_after=said("RETRY_AFTER", "obey") != "ignore",
        insecure=said("INSECURE", "") not in ("", "0", "false"),
        owned=tuple(said("I_OWN_THIS_TARGET", "").replace(",", " ").split()),
    )


def attend(events: Any, agents: Sequence[Any]) -> None:
    """Prepare plain Locust runs: make their station, hold them to the bounds."""

    def on_test_start(environment: Any, **_: Any) -> None:
        import gevent

        try:
            plan = plan_from(os.environ, environment.host or "")
            safety.allow(plan.target, plan.owned)
        except ValueError as error:
            _log.error("not started: %s", error)
            environment.process_exit_code = 2
            gevent.spawn(environment.runner.quit)
            return
        key = os.environ.get("TRIGGER_LOAD_API_KEY", "")
        if not key:
            _log.warning("no key in TRIGGER_LOAD_API_KEY: the target will refuse every call")
        share = max(getattr(environment.runner, "worker_index", 0), 0)
        made = Station(plan, key, share=share)
        settle(environment, made)
        for agent in agents:
            prepare(agent, plan)

        def stop_in_time() -> None:
            made.close("the bound on seconds was reached (TRIGGER_LOAD_DURATION)")
            _log.warning("stopping: %s", made.why_closed)
            environment.runner.quit()

        gevent.spawn_later(plan.seconds, stop_in_time)

    events.test_start.add_listener(on_test_start)


def prepare(agent: Any, plan: Plan) -> None:
    """Set what an agent class must know before its first instance is made."""
    agent.host = plan.target
    agent.insecure = plan.insecure
    agent.network_timeout = plan.timeout
    agent.connection_timeout = plan.timeout
