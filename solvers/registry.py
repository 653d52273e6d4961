"""The solvers by name, with the defaults of their options. A new solver needs a module and an entry here.

Importing this module imports no compiled code.
"""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from svmrepro.solvers.kernel import is_number

if TYPE_CHECKING:
    from svmrepro.solvers.interface import Solver

LINEAR = "linear kernel"
BIAS = "bias"
NO_BIAS = "no bias"
NO_PRECOMPUTED = "no precomputed kernel"

HINGE, SQUARED_HINGE, PAIRS = "hinge", "squared hinge", "pairs"
KKT, GAP, RELATIVE_GAP = "kkt", "gap", "relative gap"

_CACHE_MB = 40.0  # the default cache of kernel rows, in 2^20 bytes; an experiment may have another
_LARGE_CACHE_MB = (
    200.0  # that of the peers, as in scikit-learn, and of smo-newton, which is compared with them
)

#: Arguments of `solve`, of which a misspelt one arrives as an option.
OF_SOLVE = "eps", "time_limit", "memory_limit_mb", "iteration_limit", "progress", "trace", "start", "verify"


class NotInstalled(ImportError):
    """A solver's package is not installed."""


@dataclass(frozen=True)
class SolverSpec:
    """Description of a solver, available without loading it.

    Attributes
    ----------
    name : str
        Name in :data:`SOLVERS`.
    module : str
        Module of this package, with the interface of :mod:`svmrepro.solvers.interface`.
    description : str
        One line, with its source.
    options : mapping of str to default value
        Options it takes; any other raises.
    needs : tuple of {"linear kernel", "bias", "no bias", "no precomputed kernel"}
        Requirements on the problem.
    choices : mapping of str to tuple of str
        The values of each option that is a word.
    fixed : mapping of str to value
        Settings that distinguish this solver from others of its module; not user options.
    tolerance_factor : float
        A result passes when the pair gap is at most this times ``eps``: 2 for rules that hold each example to
        within eps of its own condition, 1 for the maximal-violating-pair rule.
    package : str
        For a peer, the distribution that contains it; else empty.
    loss : {"hinge", "squared hinge", "pairs"}
        The loss it minimises. A solver for pairs takes ranks as labels, all others only -1 and +1.
    promise : {"kkt", "gap", "relative gap"}
        What ``eps`` bounds and the certificate checks: the KKT violations; the gap between the primal
        objective and a lower bound, over n C; the same gap, over the primal objective.
    blocks : bool
        Whether it takes examples in blocks, and therefore data sets larger than memory.
    starts : bool
        Whether it accepts initial multipliers.
    one_bound : bool
        Whether C must be the same for all examples.
    memory_limited : bool
        Whether it stores a matrix whose size the driver's memory limit bounds.
    iteration_limited : bool
        Whether it keeps an iteration limit, which some packages cannot.
    """

    name: str
    module: str
    description: str
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    tolerance_factor: float = 2.0
    fixed: Mapping[str, Any] = field(default_factory=dict)
    package: str = ""
    loss: str = HINGE
    promise: str = KKT
    blocks: bool = False
    starts: bool = False
    one_bound: bool = False
    memory_limited: bool = False
    iteration_limited: bool = True
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def version(self) -> str | None:
        """Version of a peer's package, None if it is not installed; empty for a solver of this package."""
        try:
            return metadata.version(self.package) if self.package else ""
        except metadata.PackageNotFoundError:
            return None

    def load(self) -> Solver:
        """Import the solver's module, which loads its code.

        Returns
        -------
        module
            With the interface of :mod:`svmrepro.solvers.interface`.

        Raises
        ------
        NotInstalled
            An ImportError: the solver is a peer, and its package is missing.
        """
        if self.version is None:
            raise NotInstalled(
                f"solver {self.name!r} needs the package {self.package}, which is not installed"
            )
        return cast("Solver", importlib.import_module(f"svmrepro.solvers.{self.module}"))

    def check(self, problem: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Check that the solver can take a problem and options.

        Parameters
        ----------
        problem : Problem
            Of a problem without examples, as in a configuration, only ``kernel``, ``bias`` and ``binary`` are
            needed.
        options : mapping of str to value
            Options of the solver; those that are not given have their defaults.

        Returns
        -------
        dict of str to value
            All options.

        Raises
        ------
        ValueError
            If the solver needs another kernel, bias, labels or C, or an option is unknown or invalid.
        """
        family = problem.kernel.name
        bounds = getattr(problem, "bounds", None)  # a configuration is checked before there are examples
        lacks = {
            f"a linear kernel, got {family}": LINEAR in self.needs and family != "linear",
            "a kernel of examples, got precomputed": NO_PRECOMPUTED in self.needs and family == "precomputed",
            "bias=True": BIAS in self.needs and not problem.bias,
            "bias=False": NO_BIAS in self.needs and problem.bias,
            "its examples in one piece, not in blocks": getattr(problem, "blocks", False) and not self.blocks,
            "one C for all examples": self.one_bound and bounds is not None and (bounds != bounds[0]).any(),
        }
        for what, lacking in lacks.items():
            if lacking:
                raise ValueError(f"solver {self.name!r} needs {what}")
        if self.loss != PAIRS and not problem.binary:
            odd = next(label for label in problem.y if abs(label) != 1)
            raise ValueError(f"solver {self.name!r} needs labels -1 and +1 only, y holds {odd:g}")
        return self.check_options(options)

    def check_iteration_limit(self, limit: float | None) -> None:
        """Check that the solver can keep an iteration limit.

        Parameters
        ----------
        limit : int, inf or None
            The limit; inf and None are none.

        Raises
        ------
        ValueError
            If the solver is another package's, which would ignore the limit.
        """
        if not self.iteration_limited and limit is not None and limit != math.inf:
            raise ValueError(f"solver {self.name!r} takes no iteration limit; its package has none")

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Check options, and complete them.

        Parameters
        ----------
        options : mapping of str to value
            Options of the solver; those that are not given have their defaults.

        Returns
        -------
        dict of str to value
            All options, with the type of their defaults.

        Raises
        ------
        ValueError
            If an option is unknown or its value invalid.
        """
        given: dict[str, Any] = {}
        for key, value in options.items():
            if key not in self.options:
                known = ", ".join(self.options) or "none"
                close = difflib.get_close_matches(str(key), [*self.options, *OF_SOLVE], n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ValueError(f"solver {self.name!r} has no option {key!r}; it has: {known}{hint}")
            default, said = self.options[key], f"solver {self.name!r}: option {key!r} must"
            if key in self.choices:
                if value not in self.choices[key]:
                    raise ValueError(f"{said} be one of {', '.join(self.choices[key])}, got {value!r}")
                given[key] = value
                continue
            if isinstance(default, bool):
                fits = isinstance(value, bool | np.bool_)
            else:
                fits = is_number(value) and (isinstance(default, float) or int(value) == value)
            if not fits:
                raise ValueError(f"{said} be like {default!r}, got {value!r}")
            if value < 0:
                raise ValueError(f"{said} not be negative, got {value!r}")
            if value >= 2.0**62:
                raise ValueError(f"{said} be below 2^62, got {value!r}")
            if key == "threads" and value < 1:
                raise ValueError(f"{said} be at least 1, got {value!r}")
            given[key] = type(default)(value)
        return {**self.options, **given, **self.fixed}


def _second_order(
    name: str, description: str, plan: int = 0, offer: int = 0, sets: int = 1, stretch: float = 1.0
) -> SolverSpec:
    """Return a variant of SMO with second-order working sets; the numbers are explained in its module."""
    return SolverSpec(
        name,
        "decomposition.second_order",
        f"{description}, Glasmachers 2008",
        {"cache_mb": _CACHE_MB, "single": False, "shrinking": True, "lengths": False},
        (BIAS,),
        tolerance_factor=1.0,
        fixed={"plan": plan, "offer": offer, "sets": sets, "stretch": stretch},
        starts=True,
    )


_SECOND_ORDER = (
    _second_order("smo2", "SMO with second-order working sets (LIBSVM's), Algorithm 1"),
    _second_order("pasmo", "planning-ahead SMO, Algorithms 3 and 4 as the proof needs them", 1, 1),
    _second_order("pasmo-as-printed", "planning-ahead SMO, Algorithm 5 as printed", 1, 2),
    _second_order("pasmo-every-step", "planning-ahead SMO, Algorithm 2 in place of 4", 2, 1),
    *(
        _second_order(f"pasmo-{k}", f"planning ahead with {k} working sets, section 7.4", 1, 1, k)
        for k in (2, 3, 5, 10, 20)
    ),
    _second_order("smo2-wss", "SMO with the working set before last as a candidate, section 7.2", offer=3),
    _second_order("smo2-over", "SMO with steps 1.1 times as long, section 7.3", stretch=1.1),
    _second_order(
        "smo2-over-wss",
        "SMO with steps 1.1 times as long and the selection of 7.2, section 7.3",
        offer=3,
        stretch=1.1,
    ),
)

READING_CHOICES: dict[str, tuple[str, ...]] = {
    "plan": ("never", "free", "smo", "inside", "any"),
    "guess": ("t-1", "t-2", "either", "shared"),
    "slope": ("present", "own"),
    "this_box": ("planned", "newton", "none"),
    "next_box": ("moved", "present", "none"),
    "clip": ("before", "after"),
    "offer": ("never", "planned", "unplanned", "always"),
    "candidates": ("t-1", "t-2", "t-1 and t-2", "t-2 and t-3"),
    "direction": ("uphill", "own", "any"),
    "gain": ("interval", "newton", "exact"),
}
"""Options of `planning-readings` that are words; its compiled code knows a word by its place."""

_PLANNING_READINGS = SolverSpec(
    "planning-readings",
    "decomposition.planning_readings",
    "planning-ahead SMO with what its paper leaves open as options, Glasmachers 2008",
    {
        "cache_mb": _CACHE_MB,
        "single": False,
        "shrinking": True,
        "unshrink": True,
        "lengths": False,
        "stretch": 1.0,
        "eta": 0.9,
        **{key: values[0] for key, values in READING_CHOICES.items()},
        "plan": "free",
        "offer": "planned",
        "candidates": "t-2",
    },
    (BIAS,),
    tolerance_factor=1.0,
    starts=True,
    choices=READING_CHOICES,
)


def _peer(
    name: str,
    package: str,
    description: str,
    options: Mapping[str, Any],
    needs: tuple[str, ...] = (BIAS,),
    module: str = "peers.estimators",
    promise: str = KKT,
    iteration_limited: bool = True,
) -> SolverSpec:
    """Return the entry of a solver from another package."""
    return SolverSpec(
        name,
        module,
        description,
        options,
        needs,
        tolerance_factor=2.0,  # kernel rows in single precision; a bias that may not be mid-gap
        fixed={"peer": name},
        package=package,
        promise=promise,
        iteration_limited=iteration_limited,
    )


_SVMLIGHT_OPTIONS = {
    "q": 10,
    "cache_mb": _CACHE_MB,
    "single": False,
    "shrinking": True,
    "patience": 100,
    "fold": False,
    "widen": True,
}

_KERNEL_OPTIONS = {"cache_mb": _LARGE_CACHE_MB, "shrinking": True}
_PEERS = (
    _peer("libsvm", "scikit-learn", "LIBSVM, as scikit-learn's SVC", _KERNEL_OPTIONS),
    _peer(
        "libsvm-package",
        "libsvm-official",
        "LIBSVM by its own package",
        _KERNEL_OPTIONS,
        (BIAS, NO_PRECOMPUTED),
        module="peers.libsvm_package",
        iteration_limited=False,
    ),
    _peer(
        "liblinear",
        "scikit-learn",
        "LIBLINEAR's dual coordinate descent, hinge loss, as scikit-learn's LinearSVC",
        {"seed": 0, "passes": 0},
        (LINEAR, NO_BIAS),
        promise=GAP,
    ),
    _peer(
        "liblinear-multicore",
        "liblinear-multicore",
        "LIBLINEAR's dual coordinate descent on several threads, by its own package",
        {"threads": 1},
        (LINEAR, NO_BIAS),
        module="peers.liblinear_package",
        promise=GAP,
        iteration_limited=False,
    ),
    _peer(
        "onedal",
        "scikit-learn-intelex",
        "oneDAL, as scikit-learn-intelex's SVC",
        {**_KERNEL_OPTIONS, "threads": 1},
        (BIAS, NO_PRECOMPUTED),
    ),
    _peer(
        "thundersvm",
        "thundersvm-cpu",
        "ThunderSVM on one thread",
        {"cache_mb": _LARGE_CACHE_MB},
        (BIAS, NO_PRECOMPUTED),
        iteration_limited=False,
    ),
)

_cutting_planes = partial(SolverSpec, needs=(LINEAR, NO_BIAS), tolerance_factor=1.0, promise=GAP, blocks=True)
_CUTTING_PLANES = (
    _cutting_planes(
        "svmperf",
        "cutting_planes.svmperf",
        "cutting planes for classification, Joachims 2006, Algorithm 1 (SVM-perf)",
        {"drop_after": 50, "keep_alpha": False, "threads": 1},
    ),
    _cutting_planes(
        "ocas",
        "cutting_planes.ocas",
        "cutting planes with a line search, Franc and Sonnenburg 2008 (OCAS)",
        {"drop_after": 50, "keep_alpha": False, "threads": 1},
        promise=RELATIVE_GAP,
    ),
    _cutting_planes(
        "svmperf-ordinal",
        "cutting_planes.svmperf_ordinal",
        "cutting planes for ranks and ROC area, Joachims 2006, Algorithm 2 (SVM-perf)",
        {"drop_after": 50, "threads": 1},
        loss=PAIRS,
        one_bound=True,
    ),
)

_ALL = (
    SolverSpec(
        "smo",
        "platt.smo",
        "sequential minimal optimisation, Platt 1998, sections 2.1-2.5",
        {"step_tol": 1e-8, "fold": True, "polish": True, "seed": 0, "shrinking": False, "cache_mb": 0.0},
        (BIAS,),
        starts=True,
    ),
    SolverSpec(
        "smo-fixed-threshold",
        "platt.fixed_threshold",
        "one multiplier a step with the threshold held at 0, Platt 1998, section 2.6",
        {"step_tol": 1e-8, "fold": True, "polish": True},
        (NO_BIAS,),
        starts=True,
    ),
    SolverSpec(
        "chunking",
        "platt.chunking",
        "chunking with projected conjugate gradient, Platt 1998, section 3",
        {"chunk_size": 500, "bends": True, "whole": False},
        (BIAS,),
        starts=True,
        memory_limited=True,
    ),
    SolverSpec(
        "svmlight",
        "decomposition.svmlight.classification",
        "decomposition with working sets of q, Joachims 1999 (SVM-light)",
        {**_SVMLIGHT_OPTIONS, "plain": False},
        starts=True,
    ),
    SolverSpec(
        "csmo",
        "decomposition.conjugate",
        "conjugate SMO with second-order working sets, Torres-Barran, Alaiz and Dorronsoro 2021",
        {"cache_mb": _CACHE_MB, "shrinking": True},
        (BIAS,),
        tolerance_factor=1.0,
        starts=True,
    ),
    SolverSpec(
        "smo-newton",
        "decomposition.smo_newton",
        "second-order SMO with planning ahead, and Newton steps on the free multipliers",
        {"cache_mb": _LARGE_CACHE_MB, "shrinking": True, "threads": 1},
        (BIAS,),
        tolerance_factor=1.0,
        starts=True,
    ),
    SolverSpec(
        "svmlight-ordinal",
        "decomposition.svmlight.ordinal",
        "decomposition over all pairs of different ranks, Joachims 2006, section 3.2",
        _SVMLIGHT_OPTIONS,
        (LINEAR, NO_BIAS),
        loss=PAIRS,
        promise=GAP,
        starts=True,
        one_bound=True,
        memory_limited=True,
    ),
    SolverSpec(
        "dual-descent",
        "linear.dual_descent",
        "dual coordinate descent with shrinking, ended by the duality gap, Hsieh et al. 2008",
        {"shrinking": True, "seed": 0},
        (LINEAR, NO_BIAS),
        promise=RELATIVE_GAP,
        starts=True,
    ),
    SolverSpec(
        "l2svm-mfn",
        "linear.l2svm_mfn",
        "modified finite Newton for the squared hinge, Keerthi and DeCoste 2005",
        {},
        (LINEAR, NO_BIAS),
        loss=SQUARED_HINGE,
        starts=True,
    ),
    SolverSpec(
        "lsvm",
        "linear.lsvm",
        "Lagrangian SVM for the squared hinge, Mangasarian and Musicant 2001",
        {},
        (LINEAR, NO_BIAS),
        loss=SQUARED_HINGE,
        starts=True,
        memory_limited=True,
    ),
    *_SECOND_ORDER,
    _PLANNING_READINGS,
    *_CUTTING_PLANES,
    *_PEERS,
)

SOLVERS: Mapping[str, SolverSpec] = MappingProxyType({spec.name: spec for spec in _ALL})


def get(name: str) -> SolverSpec:
    """Return the solver called ``name``; if there is none, raise ValueError, which lists the known ones."""
    try:
        return SOLVERS[name]
    except (KeyError, TypeError):  # a list, for example
        raise ValueError(f"solver {name!r} unknown; known: {', '.join(SOLVERS)}") from None
