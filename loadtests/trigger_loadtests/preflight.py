"""One call before the run: is anything there, is it this endpoint, does it take the key?

A run against nothing, or with a key that the target refuses, measures nothing; it is wrong use (exit code
2), said at once. A target that is merely unwell (5xx, 429) is left for the run to judge.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from urllib.parse import urlsplit

import orjson

from trigger_loadtests.plan import Plan
from trigger_loadtests.station import PATH


class NothingThereError(Exception):
    """The target cannot be loaded as asked; says why and what to do."""


def look(plan: Plan, key: str, key_source: str) -> None:
    """Make one valid call, or raise."""
    parts = urlsplit(plan.target)
    host, where = parts.hostname or "", plan.target
    row = plan.population.rows[0]
    body = orjson.dumps(
        {"user_id": row.user_id or "load-user-1", "entities": [row.entities[0]], "mode": "retrieve"}
    )
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        if plan.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, parts.port, timeout=plan.timeout, context=context)
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=plan.timeout)
    try:
        connection.request(
            "POST", f"{parts.path}{PATH}", body, {"x-api-key": key, "Content-Type": "application/json"}
        )
        status = connection.getresponse().status
    except socket.gaierror as error:
        raise NothingThereError(f"the name {host} cannot be resolved (DNS): {error.strerror}") from error
    except ConnectionRefusedError as error:
        raise NothingThereError(
            f"nothing answers at {where}: connection refused - is the server running? "
            "start the mock with: trigger-mock"
        ) from error
    except TimeoutError as error:
        raise NothingThereError(f"{where} did not answer within {plan.timeout:g} s") from error
    except ssl.SSLError as error:
        raise NothingThereError(f"{where}: TLS failed: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise NothingThereError(f"{where} does not speak HTTP as expected: {type(error).__name__}") from error
    finally:
        connection.close()
    if status == 401:
        raise NothingThereError(
            f"{where} refuses the key ({key_source}) with 401: every call would fail; "
            "name the variable that holds a valid one with --api-key-env"
        )
    if 300 <= status < 400 or status in (404, 405):
        raise NothingThereError(
            f"{where}{PATH} answered {status}: the endpoint is not there; check the base URL"
        )
