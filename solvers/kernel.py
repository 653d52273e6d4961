"""Kernel functions as data: a name and its parameters.

The arithmetic is in :mod:`svmrepro.solvers.storage.kernel_transforms` (compiled, for the solvers) and,
independently, in :mod:`svmrepro.solvers.reference_kernels` (NumPy, for the certificate). This module uses
neither. CONTRIBUTING.md lists what another kernel needs.
"""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import scipy.sparse as sp

#: Names of the kernels, and the parameters that each takes.
PARAMETERS: Mapping[str, frozenset[str]] = {
    "linear": frozenset(),
    "gaussian": frozenset({"gamma", "sigma2"}),
    "polynomial": frozenset({"degree", "a", "c"}),
    "precomputed": frozenset(),
}


@dataclass(frozen=True)
class Kernel:
    """A kernel ``k(x, z)``; use the class methods to construct one.

    Attributes
    ----------
    name : {"linear", "gaussian", "polynomial", "precomputed"}
        Family of the kernel.
    gamma : float
        Gaussian width: ``k = exp(-gamma ||x - z||^2)``.
    degree : int
        Polynomial degree ``d``: ``k = (a x.z + c)^d``.
    a, c : float
        Scale and offset of the polynomial kernel.

    Raises
    ------
    ValueError
        If the name is unknown, or a parameter is not one of the kernel or is invalid.
    """

    name: str
    gamma: float = 0.0
    degree: int = 1
    a: float = 1.0
    c: float = 0.0

    def __post_init__(self) -> None:
        known = _parameters(self.name)
        for field in fields(self)[1:]:
            if field.name not in known and getattr(self, field.name) != field.default:
                raise ValueError(f"kernel {self.name}: parameter {field.name!r} unknown")
        if self.name == "gaussian":
            gamma = _number("gaussian", "gamma", self.gamma)
            if not gamma > 0:
                raise ValueError(f"Kernel.gaussian: gamma must be positive, got {self.gamma!r}")
            object.__setattr__(self, "gamma", gamma)
        if self.name == "polynomial":
            degree = self.degree
            if not is_number(degree) or degree != int(degree) or degree < 1:
                raise ValueError(f"Kernel.polynomial: degree must be a positive integer, got {degree!r}")
            object.__setattr__(self, "degree", int(degree))
            object.__setattr__(self, "a", _number("polynomial", "a", self.a))
            object.__setattr__(self, "c", _number("polynomial", "c", self.c))

    @property
    def may_be_indefinite(self) -> bool:
        """Whether kernel matrices may fail to be positive semidefinite."""
        return self.name == "precomputed" or (self.name == "polynomial" and min(self.a, self.c) < 0.0)

    @classmethod
    def linear(cls) -> Kernel:
        """Return ``k(x, z) = x.z``."""
        return cls("linear")

    @classmethod
    def gaussian(cls, gamma: float | None = None, *, sigma2: float | None = None) -> Kernel:
        """Return ``k(x, z) = exp(-gamma ||x - z||^2)``.

        Parameters
        ----------
        gamma : float, optional
            Glasmachers' (and LIBSVM's) parameter.
        sigma2 : float, optional
            Platt's "variance": ``gamma = 1 / (2 sigma2)``. Give exactly one of the two.

        Returns
        -------
        Kernel
            With ``gamma``, whichever was given.

        Raises
        ------
        ValueError
            If both or neither are given, or the value is not positive.
        """
        if (gamma is None) == (sigma2 is None):
            raise ValueError("Kernel.gaussian: give exactly one of gamma and sigma2")
        if sigma2 is None:
            assert gamma is not None
            return cls("gaussian", gamma=gamma)
        variance = _number("gaussian", "sigma2", sigma2)
        if not variance > 0 or math.isinf(0.5 / variance):
            raise ValueError(f"Kernel.gaussian: sigma2 must be positive with 1/sigma2 finite, got {sigma2!r}")
        return cls("gaussian", gamma=0.5 / variance)

    @classmethod
    def polynomial(cls, degree: int, a: float = 1.0, c: float = 0.0) -> Kernel:
        """Return ``k(x, z) = (a x.z + c)^degree``.

        Parameters
        ----------
        degree : int
            At least 1.
        a, c : float
            Scale and offset; if either is negative, the kernel may be indefinite.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            If the degree is not a positive integer or ``a`` or ``c`` is not finite.
        """
        return cls("polynomial", degree=degree, a=a, c=c)

    @classmethod
    def precomputed(cls) -> Kernel:
        """Return the kernel of a problem whose X is itself the matrix of kernel values.

        ``X[i, j] = k(x_i, x_j)``, shape (n, n), symmetric. ``decision_function`` then takes the kernel values
        of the new examples (rows) with the training examples (columns).

        Returns
        -------
        Kernel
        """
        return cls("precomputed")

    @classmethod
    def from_mapping(cls, spec: Mapping[str, object]) -> Kernel:
        """Build a kernel from configuration.

        Parameters
        ----------
        spec : mapping
            The name and the parameters, for example ``{"name": "gaussian", "sigma2": 10}``.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            If the name or a parameter is unknown, naming it.
        """
        parameters = {key: value for key, value in spec.items() if key != "name"}
        name = spec.get("name")
        unknown = sorted(set(parameters) - _parameters(name))
        if unknown:
            raise ValueError(f"kernel {name}: parameter {unknown[0]!r} unknown")
        if name == "polynomial" and "degree" not in parameters:
            raise ValueError("kernel polynomial: parameter 'degree' is missing")
        return getattr(cls, str(name))(**parameters)  # type: ignore[no-any-return]


def _parameters(name: object) -> frozenset[str]:
    """Return the parameters of a kernel, or raise if there is none of this name."""
    if str(name) not in PARAMETERS:
        raise ValueError(f"kernel name {name!r} unknown; known: {', '.join(sorted(PARAMETERS))}")
    return PARAMETERS[str(name)]


def gamma_of_scale(X: Any) -> float:
    """Return what scikit-learn means by ``gamma="scale"``: 1 / (d times the variance of all entries)."""
    variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def is_number(value: object) -> bool:
    """Tell whether a value is a real number, of Python or NumPy, finite as a float, and not a bool."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def shown(value: object) -> str:
    """Return a wrong value for a message, in one short line."""
    return " ".join(reprlib.repr(value).split())


def _number(kernel: str, key: str, value: object) -> float:
    """Return a finite float, or raise naming the kernel and its parameter."""
    if not is_number(value):
        raise ValueError(f"Kernel.{kernel}: {key} must be a finite number, got {value!r}")
    return float(value)  # type: ignore[arg-type]
