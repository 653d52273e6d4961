"""Nested subsets of data sets for which no paper published subset files.

The subset of size k is the first k rows of one permutation, fixed by a seed in the registry. Files are often
sorted, by position or by class, so the first k rows of the file itself would be a different problem.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator, SeedSequence


def subset_rows(n: int, of: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the rows of the subset of size n, in permuted order.

    Parameters
    ----------
    n
        Size of the subset.
    of
        Number of rows of the whole set.
    seed
        Seed of the permutation; the same seed for all sizes makes them nested.

    Returns
    -------
    ndarray (n,) of int64
        Distinct row indices of the whole set.
    """
    # Sorted uniform numbers instead of Generator.permutation: NumPy guarantees the stream of random bits, but
    # not the algorithms of its methods.
    keys = Generator(PCG64(SeedSequence(seed))).random(of)
    return np.argsort(keys, kind="stable")[:n].astype(np.int64)
