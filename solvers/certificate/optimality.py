r"""How near a solution is to the optimum: objectives, gap and KKT violations recomputed from the data.

Nothing that a solution reports about itself is used. Everything is recomputed from the multipliers (or the
weights) and the examples, with separate arithmetic (:mod:`svmrepro.solvers.reference_kernels`). Notation,
with bounds C_i:

    g_i = sum_j y_j alpha_j k(x_j, x_i),    f_i = g_i + bias,    m_i = 1 - y_i f_i

That module also gives the rounding bound ``|fl(g_i) - g_i| <= E_i``. The certificate promises the following.

*KKT.* Example i violates its condition by ``m_i`` where ``alpha_i < C_i`` and by ``-m_i`` where
``alpha_i > 0``, each with an error of at most E_i. The true violation is at most
``max_violation + rounding``. The rule by which a result passes is ``Certificate.failures``.

*Gap.* For multipliers in the box that satisfy the equality constraint, weak duality (Boser, Guyon and Vapnik
1992) becomes a sum of nonnegative terms,

    primal - dual = sum_i (C_i - alpha_i) max(0, m_i) + alpha_i max(0, -m_i),

so nothing cancels; each term is evaluated with m_i shifted by E_i in the unfavourable direction. Where
``r = sum_i y_i alpha_i`` is not exactly 0, the multipliers of the class with the larger sum s are scaled down
by the share ``r / s``. This gives a feasible point, whose gap is larger by at most

    (r / s) sum alpha_i m_i  +  1/2 (r / s)^2 (sum alpha_i sqrt(k(x_i, x_i)))^2        (sums over that class)

for a positive semidefinite kernel. So ``gap`` is an upper bound on how far the objective of f is above the
optimum. (An indefinite kernel has no such bound; only its KKT conditions are promised.)

*Equality.* ``|r|`` may be at most 1e-9 of the sum of the multipliers, whatever the box is. Millions of steps
round r to 1e-12 of that sum or less.

*Weights.* Weights returned with multipliers must equal ``v = sum_i y_i alpha_i x_i``: at any point no farther
from the origin than the longest example, outputs may differ by at most eps, ``|w - v| max |x_i| <= eps``. To
make this hold whatever the units of a column, each ``w_k - v_k`` may also be at most 1e-6 of
``sum_i |alpha_i x_ik|``. Both hold up to the rounding of v. (For the squared hinge, w and alpha are two
separate answers: outputs at the examples may differ by at most eps, and the component orthogonal to all
examples must obey the first rule.)

*Weights alone* are judged by ``primal(w) - dual(alpha)`` at a dual point constructed here, see
:mod:`svmrepro.solvers.certificate._lower_bounds`. The primal objective is computed with each margin worse by
E_i, and the rounding of the dual one is subtracted. The difference bounds the distance of w's objective from
the optimum.

*Samples.* With 800,000 examples and 200,000 support vectors, all kernel values would take an hour. Beyond
5e10 kernel values, or on request, the conditions are checked at s examples, each against all support
vectors; they are drawn once the solution is there, so that no solver can know them. If none of them violates
by more than v, then with confidence 1 - 1e-6 at most a share ``ln(1e6) / s`` of all examples does
(``unseen``). ``max_violation`` and ``pair_gap`` then refer to the sample, ``primal`` and ``dual`` are
estimates, and ``gap`` is the estimate plus the empirical Bernstein bound on its error, at the same confidence
(Maurer and Pontil 2009, theorem 4).

Papers cited:

B. E. Boser, I. M. Guyon, V. N. Vapnik, A training algorithm for optimal margin classifiers, COLT 1992.
A. Maurer, M. Pontil, Empirical Bernstein bounds and sample-variance penalization, COLT 2009.
"""

from __future__ import annotations

