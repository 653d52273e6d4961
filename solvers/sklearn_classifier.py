r"""A scikit-learn classifier over :func:`~svmrepro.solvers.solve`.

>>> from sklearn.datasets import load_iris
>>> from svmrepro.solvers import SVMClassifier
>>> X, y = load_iris(return_X_y=True)
>>> SVMClassifier(C=10.0).fit(X, y).score(X, y) > 0.95
True

Two classes make one problem, in which the second of ``classes_`` is +1. More classes make one problem for
each pair, as in LIBSVM. Let ``f_p`` be the decision value of pair ``p = (a, b)``, a before b. The pair votes
for b if ``f_p > 0``, else for a, and the decision value of class c is

    votes_c + t_c / (3 (1 + |t_c|)),    t_c = sum of f_p over pairs (a, c)  -  sum of f_p over pairs (c, b)

as in scikit-learn: the fraction, whose size is below 1/3, only breaks ties between votes.

Probabilities are Platt's sigmoids over decision values from a five-fold cross-validation, by scikit-learn's
``CalibratedClassifierCV``. (More than two classes get one sigmoid each, normalised; LIBSVM couples pairs.)
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.model_selection import PredefinedSplit, StratifiedKFold
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"SVMClassifier needs scikit-learn 1.6 or later, the extra svmrepro[estimator] ({error})"
    ) from error

from svmrepro.solvers.certificate import Certificate, certify
from svmrepro.solvers.driver import check_positive, solve
from svmrepro.solvers.kernel import Kernel, gamma_of_scale, is_number
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.reference_kernels import kernel_product
from svmrepro.solvers.registry import KKT, NO_BIAS, PAIRS, get
from svmrepro.solvers.solution import OPTIMAL, Solution
from svmrepro.solvers.warm_starts import scaled_start

_FAMILIES = {
    "linear": "linear",
    "gaussian": "gaussian",
    "rbf": "gaussian",
    "poly": "polynomial",
    "polynomial": "polynomial",
    "precomputed": "precomputed",
}
_FOLDS = 5
_NO_OPTIONS = {  # other arguments of ``solve``
    "eps": "; give tol",
    "time_limit": "; give time_limit to SVMClassifier",
    "start": "; see warm_start",
    "problem": "",
    "name": "",
}


def _has_probabilities(classifier: SVMClassifier) -> bool:
    """Tell whether probabilities were requested; raise AttributeError if not."""
    if not classifier.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class SVMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classification by any solver of this package.

    Parameters
    ----------
    solver : str, default "smo-newton"
        A name in ``SOLVERS``. If it does not support a bias, the problem has none.
    C : float
        Upper bound on every multiplier.
    kernel : {"linear", "rbf", "gaussian", "poly", "polynomial", "precomputed"}
        "linear": ``x.z``; "rbf" or "gaussian": ``exp(-gamma ||x - z||^2)``; "poly" or "polynomial":
        ``(gamma x.z + coef0)^degree``; "precomputed": X is the matrix of kernel values, of shape
        (n_samples, n_training_samples).
    gamma : float or {"scale", "auto"}
        A number; "scale": 1 / (n_features X.var()); "auto": 1 / n_features.
    degree : int
        Degree of the polynomial kernel.
    coef0 : float
        Offset of the polynomial kernel.
    tol : float
        Stopping tolerance on the KKT conditions, ``eps`` of :func:`~svmrepro.solvers.solve`.
    cache_mb : float, optional
        Size of the cache of kernel rows; the solver's own default if None.
    threads : int, optional
        Number of threads, for solvers that can divide their work; one if None. With ``smo-newton`` the result
        is the same, bit for bit; with cutting planes the last digits may differ.
    time_limit : float, optional
        CPU seconds for each pair of classes. A fit that reaches it warns and is still usable.
    class_weight : dict or "balanced", optional
        Factor on C by label; "balanced": n_samples / (n_classes times the examples of the class).
    probability : bool
        Whether to provide ``predict_proba``; the fit then takes about six times as long, and needs five
        examples of positive weight of each class.
    warm_start : bool
        Whether a fit to the same examples, labels, weights and kernel starts at the result of the last fit,
        such as for another C or tolerance. Solvers that take no start, or whose
        ``Solution`` has no ``end``, ignore it.
    random_state : int, optional
        Seed of the cross-validation folds for probabilities.
    options : dict, optional
        Further options of the solver, see ``SOLVERS[solver].options``.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of int, shape (n_support,)
        Indices of the support vectors of any pair, ascending; empty if the solver returns weights without
        multipliers (cutting planes, unless ``keep_alpha`` is set).
    support_vectors_ : ndarray or CSR array, shape (n_support, n_features)
        The support vectors.
    dual_coef_ : ndarray, shape (n_pairs, n_support)
        ``y_i alpha_i`` for each pair, 0 at other pairs' support vectors. One row for two classes.
    intercept_ : ndarray, shape (n_pairs,)
        The bias of each pair.
    coef_ : ndarray, shape (n_pairs, n_features)
        Weights, for a linear kernel only. With more than two classes, the signs of ``coef_``,
        ``intercept_`` and ``dual_coef_`` are opposite to those of scikit-learn's SVC: the later class of a
        pair is always the positive one.
    n_iter_ : ndarray of int, shape (n_pairs,)
        Steps taken.
    class_weight_ : ndarray, shape (n_classes,)
        Factor on C.
    kernel_ : Kernel
        The kernel, with gamma as a number.
    solution_ : Solution or tuple of Solution
        The solver's result; with more than two classes, one for each pair, with multipliers for the examples
        of the pair in their order.
    """

    def __init__(
        self,
        solver: str = "smo-newton",
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_mb: float | None = None,
        threads: int | None = None,
        time_limit: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        probability: bool = False,
        warm_start: bool = False,
        random_state: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.solver = solver
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.cache_mb = cache_mb
        self.threads = threads
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.probability = probability
        self.warm_start = warm_start
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVMClassifier:
        """Train.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            Examples.
        y : array_like, shape (n_samples,)
            Labels of any sortable type, with at least two different values.
        sample_weight : array_like, shape (n_samples,), optional
            Factor on C for each example. Those with weight 0 take no part in training, but count for
            ``gamma="scale"`` and, if their class has others, for ``class_weight="balanced"``, as in SVC.

        Returns
        -------
        SVMClassifier
            Itself.

        Raises
        ------
        ValueError
            If the data, a parameter, or the solver's name or options are not valid, or the solver cannot
            take the kernel.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before the tolerance was met.
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:
            self.__dict__ = before  # the last fit still predicts
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> SVMClassifier:
        given = X  # perhaps with names of features
        X, y = self._checked(X, y)
        weights = self._weighed(X, sample_weight)
        self.classes_ = np.unique(y if weights is None else y[weights > 0])
        if self.classes_.size < 2:
            weighed = "" if weights is None else " of positive weight"
            raise ValueError(f"SVMClassifier needs two classes or more; y has 1 class{weighed}")
        labels = np.searchsorted(self.classes_, y)  # of any class where the weight is 0
        # As in SVC, "balanced" also counts the examples whose weight is 0.
        counted = y[np.isin(y, self.classes_)]
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=counted)
        for label, factor in zip(self.classes_, self.class_weight_, strict=True):
            if not 0.0 < factor < np.inf:
                raise ValueError(f"class_weight of {label} must be positive and finite, got {factor:g}")
        self.kernel_ = self._kernel(X)
        check_positive("C", _plain(self.C))
        self._C, self._bias = _plain(self.C), NO_BIAS not in get(self.solver).needs
        essence = self._essence(self._parts(X, labels, weights)) if self.warm_start else None
        last = self._last_ends(essence)
        solutions: list[Solution] = []
        ends, coefficients, sizes = [], [], []
        for place, (members, problem) in enumerate(self._parts(X, labels, weights)):
            start = None
            if last:
                before, end, exponent_error = last[place]
                start = scaled_start(end, before, problem, exponent_error)
            solution = self._solve(problem, start)
            solutions.append(solution)
            ends.append((problem.bounds, solution.end, problem.exponent_error))
            sizes.append(problem.n)
            if solution.alpha is not None:
                taken = np.flatnonzero(solution.alpha)
                coefficients.append((place, members[taken], (problem.y * solution.alpha)[taken]))
        self._ends = (essence, ends) if self.warm_start else None
        # If the promise is a gap, it holds for the weights, which the multipliers may not reproduce.
        of_weights = any(solution.alpha is None or solution.promise != KKT for solution in solutions)
        self._weights = np.array([solution.weights for solution in solutions]) if of_weights else None
        self._sizes = sizes
        supports = [members for _, members, _ in coefficients]
        self.support_ = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *supports]))
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = np.zeros((len(solutions), self.support_.size))
        for place, members, values in coefficients:
            self.dual_coef_[place, np.searchsorted(self.support_, members)] = values
        self.intercept_ = np.array([solution.bias for solution in solutions])
        self.n_iter_ = np.array([solution.iterations for solution in solutions])
        self.solution_ = solutions[0] if len(solutions) == 1 else tuple(solutions)
        self._calibrated = self._calibrate(given, y, weights) if self.probability else None
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the decision values.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_classes)
            With two classes f(x), positive for ``classes_[1]``. With more, a value for each class, see the
            module docstring; the class with the largest value is predicted, as by ``SVC(break_ties=True)``.
        """
        values = self._values(X)
        return values[:, 0] if self.classes_.size == 2 else votes(values, self.classes_.size)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels of ``classes_``.
        """
        found = self.decision_function(X)
        chosen = (found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.

        Raises
        ------
        NotFittedError
            If there was no fit with ``probability=True``.
        """
        check_is_fitted(self)
        if self._calibrated is None:
            raise NotFittedError("probability was switched on after fit; call fit again")
        return np.asarray(self._calibrated.predict_proba(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            Examples.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Natural logarithms, in the order of ``classes_``.
        """
        return np.asarray(np.log(self.predict_proba(X)))

    def certificate(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate | tuple[Certificate, ...]:
        """Judge the fit by recomputing objectives, gap and KKT violations from the training data.

        Parameters
        ----------
        X : array_like or scipy sparse, shape (n_samples, n_features)
            The examples of :meth:`fit`, which the estimator does not store.
        y, sample_weight : array_like, shape (n_samples,)
            The labels and weights of :meth:`fit`.

        Returns
        -------
        Certificate or tuple of Certificate
            One for each of ``solution_``.

        Raises
        ------
        ValueError
            If the labels, or the number of examples per pair, differ from those of the fit.
        """
        check_is_fitted(self)
        X, y = self._checked(X, y, reset=False)
        weights = self._weighed(X, sample_weight)
        if not np.isin(y if weights is None else y[weights > 0], self.classes_).all():
            raise ValueError("y has labels that are not of this fit")
        solutions = self.solution_ if isinstance(self.solution_, tuple) else (self.solution_,)
        parts = self._parts(X, np.searchsorted(self.classes_, y), weights)
        found = []
        for (_, problem), solution, size in zip(parts, solutions, self._sizes, strict=True):
            if problem.n != size:
                raise ValueError("X and y are not of this fit: their numbers of examples differ")
            found.append(certify(problem, solution))
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """Weights of a linear kernel, shape (n_pairs, n_features).

        Raises
        ------
        AttributeError
            If the kernel is not linear.
        """
        check_is_fitted(self)
        if self.kernel_.name != "linear":
            raise AttributeError("coef_ is only there for a linear kernel")
        if self._weights is not None:
            return self._weights
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse examples are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _checked(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, npt.NDArray[Any]]:
        """Return examples and labels as arrays, or raise ValueError."""
        check_classification_targets(y)
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, accept_sparse="csr")
        return _with_rows(X), y

    def _weighed(self, X: Any, sample_weight: Any) -> npt.NDArray[np.float64] | None:
        """Return the weight of each example, or None."""
        if sample_weight is None:
            return None
        weights: npt.NDArray[np.float64] = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError("sample_weight: all examples have weight 0")
        return weights

    def _parts(
        self, X: Any, labels: npt.NDArray[np.intp], weights: npt.NDArray[np.float64] | None
    ) -> Iterator[tuple[Any, Problem]]:
        """Yield the examples and the problem of each pair of classes; all at once could fill the memory."""
        for negative, positive in combinations(range(self.classes_.size), 2):
            taken = (labels == negative) | (labels == positive)
            members = np.flatnonzero(taken if weights is None else taken & (weights > 0))
            part = X if members.size == labels.size else X[members]
            if self.kernel_.name == "precomputed":
                if X.shape[1] != X.shape[0]:
                    raise ValueError(f"a precomputed kernel must have shape (n, n), got {X.shape}")
                part = part[:, members]
            y = np.where(labels[members] == positive, 1.0, -1.0)
            C = self._C
            if weights is not None or (self.class_weight_ != 1.0).any():
                factors = self.class_weight_[labels[members]]
                C = C * (factors if weights is None else factors * weights[members])
                wrong = np.flatnonzero(~(np.isfinite(C) & (C > 0)))
                if wrong.size:
                    raise ValueError(
                        f"C times class_weight and sample_weight must be positive and finite, and is "
                        f"{C[wrong[0]]:g} for example {members[wrong[0]]}"
                    )
            yield members, Problem(part, y, C, self.kernel_, bias=self._bias)

    def _last_ends(self, essence: str | None) -> list[Any]:
        """Return the bounds and the end of each pair in the last fit, if that was to the same data."""
        last = getattr(self, "_ends", None) if self.warm_start else None
        if last is None or not get(self.solver).starts or last[0] != essence:
            return []
        return list(last[1])

    def _essence(self, parts: Iterable[tuple[Any, Problem]]) -> str:
        """Return a hash of the problems, without C and the tolerance."""
        digest = hashlib.sha256(repr((self.solver, self.kernel_)).encode())
        for _, problem in parts:
            X = problem.X
            for array in (X.indptr, X.indices, X.data) if sp.issparse(X) else (X,):
                digest.update(f"{array.shape}{array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).data)
            digest.update(problem.y.data)
            mantissas, exponents = np.frexp(problem.bounds / problem.bounds[0])
            digest.update(np.ldexp(np.round(mantissas, 12), exponents).data)
        return digest.hexdigest()

    def _calibrate(
        self, X: Any, y: npt.NDArray[Any], weights: npt.NDArray[np.float64] | None
    ) -> CalibratedClassifierCV:
        """Return a classifier with probabilities: sigmoids over decision values of held-out examples."""
        _, labels = np.unique(y, return_inverse=True)
        counted = np.arange(y.size) if weights is None else np.flatnonzero(weights)
        if np.bincount(labels[counted], minlength=labels.max() + 1).min() < _FOLDS:
            raise ValueError(
                f"probability=True needs {_FOLDS} examples of positive weight of each class in y"
            )
        fold = np.arange(y.size) % _FOLDS  # kept for examples of weight 0 alone
        cut = StratifiedKFold(_FOLDS, shuffle=True, random_state=self.random_state)
        for number, (_, held_out) in enumerate(cut.split(counted, labels[counted])):
            fold[counted[held_out]] = number
        plain = clone(self).set_params(probability=False, warm_start=False)
        if get_config()["enable_metadata_routing"]:
            plain.set_fit_request(sample_weight=True)
        calibrated = CalibratedClassifierCV(plain, method="sigmoid", cv=PredefinedSplit(fold), ensemble=False)
        return calibrated.fit(X, y, sample_weight=weights)

    def _kernel(self, X: Any) -> Kernel:
        """Return the kernel for the parameters and these examples."""
        family = _FAMILIES.get(self.kernel) if isinstance(self.kernel, str) else None
        if family is None:
            raise ValueError(f"kernel {self.kernel!r} unknown; known: {', '.join(_FAMILIES)}")
        if family in ("linear", "precomputed"):
            return Kernel(family)
        gamma = _gamma(self.gamma, X)
        if family == "gaussian":
            return Kernel(family, gamma=gamma)
        coef0 = _plain(self.coef0)
        for name, value in (("gamma", gamma), ("coef0", coef0)):  # of other names in `Kernel`
            if not is_number(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}")
        return Kernel.polynomial(_plain(self.degree), a=gamma, c=coef0)

    def _solve(self, problem: Problem, start: Any) -> Solution:
        """Solve one pair from a start; warn if the tolerance is not met."""
        if get(self.solver).loss == PAIRS:
            raise ValueError(f"solver {self.solver!r} orders examples, and SVMClassifier needs a bias")
        check_positive("tol", _plain(self.tol))
        if not isinstance(self.options, Mapping | None):
            raise ValueError(f"options must be a dict, got {self.options!r}")
        options = dict(self.options or {})
        for key in options:
            if not isinstance(key, str):
                raise ValueError(f"options: the name of an option must be a string, got {key!r}")
            if key in _NO_OPTIONS:
                raise ValueError(f"options: {key!r} is no option of a solver{_NO_OPTIONS[key]}")
        if self.cache_mb is not None:
            options["cache_mb"] = _plain(self.cache_mb)
        if self.threads is not None:
            options["threads"] = _plain(self.threads)
        solution = solve(
            problem,
            self.solver,
            eps=_plain(self.tol),
            time_limit=_plain(self.time_limit),
            start=start,
            **options,
        )
        if solution.alpha is None and solution.weights is None:
            raise ValueError(f"solver {self.solver!r} returns neither multipliers nor weights")
        if solution.status != OPTIMAL:
            warnings.warn(
                f"solver {self.solver!r} stopped early: {solution.status}", ConvergenceWarning, stacklevel=4
            )
        return solution

    @np.errstate(all="ignore")  # whatever the caller's is
    def _values(self, X: Any) -> npt.NDArray[np.float64]:
        """Return f(x) of every pair, shape (n_samples, n_pairs)."""
        check_is_fitted(self)
        X = _with_rows(validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr"))
        if self._weights is not None:
            return np.asarray(np.asarray(X @ self._weights.T) + self.intercept_)
        # The pairs share support vectors, so that each kernel value is computed once. One pair is a vector,
        # which is summed more accurately.
        signed = self.dual_coef_[0] if len(self.dual_coef_) == 1 else self.dual_coef_.T
        if self.kernel_.name == "precomputed":
            values = X[:, self.support_] @ signed
        else:
            values = kernel_product(self.kernel_, X, self.support_vectors_, signed)
        return np.asarray(values.reshape(X.shape[0], -1) + self.intercept_)


def votes(values: npt.NDArray[np.float64], n_classes: int) -> npt.NDArray[np.float64]:
    """Return a decision value for each class, by the formula in the module docstring.

    ``values`` are f(x) of every pair of classes, shape (n_samples, n_pairs), in the order of
    ``combinations``.
    """
    won, total = np.zeros((2, values.shape[0], n_classes))
    for value, (first, second) in zip(values.T, combinations(range(n_classes), 2), strict=True):
        won[:, first] += value <= 0
        won[:, second] += value > 0
        total[:, first] -= value
        total[:, second] += value
    return np.asarray(won + total / (3 * (np.abs(total) + 1)))


def _gamma(gamma: Any, X: Any) -> float:
    """Return gamma as a number, by scikit-learn's rules for its names."""
    if not isinstance(gamma, str):
        return _plain(gamma)  # type: ignore[no-any-return]
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if gamma != "scale":
        raise ValueError(f"gamma {gamma!r} unknown; it is a number, 'scale' or 'auto'")
    return gamma_of_scale(X)


def _with_rows(X: Any) -> Any:
    """Return sparse examples as an array, because ``*`` and the shapes of products differ for a matrix."""
    return sp.csr_array(X) if sp.issparse(X) else X


def _plain(value: Any) -> Any:
    """Return a NumPy scalar, as a parameter search passes it, as a Python number."""
    return value.item() if isinstance(value, np.generic) else value
