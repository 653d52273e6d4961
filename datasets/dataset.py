"""The types that readers and loaders return: examples with labels, with or without provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """Examples and labels, as a reader returns them.

    Attributes
    ----------
    X : ndarray (n, d) of float64, or scipy CSR matrix of float64
        One example per row.
    y : ndarray (n,) of float64
        Labels, -1 or +1.
    """

    X: FloatArray | sparse.csr_matrix
    y: FloatArray


@dataclass(frozen=True, eq=False)
class Dataset(ExampleSet):
    """Examples and labels of a binary classification problem.

    Attributes
    ----------
    X : ndarray (n, d) of float64, or scipy CSR matrix of float64
        Binary data are a CSR matrix with sorted column indices whose stored values are all one.
    y : ndarray (n,) of float64
        Labels, -1 or +1; both occur.
    name : str
        The data set's name in the registry, or the name that a user registered.
    provenance : mapping
        Where the data come from: files with their SHA-256, or generator, version and seed; how the rows were
        chosen; ``n_requested`` and ``n_actual``.
    """

    name: str
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the shapes of X and y agree."""
        if self.X.ndim != 2 or self.y.shape != (self.X.shape[0],):
            raise ValueError(f"{self.name}: X has shape {self.X.shape}, y has shape {self.y.shape}")


def sorted_csr(parts: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Return the CSR matrix of (values, columns, row pointers) whose columns ascend within each row."""
    X = sparse.csr_matrix(parts, shape=shape)
    X.has_sorted_indices = True
    return X
