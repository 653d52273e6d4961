"""What a run shows: on a terminal one line that is overwritten, elsewhere plain lines now and then."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from typing import TextIO

#: Seconds between two updates, on a terminal and elsewhere.
TICK_TERMINAL, TICK_PLAIN = 0.5, 30.0


class StatusLine:
    """Shows what ``state`` returns, if anything, until it is closed, and messages above it.

    ``state`` is called from a thread.
    """

    def __init__(self, stream: TextIO, state: Callable[[], str]) -> None:
        self._stream = stream
        self._state = state
        self._terminal = stream.isatty()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._last = ""
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def start(self) -> None:
        """Show the state from now on."""
        self._thread.start()

    def close(self) -> None:
        """Remove the state line from the terminal."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._write("" if not self._terminal else "\r\x1b[K")

    def say(self, text: str) -> None:
        """Print a message above the state line."""
        with self._lock:
            self._write(f"\r\x1b[K{text}\n{self._last}" if self._terminal else f"{text}\n")

    def _tick(self) -> None:
        while not self._ended.wait(TICK_TERMINAL if self._terminal else TICK_PLAIN):
            text = self._state()
            if not text:
                continue
            with self._lock:
                if self._terminal:
                    columns = shutil.get_terminal_size((100, 24)).columns
                    self._last = text if len(text) < columns else f"{text[: columns - 2]}…"
                    self._write(f"\r\x1b[K{self._last}")
                else:
                    self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone; the run continues without it.
            self._ended.set()
