"""Reproducible random orders of the examples.

A solver's starting point, and hence its path, depends on the order of the examples. A statement about a
problem rather than about one order of its rows therefore needs measurements over several permutations.
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
        Number of rows.
    permutation
        Number of the permutation, at least 0; each number gives a different order.

    Returns
    -------
    ndarray (n,) of int64
        Every row once.
    """
    # Sorted uniform numbers instead of Generator.permutation: NumPy guarantees the stream of random bits, but
    # not the algorithms of its methods. The 1 separates these streams from those of nested subsets.
    keys = Generator(PCG64(SeedSequence((permutation, 1)))).random(n)
    return np.argsort(keys, kind="stable").astype(np.int64)


def permute(data: Dataset, permutation: int) -> Dataset:
    """Return a data set with its rows in another order.

    Parameters
    ----------
    data
        The data set; it is not modified.
    permutation
        Number of the permutation, see ``permutations.permuted_rows``.

    Returns
    -------
    Dataset
        The permuted examples and labels; the provenance gains ``permutation``.
    """
    order = permuted_rows(len(data.y), permutation)
    facts = {**data.provenance, "permutation": permutation}
    return replace(data, X=data.X[order], y=data.y[order], provenance=facts)