import math
import numbers
import secrets
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.certificate import _lower_bounds as lower_bounds
from svmrepro.solvers.certificate._pairs import pair_loss, pair_plane
from svmrepro.solvers.certificate.acceptance import Certificate
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.reference_kernels import (
    TINY,
    UNIT,
    GaussianMatrix,
    Sum,
    column_sizes,
    diagonal,
    exact_sum,
    kernel_matrix,
    kernel_sums,
    matrix_sums,
    outputs,
    squared_norms,
    terms_a_value,
    weights_and_outputs,
)
from svmrepro.solvers.registry import GAP, HINGE, KKT, PAIRS, RELATIVE_GAP, SQUARED_HINGE
from svmrepro.solvers.solution import Solution, own_copy

Vector = npt.NDArray[np.float64]

_MOST_VALUES = 5e10  # beyond this many kernel values only a sample is judged
_SAMPLE = 20_000
_DOUBT = 1e-6  # 1 - the confidence of statements about a sample
_FEWEST = 20  # examples of a quick sample
_QUICK = 4e6  # kernel values or stored entries that take a few hundredths of a second to judge
_EXACT = 2**24  # kernel values whose rounding errors can be kept in about a second
_NEGLIGIBLE = 1e-10  # error of an output for which they never are
_QUICK_TERMS = 1e9  # likewise, products of entries


@np.errstate(all="ignore")  # whatever the caller's is: what is not finite is tested for
def certify(
    problem: Problem,
    solution: Solution,
    gram: npt.NDArray[np.float64] | GaussianMatrix | None = None,
    *,
    sample: int | None = None,
    seed: int | None = None,
) -> Certificate:
    """Judge a solution.

    Parameters
    ----------
    problem : Problem
        The problem, with n examples.
    solution : Solution
        With multipliers ``alpha``, shape (n,); or, if its promise is a gap, with ``weights``. In that case
        the lower bound comes from its multipliers or ``witness`` if it has them, else from a search.
    gram : ndarray of float64, shape (n, n), or GaussianMatrix, optional
        The problem's :func:`gram_matrix`, computed once to judge several solutions on the same examples. It
        saves time for a Gaussian kernel, if all examples are judged; other certificates do not use it.
    sample : int, optional
        Check the KKT conditions at this many examples. By default all are checked; above 5e10 kernel values,
        20,000. A linear kernel is quick to check, so all examples always are.
    seed : int, optional
        Seed of the sample. By default it is drawn now, so that no solver can know it.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the solution lacks what its promise needs, or has a number that is not finite or a multiplier
        outside its box; if ``sample`` is below 2; if it has weights but the kernel is not linear, or a bias
        but the problem has none; or if the labels are ranks and its loss is not ``pairs``.
    """
    if sample is not None and not (isinstance(sample, numbers.Integral) and sample >= 2):
        raise ValueError(f"sample must be an integer of at least 2, got {sample!r}")
    solution = _plain(solution)
    _check(problem, solution)
    w = solution.weights
    if w is None and (solution.promise != KKT or solution.loss == SQUARED_HINGE):
        raise ValueError("certify needs weights; this solution has none")
    if w is not None and solution.alpha is None and solution.loss == SQUARED_HINGE:
        slack = np.maximum(0.0, 1.0 - problem.y * np.asarray(problem.X @ w).ravel())
        solution = replace(solution, alpha=problem.bounds * slack)
    if solution.promise != KKT:
        return _certify_gap(problem, solution)
    if solution.loss == SQUARED_HINGE:
        return _certify_squared(problem, solution)
    if solution.alpha is None:
        raise ValueError("certify needs alpha; this solution has none")
    if solution.loss != HINGE:
        raise ValueError(f"certify: the loss {solution.loss!r} is judged by a gap only")
    values = problem.n * float(np.count_nonzero(solution.alpha))
    if sample is None and values > _MOST_VALUES:
        sample = _SAMPLE
    if sample is not None and sample < problem.n and problem.kernel.name != "linear":
        return _certify_sample(problem, solution, sample, secrets.randbits(63) if seed is None else seed)
    return _certify_kkt(problem, solution, gram)


