"""Reproducible random orders of the examples, and nested subsets.

A solver's starting point, and hence its path, depends on the order of the examples. A statement about a
problem rather than about one order of its rows therefore needs measurements over several permutations. The
seed of a permutation is its number.

Nested subsets serve data sets for which no paper published subset files, and sizes between published ones:
the subset of size k is the first k rows of one permutation, fixed by a seed in the registry. Files are often
sorted, by position or by class, so the first k rows of the file itself would be a different problem.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator, SeedSequence
from svmrepro.datasets.dataset import Dataset


def permuted_rows(n: int, permutation: int) -> npt.NDArray[np.int64]:
    """Return every row of 0 ... n - 1 once, in the order that a permutation's number gives."""
    # The 1 separates these streams from those of nested subsets.
    return _order(n, SeedSequence((permutation, 1)))


def subset_rows(n: int, of: int, seed: int) -> npt.NDArray[np.int64]:
    """Return n distinct rows of 0 ... of - 1; with the same seed the sizes are nested."""
    return _order(of, SeedSequence(seed))[:n]


def _order(n: int, seed: SeedSequence) -> npt.NDArray[np.int64]:
    # Sorted uniform numbers instead of Generator.permutation: NumPy guarantees the stream of random bits, but
    # not the algorithms of its methods.
    return np.argsort(Generator(PCG64(seed)).random(n), kind="stable").astype(np.int64)


def permute(data: Dataset, permutation: int) -> Dataset:
    """Put the rows of a data set in another order.

    Parameters
    ----------
    data
        The data set; it is not modified.
    permutation
        Number of the permutation, at least 0; each number gives a different order.

    Returns
    -------
    Dataset
        With ``permutation`` in its provenance.
    """
    order = permuted_rows(len(data.y), permutation)
    facts = {**data.provenance, "permutation": permutation}
    return replace(data, X=data.X[order], y=data.y[order], provenance=facts)
