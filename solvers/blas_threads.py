"""BLAS on one thread while a problem is solved.

The threads of OpenBLAS go on looking for work for a tenth of a second after each call. On two processors, a
solver with two threads then shares them with a third one, and is hardly faster than with one. And the clock
of a solver counts the time of its own threads only.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Have NumPy's and SciPy's BLAS use one thread in this process; afterwards as many as before.

    If several Python threads use it at once, the first one of them decides.
    """
    return _libraries().limit(limits=1)  # type: ignore[no-any-return]


@cache
def _libraries() -> Any:
    """Return NumPy's and SciPy's BLAS; finding them takes about a millisecond."""
    import scipy.linalg  # noqa: F401  imported here to keep `import svmrepro.solvers` light
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