def worth_verifying(problem: Problem, solution: Solution, eps: float, peer: bool = False) -> bool:
    """Tell whether a solution should be verified: the check is quick, or rounding could affect the result.

    A ``peer`` rounds more than our solvers.
    """
    if getattr(problem.X, "elsewhere", False):
        return False
    if problem.kernel.name == "linear" and (peer or solution.promise == KKT):
        return True  # it takes a few passes over the data
    entries = problem.X.nnz if hasattr(problem.X, "nnz") else problem.n * problem.d
    alpha = solution.alpha
    if problem.kernel.name == "linear" or alpha is None:
        planes = 1 if solution.witness is None else len(solution.witness[0])
        if entries * planes <= _QUICK:
            return True
    else:
        values = problem.n * np.count_nonzero(alpha)
        precomputed = problem.kernel.name == "precomputed"
        if values <= _QUICK and (precomputed or values * terms_a_value(problem.X) <= _QUICK_TERMS):
            return True
    largest = _largest_value(problem)
    size = float(np.abs(alpha).sum()) if alpha is not None else problem.total
    if solution.promise != KKT:
        w = np.zeros(1) if solution.weights is None else solution.weights
        largest, size = 1.0, problem.total / max(0.5 * float(w @ w), 1e-300)
    error = 1e3 * UNIT
    if problem.kernel.name == "gaussian":
        # The solvers compute distances from these norms, whose rounding adds to the exponent.
        norms = float(problem.prepare().norms.max(initial=0.0))
        error = max(error, 2.0 * (problem.d + 24) * UNIT * problem.kernel.gamma * norms)
    elif problem.kernel.name == "polynomial":
        error *= max(1.0, problem.kernel.degree / 100.0)
    if peer:
        error = max(error, peer_rounding(problem))
    return not error * largest * size <= eps


def peer_rounding(problem: Problem) -> float:
    """Return the error of a peer's kernel values, relative to their size: they are kept in single precision.

    Those of a Gaussian come from the squared norms of the examples as they are given.
    """
    error = 0.5 * float(np.finfo(np.float32).eps)
    if problem.kernel.name == "gaussian":
        norms = float(squared_norms(problem.X).max(initial=0.0))
        error += 2.0 * (problem.d + 24) * UNIT * problem.kernel.gamma * norms
    return error


def quick_sample(problem: Problem, solution: Solution) -> int | None:
    """Return at how many examples the KKT conditions can be checked quickly; None if sampling is no help."""
    if solution.alpha is None or solution.promise != KKT or problem.kernel.name == "linear":
        return None
    if getattr(problem.X, "elsewhere", False):
        return None
    support = int(np.count_nonzero(solution.alpha))
    return min(problem.n, max(_FEWEST, int(_QUICK / max(support, 1))))


def _largest_value(problem: Problem) -> float:
    """Return a bound on all absolute kernel values."""
    kernel = problem.kernel
    if kernel.name == "precomputed":
        return float(max(problem.X.max(), -problem.X.min()))
    if kernel.name == "polynomial":
        kernel = replace(kernel, a=abs(kernel.a), c=abs(kernel.c))
    return float(np.abs(diagonal(kernel, problem.X)).max())


def _plain(solution: Solution) -> Solution:
    """Return a solution with copies of its arrays, of numpy's own type.

    An array of a subclass could compare as it likes, and one that others write to could change meanwhile.
    """
    alpha, weights, witness = solution.alpha, solution.weights, solution.witness
    return Solution(
        None if alpha is None else own_copy("alpha", alpha),
        None if weights is None else own_copy("weights", weights),
        float(solution.bias),
        solution.status,
        solution.iterations,
        solution.kernel_evaluations,
        relaxed=solution.relaxed,
        witness=None
        if witness is None
        else (own_copy("witness", witness[0]), own_copy("witness", witness[1])),
        loss=solution.loss,
        promise=solution.promise,
    )


