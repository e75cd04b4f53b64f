"""A headless Chromium, driven by its DevTools protocol over one WebSocket. `websockets` is there for the server anyway,
so no driver program and no package of its own is needed."""

from __future__ import annotations

import base64
import builtins
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import connect

PATIENCE = 30.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-port=0",
)


class PageError(AssertionError):
    """A script of the page, or of a test in it, has failed."""


def program() -> str | None:
    """Chromium, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One browser with one page. `errors` has what the page's scripts or its policy complained about."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._number = 0
        self.errors: list[str] = []
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise

    def _open(self) -> None:
        found = program()
        assert found is not None, "Chromium is not installed"
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        said = self._stack.enter_context((Path(folder) / "said").open("w+"))
        process = subprocess.Popen(
            [found, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        self._stack.callback(process.wait, PATIENCE)
        self._stack.callback(process.terminate)
        port, until = None, time.monotonic() + PATIENCE
        while port is None:
            assert process.poll() is None, "Chromium has ended"
            assert time.monotonic() < until, "Chromium does not start"
            told = re.search(r"ws://[^:]+:(\d+)/", (Path(folder) / "said").read_text())
            port = None if told is None else int(told[1])
            time.sleep(0.02)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as reply:
            pages = [page for page in json.load(reply) if page["type"] == "page"]
        address = pages[0]["webSocketDebuggerUrl"]
        self._socket = self._stack.enter_context(
            connect(address, max_size=64 << 20, compression=None, ping_interval=None)
        )
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "Performance"):
            self.send(f"{domain}.enable")

    # ---- the protocol ------------------------------------------------------------------------------------------------

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        until = time.monotonic() + PATIENCE
        while True:
            message = json.loads(self._socket.recv(timeout=max(0.1, until - time.monotonic())))
            if message.get("id") == self._number:
                if "error" in message:
                    raise PageError(message["error"]["message"])
                return message["result"]
            self._event(message)

    def _event(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                found = parameters["exceptionDetails"]
                self.errors.append(found.get("exception", {}).get("description") or found["text"])
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                entry = parameters["entry"]
                # A refused request is an answer of ours, and the page shows it.
                if entry["source"] != "network":
                    self.errors.append(entry["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] == "error":
                self.errors.append(" ".join(str(one.get("value", "")) for one in parameters["args"]))

    # ---- the page ----------------------------------------------------------------------------------------------------

    def open(self, url: str) -> None:
        """Load a page afresh."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        found = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in found:
            told = found["exceptionDetails"]
            raise PageError(told.get("exception", {}).get("description") or told["text"])
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = PATIENCE) -> Any:
        """Wait until an expression is true in the page, and return its value."""
        until = time.monotonic() + seconds
        while not (found := self.run(script)):
            if time.monotonic() > until:
                seen = self.run("document.body.innerText.slice(0, 2000)")
                raise PageError(f"never true: {script}\nerrors: {self.errors}\npage: {seen}")
            time.sleep(0.03)
        return found

    def click(self, text: str, within: str = "document") -> None:
        """Click the button or link with this text or label."""
        wanted = json.dumps(text)
        find = (
            f"[...{within}.querySelectorAll('button, a, summary, [role=tab]')].find((one) => "
            f"(one.getAttribute('aria-label') ?? one.innerText).trim().startsWith({wanted}) && !one.disabled)"
        )
        self.wait(f"!!{find}")
        self.run(f"{find}.click()")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def key(self, key: str, code: str | None = None, modifiers: int = 0) -> None:
        """Press a key."""
        arrows = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        keys = arrows | {"Enter": 13, "Escape": 27, "Delete": 46}
        for kind in ("rawKeyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code or key,
                windowsVirtualKeyCode=keys.get(key, ord(key[0].upper())),
                modifiers=modifiers,
            )

    def size(self, width: int, height: int, *, scale: float = 1.0, mobile: bool = False) -> None:
        """Give the window a size."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def media(self, **features: str) -> None:
        """Pretend that the user prefers something: prefers_color_scheme="dark"."""
        wanted = [
            {"name": name.replace("_", "-"), "value": value.replace("_", "-")}
            for name, value in features.items()
        ]
        self.send("Emulation.setEmulatedMedia", features=wanted)

    def picture(self, path: Path) -> None:
        """Save what is seen."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End it."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: builtins.type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
