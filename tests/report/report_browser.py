"""Headless Chromium, driven through its DevTools protocol over two pipes: no port, no further package."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

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
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--window-size=1440,900",
)

#: Address schemes that need no network.
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "devtools:")


def lack(reason: str) -> NoReturn:
    """Skip with a reason; in continuous integration nothing may be skipped."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@contextlib.contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """Open an installed Chromium."""
    command = next(filter(None, map(shutil.which, NAMES)), None)
    if command is None:
        lack("no browser (chromium) to look at pages")
    browser = Browser(command, profile)
    try:
        yield browser
    finally:
        browser.close()


class BrowserError(RuntimeError):
    """The browser ended, did not answer in time, or a script in the page threw an exception."""


class GoneError(BrowserError):
    """The context of a script no longer exists: its frame has loaded another page."""


class Browser:
    """
    One browser with one page; it records what goes wrong in it.

    Attributes
    ----------
    complaints
        Errors of the console and exceptions of scripts, of the page and its frames.
    requests
        Network addresses that the page requested.
    """

    def __init__(self, command: str, profile: Path) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._count = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._buffer = b""
        self._log = (profile / "browser.log").open("wb")
        self._process, self._send, self._receive = self._start(command, profile)
        try:
            target = self.call("Target.createTarget", {"url": "about:blank"}, session=None)["targetId"]
            attach = {"targetId": target, "flatten": True}
            self._session = self.call("Target.attachToTarget", attach, session=None)["sessionId"]
            self._watch(self._session)
            self.call("Page.enable")
        except BaseException:
            self.close()
            raise

    def _start(self, command: str, profile: Path) -> tuple[subprocess.Popen[bytes], int, int]:
        """Start the browser, which reads commands from descriptor 3 and answers on descriptor 4."""
        # Above 9, so that moving them to 3 and 4 overwrites none of the child's ends.
        ends = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pair in (os.pipe(), os.pipe()) for end in pair
        ]
        commands, send, receive, answers = ends

        def connect() -> None:
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        process = subprocess.Popen(
            [command, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=connect,
            pass_fds=(3, 4),
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        return process, send, receive

    def _watch(self, session: str) -> None:
        for method in ("Runtime.enable", "Log.enable", "Network.enable"):
            self.call(method, session=session)
        # A frame in another process of the browser is observed like the page.
        attach = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        self.call("Target.setAutoAttach", attach, session=session)

    # -- the protocol -------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        session: str | None = "",
        timeout: float = 60,
    ) -> dict[str, Any]:
        """Send a command (to the page if no session is named) and return its result."""
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session or self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._send, data) :]
        end = time.monotonic() + timeout
        while number not in self._answers:
            self._read(end, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            told = answer["error"]["message"]
            gone = re.search("Cannot find context|context was destroyed", told)
            raise (GoneError if gone else BrowserError)(f"{method}: {told}")
        return answer["result"]  # type: ignore[no-any-return]

    def _read(self, end: float, method: str) -> None:
        """Process the browser's next message; raise if none arrives before `end`."""
        ready, _, _ = select.select([self._receive], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise BrowserError(f"{method}: no answer from the browser")
        data = os.read(self._receive, 1 << 20)
        if not data:
            raise BrowserError(f"{method}: the browser ended, code {self._process.wait(5)}")
        *messages, self._buffer = (self._buffer + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message["params"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            said = (str(part.get("value", part.get("description", ""))) for part in params["args"])
            self.complaints.append("console: " + " ".join(said))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"log: {params['entry']['text']} {params['entry'].get('url', '')[:100]}")
        elif method in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            address = params.get("request", params)["url"]
            if not address.startswith(LOCAL):
                self.requests.append(address)
        elif method == "Target.attachedToTarget":
            self._watch(params["sessionId"])

    # -- what a person does -------------------------------------------------------------------------

    def open(self, page: Path) -> None:
        """Open a file."""
        self.call("Page.navigate", {"url": page.resolve().as_uri()})

    def run(self, script: str, context: int | None = None) -> Any:
        """Return the value of a script's expression, in the page or in a frame's context."""
        wanted: dict[str, Any] = {"expression": script, "returnByValue": True, "awaitPromise": True}
        if context is not None:
            wanted["contextId"] = context
        answer = self.call("Runtime.evaluate", wanted)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, script: str, context: int | None = None, timeout: float = 60) -> Any:
        """Return the value of a script as soon as it is true."""
        end = time.monotonic() + timeout
        while not (value := self.run(script, context)):
            if time.monotonic() > end:
                raise BrowserError(f"never came true: {script}; {self.complaints or 'no complaints'}")
            time.sleep(0.02)
        return value

    def click(self, place: str) -> None:
        """Click on the middle of the element that a script's expression returns."""
        corner = f"""(() => {{
            const element = {place};
            element.scrollIntoView({{block: "center"}});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2, box.width * box.height];
        }})()"""
        x, y, area = self.run(corner)
        assert area > 0, f"nothing to click on: {place}"
        button = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", {"type": "mousePressed", **button})
        self.call("Input.dispatchMouseEvent", {"type": "mouseReleased", **button})

    def frame(self) -> int:
        """Return the context of the page's one frame, for `run`."""
        (child,) = self.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
        world = {"frameId": child["frame"]["id"]}
        return self.call("Page.createIsolatedWorld", world)["executionContextId"]  # type: ignore[no-any-return]

    def screenshot(self, path: Path) -> None:
        """Write a screenshot as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        """End the browser and all processes that it started."""
        try:
            os.write(self._send, b'{"id": 0, "method": "Browser.close"}\0')
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, 9)
            self._process.wait()
        os.close(self._send)
        os.close(self._receive)
        self._log.close()
