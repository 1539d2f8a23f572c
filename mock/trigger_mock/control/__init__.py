"""The control plane: what a developer or a test says to the mock about itself, under one prefix beside the
endpoint. Nothing of it is imported before somebody asks for it, and nothing of it answers when it is switched
off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from trigger_mock.benches import Benches
    from trigger_mock.settings import Settings

__all__ = ["PREFIX", "Mounted"]

#: Where it is: no path of the contract starts so.
PREFIX = "/_mock"


class Mounted:
    """A WSGI application with the control plane in front of it: paths under the prefix are its own."""

    def __init__(self, application: WSGIApplication, benches: Benches, settings: Settings) -> None:
        self._application = application
        self._benches = benches
        self._settings = settings
        self._control: WSGIApplication | None = None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer, or let the control plane answer."""
        path: str = environ["PATH_INFO"]
        if not path.startswith(PREFIX) or path[len(PREFIX) : len(PREFIX) + 1] not in ("", "/"):
            return self._application(environ, start_response)
        if self._control is None:
            from trigger_mock.control.app import create_control

            self._control = create_control(self._benches, self._settings)
        return self._control(environ, start_response)
