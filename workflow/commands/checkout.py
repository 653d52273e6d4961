"""What the commands for developers share: they need the whole checkout and its tools."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from svmrepro.workflow.configuration import ROOT, callers_folder
from svmrepro.workflow.errors import StepError


def require(place: str) -> None:
    """Raise a StepError if a file or folder of the checkout is missing, as in an installed package."""
    if not (ROOT / place).exists():
        raise StepError(f"this command needs a clone of the repository: {ROOT} has no {place}")


def require_tests(*words: str) -> None:
    """Raise a StepError if pytest does not take the words, before anything slow is done."""
    command = ("pytest", "--collect-only", *words)
    asked = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if asked.returncode == 4:  # wrong usage
        said = ["pytest refuses this", *re.findall(r"error: (?!usage: )(.+)", asked.stderr, re.IGNORECASE)]
        raise StepError(f"{said[-1]}; see `pytest --help`")


@contextmanager
def stopping_children() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end this process and all that it started: a tool has children of its own."""
    import psutil

    def handler(number: int, _: object) -> None:
        for each in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                each.terminate()
        os._exit(128 + number)  # at once: tasks that wait would be started

    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def call(*words: str) -> int:
    """Run a tool in the checkout; return its exit code."""
    # With a timeout it waits in short sleeps. A signal just before an endless wait would be handled only when
    # the tool ends.
    return subprocess.run(words, cwd=ROOT, env=environment(), check=False, timeout=1e9).returncode


def environment() -> dict[str, str]:
    """Return the environment of the tools: those of this interpreter come first."""
    here = str(Path(sys.executable).parent)
    return {
        **{name: value for name, value in os.environ.items() if name != callers_folder.VARIABLE},
        "PATH": os.pathsep.join([here, os.environ.get("PATH", "")]),
        "PYTHONUNBUFFERED": "1",
    }
