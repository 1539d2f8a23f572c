"""Chromium without a window, driven over a pipe in its own protocol: no driver, no library, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 30.0
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking "
    "--disable-component-update --disable-extensions --no-first-run --hide-scrollbars --remote-debugging-pipe"
).split()
_KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "Escape": (27, ""),
}  # fmt: skip


@dataclass
class Browser:
    """One tab. `complaints`: what the console said, and scripts that failed."""

    _read: int
    _write: int
    _session: str = ""
    _number: int = 0
    _buffer: bytes = b""
    complaints: list[str] = field(default_factory=list)
    loads: int = 0

    def send(self, method: str, **params: Any) -> Any:
        """Say something to the browser; what it answers."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            said = self._next(deadline)
            if said.get("id") == self._number:
                assert "error" not in said, said["error"]
                return said["result"]
        raise AssertionError(f"the browser did not answer {method}")

    def attach(self) -> None:
        """Open the tab."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Go to a page and wait until it is there."""
        self.expecting_load(lambda: self.send("Page.navigate", url=url))

    def expecting_load(self, act: Any) -> None:
        """Do something that leads to another page, and wait until that is there."""
        loads = self.loads
        act()
        deadline = time.monotonic() + PATIENCE
        while self.loads == loads:
            self._next(deadline)

    def evaluate(self, expression: str) -> Any:
        """What a script says, run as the page's owner would in the developer tools."""
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until a script says something true; what it says."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}; the page says {self.text()[:2000]}")

    def text(self) -> str:
        """What a reader sees."""
        return str(self.evaluate("document.body.innerText"))

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            code, text = _KEYS.get(key, (ord(key[0].upper()), key))
            named = {"key": key, "windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
            self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def write(self, text: str) -> None:
        """Write into what has the focus."""
        self.send("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click on an element that leads to another page."""
        self.expecting_load(lambda: self.evaluate(f"document.querySelector({json.dumps(selector)}).click()"))

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Be a screen of this size."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        """Write the whole page down as an image."""
        image = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(image))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser says nothing"
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser is gone"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        self._heard(said)
        return said

    def _heard(self, said: dict[str, Any]) -> None:
        params = said.get("params", {})
        match said.get("method"):
            case "Page.loadEventFired":
                self.loads += 1
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"dialog: {params['message']}")
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(f"console.{params['type']}: {params['args']}")
            case "Log.entryAdded":
                self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case _:
                pass


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for as long as the context lasts."""
    assert CHROMIUM
    its_read, our_write = os.pipe()
    our_read, its_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The protocol is spoken on descriptors 3 and 4: a shell puts them there.
        shell = f'exec "$@" 3<&{its_read} 4>&{its_write}'
        with subprocess.Popen(
            ["bash", "-c", shell, "chromium", CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(its_read, its_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            os.close(its_read)
            os.close(its_write)
            try:
                browser = Browser(our_read, our_write)
                browser.attach()
                yield browser
            finally:
                os.close(our_write)
                os.close(our_read)
                process.terminate()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