def _check(problem: Problem, solution: Solution) -> None:
    """Raise ValueError if a solution is not finite or does not match its problem."""
    w, alpha, loss = solution.weights, solution.alpha, solution.loss
    if loss not in (HINGE, SQUARED_HINGE, PAIRS):
        raise ValueError(f"certify: loss {loss!r} unknown")
    if solution.promise not in (KKT, GAP, RELATIVE_GAP):
        raise ValueError(f"certify: promise {solution.promise!r} unknown")
    if loss != PAIRS and not problem.binary:
        raise ValueError(f"certify: the loss {loss!r} needs labels -1 and +1 only")
    if not math.isfinite(solution.bias):
        raise ValueError(f"bias must be a finite number, got {solution.bias!r}")
    if solution.bias != 0.0 and not problem.bias:
        raise ValueError(f"bias must be 0 for a problem without bias, got {solution.bias:g}")
    if problem.bias and solution.promise != KKT:
        raise ValueError(f"certify: the promise {solution.promise!r} needs a problem without bias")
    linear = problem.kernel.name == "linear"
    if w is not None:
        if not linear:
            raise ValueError(f"weights belong to a linear kernel, not to a {problem.kernel.name} one")
        if w.shape != (problem.d,) or not np.isfinite(w).all():
            raise ValueError(f"weights must be {problem.d} finite numbers")
    if not linear and (loss != HINGE or solution.promise != KKT):
        raise ValueError(f"certify: {loss}, {solution.promise} needs a linear kernel")
    if problem.bias and loss != HINGE:
        raise ValueError(f"certify: the loss {loss!r} needs a problem without bias")
    if alpha is None:
        return
    if loss == PAIRS:
        m = pair_plane(problem.y, np.zeros(problem.n)).pairs
        top = np.full(m, problem.total / m)
    else:
        top = problem.bounds if loss == HINGE else np.full(problem.n, np.inf)
    if alpha.shape != top.shape:
        raise ValueError(f"alpha must have shape {top.shape}, got {alpha.shape}")
    wrong = np.flatnonzero(~((alpha >= 0) & (alpha <= top) & np.isfinite(alpha)))
    if wrong.size:
        i = wrong[0]
        raise ValueError(f"alpha[{i}] = {float(alpha[i])!r} is not in [0, {top[i]:g}]")


class _Margins:
    """Multipliers, outputs and margins at some examples, with bounds on their rounding."""

    def __init__(self, problem: Problem, solution: Solution, at: Any, g: Sum) -> None:
        assert solution.alpha is not None
        self.alpha, self.C, self.y = solution.alpha[at], problem.bounds[at], problem.y[at]
        self.g, f = g.value, g.value + solution.bias
        self.m = 1.0 - self.y * f
        self.error = g.error + 4.0 * UNIT * (np.abs(f) + 1.0)

    def violation(self, m: Vector) -> float:
        """Return the largest KKT violation at given margins."""
        below, above = np.where(self.alpha < self.C, m, 0.0), np.where(self.alpha > 0, -m, 0.0)
        return float(max(below.max(), above.max(), 0.0))

    def pair_gap(self) -> float:
        """Return max over I_up less min over I_down of ``y - g``."""
        G, rises, falls = self.y - self.g, self.alpha < self.C, self.alpha > 0
        up, down = np.where(self.y > 0, rises, falls), np.where(self.y > 0, falls, rises)
        return float(max(G[up].max() - G[down].min(), 0.0)) if up.any() and down.any() else 0.0

    def gaps(self) -> Vector:
        """Return each example's contribution to the gap, rounding included."""
        below = (self.C - self.alpha) * np.maximum(self.m + self.error, 0.0)
        return np.asarray(below + self.alpha * np.maximum(self.error - self.m, 0.0))


