"""`python -m trigger_mock` and the command `trigger-mock`."""

from __future__ import annotations

from trigger_mock.command import main

if __name__ == "__main__":
    main()
