"""Kernel functions as data: a name and its parameters.

The arithmetic lives in :mod:`svmrepro.solvers.transforms` (compiled, for the
solvers) and, independently, in :mod:`svmrepro.solvers.certificate` (numpy, for the
judge); this module knows neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """A kernel ``k(x, z)``; use the named constructors.

    Attributes
    ----------
    name : {"linear", "gaussian", "polynomial"}
        Family of the kernel.
    gamma : float
        Gaussian width: ``k = exp(-gamma ||x - z||^2)``.
    degree : int
        Polynomial degree ``d``: ``k = (a x.z + c)^d``.
    a, c : float
        Scale and offset of the polynomial kernel.
    """

    name: str
    gamma: float = 0.0
    degree: int = 1
    a: float = 1.0
    c: float = 0.0

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

        Raises
        ------
        ValueError
            If both or neither are given, or the value is not a positive number.
        """
        if (gamma is None) == (sigma2 is None):
            raise ValueError("Kernel.gaussian: give exactly one of gamma and sigma2")
        value = (
            _number("gaussian", "gamma", gamma) if sigma2 is None else _number("gaussian", "sigma2", sigma2)
        )
        if not value > 0:
            raise ValueError(f"Kernel.gaussian: the width must be positive, got {value!r}")
        return cls("gaussian", gamma=value if sigma2 is None else 0.5 / value)

    @classmethod
    def polynomial(cls, degree: int, a: float = 1.0, c: float = 0.0) -> Kernel:
        """Return ``k(x, z) = (a x.z + c)^degree``; ``c < 0`` makes it indefinite.

        Raises
        ------
        ValueError
            If the degree is not a positive integer or ``a`` or ``c`` is not finite.
        """
        number = isinstance(degree, int | float) and not isinstance(degree, bool) and math.isfinite(degree)
        if not number or degree != int(degree) or degree < 1:
            raise ValueError(f"Kernel.polynomial: degree must be a positive integer, got {degree!r}")
        return cls(
            "polynomial", degree=int(degree), a=_number("polynomial", "a", a), c=_number("polynomial", "c", c)
        )

    @classmethod
    def from_mapping(cls, spec: Mapping[str, object]) -> Kernel:
        """Build a kernel from configuration, for example ``{"name": "gaussian", "sigma2": 10}``.

        Raises
        ------
        ValueError
            If the name or a parameter is unknown, naming it.
        """
        parameters = {key: value for key, value in spec.items() if key != "name"}
        name = spec.get("name")
        allowed = {
            "linear": set(),
            "gaussian": {"gamma", "sigma2"},
            "polynomial": {"degree", "a", "c"},
        }
        if name not in allowed:
            raise ValueError(f"kernel name {name!r} unknown; known: {', '.join(sorted(allowed))}")
        unknown = sorted(set(parameters) - allowed[str(name)])
        if unknown:
            raise ValueError(f"kernel {name}: parameter {unknown[0]!r} unknown")
        if name == "polynomial" and "degree" not in parameters:
            raise ValueError("kernel polynomial: parameter 'degree' is missing")
        build = {"linear": cls.linear, "gaussian": cls.gaussian, "polynomial": cls.polynomial}[str(name)]
        return build(**parameters)  # type: ignore[operator,no-any-return]

    def as_mapping(self) -> dict[str, object]:
        """Return the kernel as plain data, the inverse of :meth:`from_mapping`."""
        if self.name == "gaussian":
            return {"name": "gaussian", "gamma": self.gamma}
        if self.name == "polynomial":
            return {"name": "polynomial", "degree": self.degree, "a": self.a, "c": self.c}
        return {"name": self.name}


def _number(kernel: str, key: str, value: object) -> float:
    """Return a finite float, or raise naming the kernel and its parameter."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"Kernel.{kernel}: {key} must be a finite number, got {value!r}")
    return float(value)
