"""The page: what the control plane knows, to look at and to steer by hand.

Rendered here, whole, from templates of this package: it works without scripts, which only add new calls as
they come and keys to move with. Nothing on it comes from anywhere else, and no script runs but the one file.
"""

from __future__ import annotations

from trigger_mock.control.page import calls, explaining, faulting, rows, steering
from trigger_mock.control.page.frame import routes

__all__ = ["routes"]

for _part in (calls, explaining, faulting, rows, steering):
    _part.register(routes)
