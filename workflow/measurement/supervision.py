"""Supervises a step that measures: ends a solver that does not stop, continues after one that ends the step.

The step is forked, before it loads anything that has threads. The parent process sleeps, and checks the call
in progress now and then.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import DID_NOT_STOP
from svmrepro.workflow.measurement.job_progress import JobProgress
from svmrepro.workflow.measurement.present_run import Call, PresentRun

PATIENCE, TIMES_LIMIT = 10.0, 10.0
"""Seconds, and multiples of its limit, after which a user's solver is ended; the longer time counts."""

WARMING = 60.0
"""Fewest seconds for its call on a few rows, in which it may be imported and compiled."""

_TICK = 0.1

_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals from a user, or from a system out of memory, for which the solver may not be to blame."""

_MOST_GENERATIONS = 10

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def supervised(present: PresentRun, journal: Journal, progress: JobProgress) -> None:
    """Return in a child process, and anew after each solver that ended it; exit with the last one's code.

    A user's solver that does not stop, or any that ends the process, gets a line in the journal, so that its
    run is not made again. The line is written only when the process is gone.
    """
    signal.signal(signal.SIGTERM, _terminated)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    while True:
        present.clear()
        sys.stdout.flush()
        sys.stderr.flush()
        parent, child = os.getpid(), os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _end_with(parent)
            return
        process = psutil.Process(child)
        try:
            late = _wait(process, present, progress.note)
        except KeyboardInterrupt:
            with suppress(psutil.TimeoutExpired):
                process.wait(1.0)  # Ctrl-C in a terminal reaches it, too; it may be writing
            raise
        finally:
            _end(process)
        code, call = int(process.wait()), present.call()
        if call is not None and (late is None or late.began == call.began):
            line = {**call.line, **_found(call, late is not None, code)}
            journal.append(line)
            progress.lost(line)
        elif late is None:  # otherwise the solver returned just in time
            if -code in _FROM_OUTSIDE:
                raise _killed(f"{progress.name}: its process", code)
            sys.exit(code if code >= 0 else 128 - code)


def _found(call: Call, late: bool, code: int) -> dict[str, Any]:
    """Return the result of a run whose process has ended."""
    if late:
        reason = f"{DID_NOT_STOP} {call.line['time_limit']:g} s"
        return {"status": "time_limit", "reason": reason}
    if -code in _FROM_OUTSIDE:
        where = f"{call.line['experiment']}, n = {call.line['n']:,}"
        raise _killed(f"{where}: {call.line['solver']}", code)
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return {"status": "error", "reason": f"ended its process ({how})"}


def _killed(what: str, code: int) -> StepError:
    return StepError(
        f"{what} was killed ({signal.Signals(-code).name}), perhaps for lack of memory; "
        "finished measurements are kept, and the same command resumes"
    )


def _wait(process: psutil.Process, present: PresentRun, say: Callable[[str], None]) -> Call | None:
    """Wait for a step; return the call that did not stop, so that the step must be ended, else None."""
    told = None
    while True:
        with suppress(psutil.TimeoutExpired):
            process.wait(_TICK)
            return None
        call = present.call()
        if call is None or not call.own or (limit := call.line["time_limit"]) is None:
            continue
        patience = max(PATIENCE, TIMES_LIMIT * limit)
        most = max(patience, WARMING) if call.warming else patience
        passed = time.monotonic() - call.began
        if passed > patience and told != call.began:
            told = call.began
            say(_too_long(call, most - passed))
        if passed > most:
            return call


def _too_long(call: Call, left: float) -> str:
    line = call.line
    where = f"n = {line['n']:,}{' (first on a few rows)' * call.warming}"
    when = "now" if left <= 0 else f"in {left:.0f} s, as it may still be compiling"
    return (
        f"{line['solver']} on {where} does not stop at its limit of {line['time_limit']:g} s; "
        f"it will be killed {when}; the other solvers continue"
    )


def _end(process: psutil.Process) -> None:
    """End a step, if it still runs, with all that its solvers started: they would hold its locks.

    Processes that an ended step left behind become children of this process.
    """
    for _ in range(_MOST_GENERATIONS):
        left = psutil.Process().children(recursive=True)
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()  # it remembers its exit code
        psutil.wait_procs([each for each in left if each != process], timeout=1.0)
        if not left:
            return


def _terminated(*_: object) -> None:
    sys.exit(128 + signal.SIGTERM)


def _end_with(parent: int) -> None:
    """Let this process be killed when the parent that supervises it is killed (Linux only)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def _prctl(what: int, value: int) -> None:
    with suppress(AttributeError, OSError):  # on other systems
        ctypes.CDLL(None).prctl(what, value)
