"""Pages of an installed Chromium, and what goes wrong in them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Address schemes that need no network.
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "devtools:")


def lack(reason: str) -> NoReturn:
    """Skip with a reason; in continuous integration nothing may be skipped."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start an installed Chromium."""
    command = next(filter(None, map(shutil.which, NAMES)), None)
    if command is None:
        lack("no browser (chromium) to look at pages")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """
    A page of the browser, and what went wrong on it.

    Attributes
    ----------
    complaints
        Messages of the console of some levels, and exceptions of scripts, of the page and its frames.
    requests
        Network addresses that the page requested.
    """

    def __init__(self, browser: Browser, levels: Collection[str] = ("error",), **options: Any) -> None:
        self.page = browser.new_context(**options).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._levels = levels
        self._shown: tuple[int, str] | None = None
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in self._levels:
            self.complaints.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self.requests.append(request.url)

    def show(self, width: int, theme: str) -> None:
        """Change the window's width, 800 pixels high, and theme; the page learns of both later."""
        if self._shown == (width, theme):
            return
        self._shown = width, theme
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(color_scheme=theme)
        changed = "innerWidth === width && matchMedia(`(prefers-color-scheme: ${theme})`).matches"
        self.page.wait_for_function(f"([width, theme]) => {changed}", arg=[width, theme])

    def finish(self) -> None:
        """Close the page, which must have had no complaint and asked no network."""
        self.page.context.close()
        assert not self.complaints
        assert not self.requests
