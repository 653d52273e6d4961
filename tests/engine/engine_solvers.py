"""User-defined solvers for the engine's tests: small, pure NumPy, some of them misbehaving."""

import contextlib
import errno
import gc
import importlib
import math
import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from svmrepro.solvers import Solution
from svmrepro.solvers.caches import reused_memory


def quick(problem, eps, time_limit, pause=0.0, until="", token=""):
    """Select maximal violating pairs on the dense linear kernel matrix.

    First sleeps, or waits for a file; it removes one that is a ``token``.
    """
    time.sleep(pause)
    while until and not Path(until).exists():
        time.sleep(0.02)
    while token:
        with contextlib.suppress(FileNotFoundError):
            Path(token).unlink()
            break
        time.sleep(0.02)
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    y, C = problem.y, problem.C
    K = X @ X.T
    low, high = np.minimum(0, y * C), np.maximum(0, y * C)
    signed = np.zeros(len(y))
    gradient = y.copy()
    for iteration in range(100_000):  # noqa: B007
        up, down = np.flatnonzero(signed < high), np.flatnonzero(signed > low)
        i, j = up[np.argmax(gradient[up])], down[np.argmin(gradient[down])]
        gap = gradient[i] - gradient[j]
        if gap <= eps:
            break
        step = gap / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min(step, high[i] - signed[i], signed[j] - low[j])
        signed[i] = high[i] if step == high[i] - signed[i] else signed[i] + step
        signed[j] = low[j] if step == signed[j] - low[j] else signed[j] - step
        gradient -= step * (K[i] - K[j])
    return SimpleNamespace(
        alpha=np.clip(y * signed, 0, C), bias=(gradient[i] + gradient[j]) / 2, iterations=iteration
    )


def strained(problem, eps, time_limit):
    """Give up if C exceeds one half or eps is below 1e-3."""
    if problem.C > 0.5 or eps < 1e-3:
        return SimpleNamespace(alpha=np.zeros(problem.n), bias=0.0, status="time_limit")
    return quick(problem, eps, time_limit)


def wrong(problem, eps, time_limit):
    """Return all zeros and call it optimal."""
    return SimpleNamespace(alpha=np.zeros(problem.n), bias=0.0, status="optimal")


def talkative(problem, eps, time_limit, passes=3):
    """Return statistics that are none, and names that the program uses itself."""
    found = quick(problem, eps, time_limit)
    info = {"cells": 3, "trace": 7, "chunks": 5, "bins": [1, 2], "bytes": "many", "most": 10**400}
    info |= {"share": Fraction(1, 4), "long": np.longdouble(0.5), 8: np.int64(9)}
    more = {"work": {"passes": passes}, "info": info, "trace": [(math.nan, 1.0)]}
    return Solution(found.alpha, None, found.bias, "optimal", found.iterations, 0, **more)


def failing(problem, eps, time_limit):
    raise ArithmeticError("it went\nwrong")


def nothing_returned(problem, eps, time_limit):
    """Return nothing."""


def uncountable(problem, eps, time_limit):
    """Return a count that is no number."""
    answer = quick(problem, eps, time_limit)
    answer.iterations = "many"
    return answer


def picky(problem, eps, time_limit):
    """Refuse small problems, as the one of the first call."""
    if problem.n < 20:
        raise ValueError("too small")
    return quick(problem, eps, time_limit)


def starving(problem, eps, time_limit):
    """Find no space on the disk, until there is a file."""
    if not Path("space").exists():
        raise OSError(errno.ENOSPC, "No space left on device")
    return quick(problem, eps, time_limit)


def incomplete(problem, eps, time_limit):
    """Import a module that is missing until it is written."""
    importlib.import_module("engine_module_that_is_missing")
    return quick(problem, eps, time_limit)


def leaving(problem, eps, time_limit):
    """End the program, as a script would."""
    sys.exit("no licence")


def interrupting(problem, eps, time_limit):
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def dying(problem, eps, time_limit):
    """End the process, as a fault in compiled code would, but in its first call on a few rows."""
    if problem.n >= 20:
        os._exit(3)
    return quick(problem, eps, time_limit)


def careless(problem, eps, time_limit):
    """Return plain lists, and modify the problem's arrays."""
    answer = quick(problem, eps, time_limit)
    problem.X *= 0.5
    problem.y *= -1
    return SimpleNamespace(alpha=list(answer.alpha), bias=answer.bias)


def another_loss(problem, eps, time_limit):
    """Return the solution of another problem, whose promise another judge would check."""
    weights = np.full(problem.d, 1e200)
    return Solution(
        np.zeros(problem.n), weights, 0.0, "optimal", 0, 0, loss="squared hinge", promise="relative gap"
    )


def another_kernel(problem, eps, time_limit):
    """Try to have the answer judged by a kernel that is constant, for which it is optimal."""
    object.__setattr__(problem.kernel, "name", "gaussian")
    object.__setattr__(problem.kernel, "gamma", 1e-300)
    positive = problem.y > 0
    larger = positive if positive.mean() >= 0.5 else ~positive
    share = (~larger).sum() / larger.sum()
    alpha = np.where(larger, share * problem.C, problem.C)
    return SimpleNamespace(alpha=alpha, bias=1.0 if larger is positive else -1.0)


def loading(problem, eps, time_limit):
    """Report the number of earlier calls as a count of iterations; a first call may have to compile."""
    answer = quick(problem, eps, time_limit)
    answer.iterations = len(CALLS)
    CALLS.append(problem.n)
    return answer


CALLS = []


def handing_on(problem, eps, time_limit):
    """Let a child process work before."""
    work_in_a_child()
    return quick(problem, eps, time_limit)


def work_in_a_child():
    """Let a child process work for a third of a second."""
    program = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-S", "-c", program], check=True)


def limited(problem, eps, time_limit, above=0, memory=False):
    """Exceed the time limit on problems of at least ``above`` rows."""
    answer = quick(problem, eps, time_limit)
    answer.status = ("memory_limit" if memory else "time_limit") if problem.n >= above else "optimal"
    return answer


def threaded(problem, eps, time_limit, threads):
    """Take an option ``threads``."""
    return quick(problem, eps, time_limit)


def hungry(problem, eps, time_limit, megabytes=64):
    """Allocate much memory and release it."""
    block = np.ones(megabytes * 2**17)
    answer = quick(problem, eps, time_limit)
    answer.iterations = int(block[0])
    return answer


def keeping(problem, eps, time_limit):
    """Use memory that is kept for the next run."""
    reused_memory.empty((1, 64 * 2**17), np.float64)[:] = 1.0
    return quick(problem, eps, time_limit)


def collecting(problem, eps, time_limit):
    """Report whether garbage is collected as a count of iterations."""
    answer = quick(problem, eps, time_limit)
    answer.iterations = int(gc.isenabled())
    return answer


def threads(problem, eps, time_limit):
    """Report the thread limits of libraries as a count of iterations, and leave a thread behind."""
    threading.Thread(target=time.sleep, args=(3600,)).start()
    answer = quick(problem, eps, time_limit)
    answer.iterations = int(os.environ["OMP_NUM_THREADS"]) + int(os.environ["NUMBA_NUM_THREADS"])
    return answer