def _certify_kkt(
    problem: Problem, solution: Solution, gram: npt.NDArray[np.float64] | GaussianMatrix | None
) -> Certificate:
    """Judge multipliers by the Karush-Kuhn-Tucker conditions."""
    alpha, y, kernel, w = solution.alpha, problem.y, problem.kernel, solution.weights
    assert alpha is not None
    signed = y * alpha
    v, X = None, problem.X
    sums = partial(kernel_sums, kernel, X, X) if gram is None else partial(matrix_sums, kernel, X, gram)
    if kernel.name == "linear":
        v, g = weights_and_outputs(X, signed)
    else:
        g = sums(signed)
    seen = _Margins(problem, solution, slice(None), g)
    uncertain = seen.error.max() > max(0.5 * seen.violation(seen.m), _NEGLIGIBLE)
    if v is None and uncertain and problem.n * np.count_nonzero(signed) <= _EXACT:
        g = sums(signed, exact=True)
        if np.isfinite(g.value).all() and np.isfinite(g.error).all():  # else halving has overflowed
            seen = _Margins(problem, solution, slice(None), g)
    r = exact_sum(signed) if problem.bias else 0.0
    gap = float(seen.gaps().sum()) + (_repair(problem, alpha, seen, r) if r else 0.0)
    found = _by_margins(problem, solution, seen, r, gap * (1.0 + 1e-12))
    if v is None or w is None:
        return found
    f = outputs(problem.X, Sum(w, np.zeros(problem.d))).value + solution.bias
    violation = max(found.max_violation, seen.violation(1.0 - y * f))
    residual, rounding = _residual(problem, w, v)
    return replace(
        found,
        max_violation=violation,
        pair_gap=found.pair_gap if problem.bias else 2.0 * violation,
        weights_residual=residual,
        weights_rounding=rounding,
        weights_share=_share(problem, w, v, signed),
    )


def _by_margins(
    problem: Problem, solution: Solution, seen: _Margins, r: float, gap: float, scale: float = 1.0
) -> Certificate:
    """Return the certificate of multipliers from the margins of all examples, or of one in ``scale``."""
    alpha, violation = solution.alpha, seen.violation(seen.m)
    assert alpha is not None
    quadratic, alpha_sum = scale * exact_sum(seen.y * seen.alpha * seen.g), exact_sum(alpha)
    return Certificate(
        dual=alpha_sum - 0.5 * quadratic,
        primal=0.5 * quadratic + scale * float((seen.C * np.maximum(0.0, seen.m)).sum()),
        gap=gap,
        max_violation=violation,
        pair_gap=seen.pair_gap() if problem.bias else 2.0 * violation,
        equality_residual=abs(r),
        n_bound=int(np.count_nonzero(alpha == problem.bounds)),
        n_nonbound=int(np.count_nonzero((alpha > 0) & (alpha < problem.bounds))),
        rounding=float(seen.error.max()),
        total=problem.total,
        alpha_sum=alpha_sum,
    )


def _repair(problem: Problem, alpha: Vector, seen: _Margins, r: float) -> float:
    """Return the increase of the gap at nearby multipliers that satisfy the equality constraint."""
    side = problem.y * r > 0
    share = abs(r) / exact_sum(alpha[side])
    moved = share * alpha[side]
    if problem.kernel.may_be_indefinite:
        root = np.full(np.count_nonzero(side), math.sqrt(_largest_value(problem)))
    else:  # by Cauchy and Schwarz
        root = np.sqrt(np.abs(diagonal(problem.kernel, problem.X))[side])
    slope = float((moved * (seen.m[side] + seen.error[side])).sum())
    length = float((moved * root).sum())
    return max(slope, 0.0) + 0.5 * length * length  # a power would raise OverflowError


