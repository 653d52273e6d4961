"""Nested subsets of a set that has no subset files of a paper's own.

Size k is the first k rows of one permutation, which a seed in the registry fixes: files are often sorted (by
position, by class), and the first k rows of such a file would be another problem than the whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator, SeedSequence


def subset_rows(n: int, of: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the rows of the subset of size n, in their order there.

    Parameters
    ----------
    n
        Its size.
    of
        Rows of the whole set.
    seed
        Of the permutation; the same for all sizes, so that they are nested.

    Returns
    -------
    ndarray (n,) of int64
        Rows of the whole set, each once.
    """
    # Sorted uniform numbers, not Generator.permutation: NumPy promises the stream of random bits, not what
    # its methods make of it.
    keys = Generator(PCG64(SeedSequence(seed))).random(of)
    return np.argsort(keys, kind="stable")[:n].astype(np.int64)
