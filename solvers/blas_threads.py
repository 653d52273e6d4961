"""BLAS on one thread while a problem is solved.

OpenBLAS threads keep polling for work for a tenth of a second after each call. On two processors, a solver
with two threads then competes with a third one, and is hardly faster than with one thread. Moreover, the
clock of a solver does not count BLAS threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_users = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's and SciPy's BLAS to one thread in this process.

    If several Python threads use it at once, the last one restores what was before the first one.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = _libraries().limit(limits=1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _restore()


def _restore() -> None:
    """Restore the numbers of threads, in any Python thread.

    threadpoolctl lets only the thread that set the number change it, until that thread is cleared.
    """
    _forget()
    _limits.restore_original_limits()
    _forget()


def _forget() -> None:
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # since version 3.8
            library.clear_controlling_thread(force=True)


@cache
def _libraries() -> Any:
    """Return NumPy's and SciPy's BLAS; finding them takes about a millisecond."""
    import scipy.linalg  # noqa: F401  imported here to keep `import svmrepro.solvers` light
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