def _residual(problem: Problem, w: Vector, v: Sum) -> tuple[float, float]:
    """Return ``|w - v| max |x_i|``, and how much of it the rounding of v can cause."""
    # The squares of tiny examples are 0; of examples that are 0, `_share` finds weights that are not.
    radius = math.sqrt(max(float(squared_norms(problem.X).max(initial=0.0)), problem.d * TINY))
    sizes = v.error + 4.0 * UNIT * np.abs(v.value)
    return float(np.linalg.norm(w - v.value)) * radius, float(np.linalg.norm(sizes)) * radius


def _seen(problem: Problem, off: Vector) -> float:
    """Return the largest change of an output caused by an error ``off`` of the weights.

    This is the larger of the largest change at an example and the norm of the part of ``off`` orthogonal to
    all examples times the norm of the longest example.
    """
    if getattr(problem.X, "elsewhere", False) or hasattr(problem.X, "parts"):
        return math.inf
    change = np.asarray(problem.X @ off).ravel()
    from scipy.sparse.linalg import lsqr  # imported here to keep `import svmrepro.solvers` light

    along = lsqr(problem.X, change, atol=1e-12, btol=1e-12, iter_lim=10 * problem.d + 100)[0]
    radius = math.sqrt(float(squared_norms(problem.X).max(initial=0.0)))
    return max(float(np.abs(change).max()), float(np.linalg.norm(off - along)) * radius)


def _share(problem: Problem, w: Vector, v: Sum, signed: Vector) -> float:
    """Return the largest error of a weight, beyond rounding, relative to the sum of its absolute terms."""
    off = np.maximum(np.abs(w - v.value) - v.error - 4.0 * UNIT * np.abs(v.value), 0.0)
    if not off.any():
        return 0.0
    sizes = column_sizes(problem.X, signed)
    return float(np.where(off > 0.0, off / sizes, 0.0).max())


def _certify_sample(problem: Problem, solution: Solution, sample: int, seed: int) -> Certificate:
    """Judge the KKT conditions at a random sample of examples, each against all support vectors."""
    alpha, n = solution.alpha, problem.n
    assert alpha is not None
    signed = problem.y * alpha
    drawn = np.sort(np.random.default_rng(seed).choice(n, size=sample, replace=False))
    g = kernel_sums(problem.kernel, problem.X[drawn], problem.X, signed)
    seen = _Margins(problem, solution, drawn, g)
    scale, parts, doubt = n / sample, seen.gaps(), math.log(4.0 / _DOUBT)  # two statements, of two sides

    def above(values: Vector) -> float:
        """Return the bound on the mean of all values, but for the part that grows with their range."""
        return float(values.mean()) + math.sqrt(2.0 * float(values.var(ddof=1)) * doubt / sample)

    rest, largest = 7.0 * doubt / (3 * (sample - 1)), _largest_value(problem)
    bound, output = float(problem.bounds.max()), exact_sum(alpha) * largest
    if not problem.kernel.may_be_indefinite:
        # By Cauchy and Schwarz with |w|^2, of which the sample has an estimate. Each of its terms is at most
        # C |w| sqrt(K) in absolute value, so that |w| is at most the root of a quadratic equation.
        linear = n * rest * 2.0 * bound * math.sqrt(largest)
        square = n * max(above(signed[drawn] * g.value), 0.0)
        norm = 0.5 * (linear + math.sqrt(linear**2 + 4.0 * square))
        output = min(output, norm * math.sqrt(largest))
    most = 1.0 + abs(solution.bias) + output
    r = exact_sum(signed) if problem.bias else 0.0
    repair = abs(r) * most + 0.5 * r * r * largest
    found = _by_margins(problem, solution, seen, r, n * (above(parts) + rest * bound * most) + repair, scale)
    return replace(found, sampled=sample, sample_seed=seed, unseen=math.log(1.0 / _DOUBT) / sample)


