"""The same examples in another order, reproducibly.

Where a solver starts, and so the path that it takes, depends on the order of the examples. What is to be said
of a problem rather than of one order of its rows is measured over several permutations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator, SeedSequence
from svmrepro.datasets.dataset import Dataset


def permuted_rows(n: int, permutation: int) -> npt.NDArray[np.int64]:
    """Return a random order of n rows.

    Parameters
    ----------
    n
        How many.
    permutation
        Its number, not negative; each stands for an order of its own.

    Returns
    -------
    ndarray (n,) of int64
        Every row once.
    """
    # Sorted uniform numbers, not Generator.permutation: NumPy promises the stream of random bits, not what
    # its methods make of it. The 1 keeps the streams apart from those of nested subsets.
    keys = Generator(PCG64(SeedSequence((permutation, 1)))).random(n)
    return np.argsort(keys, kind="stable").astype(np.int64)


def permute(data: Dataset, permutation: int) -> Dataset:
    """Return a data set with its rows in another order.

    Parameters
    ----------
    data
        The data set; it stays as it is.
    permutation
        Number of the order, see ``permutations.permuted_rows``.

    Returns
    -------
    Dataset
        The same examples with their labels; ``permutation`` is added to the provenance.
    """
    order = permuted_rows(len(data.y), permutation)
    facts = {**data.provenance, "permutation": permutation}
    return replace(data, X=data.X[order], y=data.y[order], provenance=facts)
