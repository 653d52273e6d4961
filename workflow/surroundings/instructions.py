"""Counts of a run's instructions in user space, by the program ``perf`` of Linux.

Seconds depend on frequency, caches and other load; instructions hardly do. Not every machine lets them be
counted: the program may be missing, the kernel's setting ``perf_event_paranoid`` or a container may forbid
it, and many virtual machines have no counters. There the count is None and the run continues.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

_PATIENCE = 5.0
"""Seconds in which perf must answer."""
_EVENT = "instructions"


class Instructions:
    """Counts the instructions of this process between `start` and `stop`; `count` is None if it cannot.

    A failure is remembered: later runs are not delayed by another attempt.
    """

    def __init__(self, program: str = "perf") -> None:
        self.count: int | None = None
        self._program = shutil.which(program)
        self._perf: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start perf and wait until it counts."""
        self.count = None
        if self._program is None:
            return
        read, self._commands = os.pipe()
        self._answers, write = os.pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="svmrepro-")
        self._told = Path(self._folder.name) / "counts"
        command = [self._program, "stat", "-x", ",", "-e", f"{_EVENT}:u", "-p", str(os.getpid())]
        # It counts nothing before the command "enable".
        command += ["-D", "-1", "--control", f"fd:{read},{write}", "-o", str(self._told)]
        try:
            self._perf = subprocess.Popen(
                command, pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            self._perf = None
        os.close(read)
        os.close(write)
        if self._perf is None or not self._ask(b"enable\n"):
            self._end()
            self._program = None

    def stop(self) -> None:
        """Stop counting, and set `count`."""
        if self._perf is None:
            return
        if self._ask(b"disable\n"):
            self._perf.send_signal(signal.SIGINT)  # it then writes the counts
            with suppress(subprocess.TimeoutExpired):
                self._perf.wait(_PATIENCE)
            self.count = _read(self._told)
        self._end()
        if self.count is None:
            self._program = None

    def _ask(self, command: bytes) -> bool:
        """Send a command; return whether perf confirmed it in time."""
        try:
            os.write(self._commands, command)
        except BrokenPipeError:
            return False
        ready, _, _ = select.select([self._answers], [], [], _PATIENCE)
        return bool(ready) and os.read(self._answers, 100).strip(b"\n\0") == b"ack"

    def _end(self) -> None:
        """End perf, if it still runs, and remove its files."""
        if self._perf is not None:
            self._perf.kill()
            self._perf.wait()
            self._perf = None
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()


def _read(path: Path) -> int | None:
    """Return the count in perf's output; None if it was not permitted or not supported."""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(",")
            if len(fields) > 2 and fields[2].startswith(_EVENT) and fields[0].isdecimal():
                return int(fields[0])
    return None