def _certify_gap(problem: Problem, solution: Solution) -> Certificate:
    """Judge weights by the gap between the primal objective and a lower bound."""
    w, alpha, loss = solution.weights, solution.alpha, solution.loss
    assert w is not None
    primal, above = _primal(problem, w, loss)
    if alpha is not None and loss == PAIRS:
        bound = lower_bounds.of_pairs(problem, alpha)
    elif alpha is not None:
        bound = lower_bounds.of_multipliers(problem, alpha, loss)
    elif solution.witness is not None:
        bound = lower_bounds.of_witness(problem, solution.witness, loss)
    else:
        bound = lower_bounds.of_search(problem, w, loss)
    # The dual objective is 0 at alpha = 0, so 0 is always a lower bound.
    lower = max(bound.value - bound.error, 0.0)
    return Certificate(
        dual=bound.value,
        primal=primal,
        gap=primal + above - lower,
        max_violation=math.nan,
        pair_gap=math.nan,
        equality_residual=0.0,
        n_bound=bound.n_bound,
        n_nonbound=bound.n_nonbound,
        relaxed=math.nan if solution.relaxed is None else solution.relaxed,
        promise=solution.promise,
        rounding=above + bound.error,
        total=problem.total,
    )


def _primal(problem: Problem, w: Vector, loss: str) -> tuple[float, float]:
    """Return the primal objective at given weights, and a bound on how much rounding has lowered it."""
    found = outputs(problem.X, Sum(w, np.zeros(problem.d)))
    f, y, C = found.value, problem.y, problem.bounds
    error = found.error + 4.0 * UNIT * (np.abs(f) + 1.0)
    if loss == PAIRS:
        total, m, off = pair_loss(y, f)
        risk = problem.total * (total / m)
        wrong = problem.total * (2.0 * float(error.max()) + off / m)
    else:
        slack, worse = np.maximum(0.0, 1.0 - y * f), np.maximum(0.0, 1.0 - y * f + error)
        if loss == HINGE:
            risk = exact_sum(C * slack)
            wrong = float((C * (worse - slack)).sum())
        else:
            risk = 0.5 * exact_sum(C * slack * slack)
            wrong = 0.5 * float((C * (worse - slack)) @ (worse + slack))
    square = exact_sum(w * w)
    return 0.5 * square + risk, wrong + 8.0 * UNIT * (square + risk)


def _certify_squared(problem: Problem, solution: Solution) -> Certificate:
    """Judge squared-hinge weights by the gap, and their multipliers by the optimality conditions.

    With ``v = sum_i y_i alpha_i x_i``, these are ``y_i v.x_i = 1 - alpha_i / C_i`` where alpha_i > 0, else
    ``y_i v.x_i >= 1``.
    """
    w, alpha, y, C = solution.weights, solution.alpha, problem.y, problem.bounds
    assert w is not None and alpha is not None
    found = _certify_gap(problem, solution)
    v, g = weights_and_outputs(problem.X, y * alpha)
    wrong = 1.0 - alpha / C - y * g.value
    worst = float(np.where(alpha > 0, np.abs(wrong), np.maximum(wrong, 0.0)).max())
    residual, rounding = _residual(problem, w, v)
    if residual > rounding:
        residual = min(residual, _seen(problem, w - v.value))
    return replace(
        found,
        max_violation=worst,
        pair_gap=2.0 * worst,
        rounding=float((g.error + 4.0 * UNIT * (alpha / C + 1.0)).max()),
        weights_residual=residual,
        weights_rounding=rounding,
        alpha_sum=exact_sum(alpha),
    )


def gram_matrix(problem: Problem) -> npt.NDArray[np.float64]:
    """Return the kernel values of all pairs of examples, as the certificate computes them.

    Parameters
    ----------
    problem : Problem
        A problem with n examples.

    Returns
    -------
    ndarray of float64, shape (n, n)
        ``k(x_i, x_j)``, in 8 n^2 bytes.
    """
    return kernel_matrix(problem.kernel, problem.X)
