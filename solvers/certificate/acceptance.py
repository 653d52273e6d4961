"""The certificate of a solution: what was found, and when it passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from svmrepro.solvers.registry import GAP, KKT

_SLACK = 0.01  # tolerated excess, as a share of what is allowed
_INFEASIBLE = 1e-9  # largest violation of the equality constraint, as a share of the multipliers' sum
_DRIFT = 1e-6  # largest error of a weight, as a share of the sum of its absolute terms


@dataclass(frozen=True)
class Certificate:
    """Result of an independent check; :mod:`svmrepro.solvers.certificate.optimality` says what it promises.

    Attributes
    ----------
    dual : float
        ``sum_i alpha_i - 1/2 sum_i y_i alpha_i g_i``, to be maximised; for squared hinges
        ``- 1/2 sum_i alpha_i^2 / C_i`` is added. For weights alone, the lower bound that was found.
    primal : float
        ``1/2 sum_i y_i alpha_i g_i + sum_i C_i max(0, m_i)``. With weights, and a gap as
        the promise, ``1/2 w.w`` replaces the first term. With squared hinges, the second sums ``C_i / 2
        max(0, m_i)^2``; with pairs, it is the sum of the C_i times the mean of ``max(0, 1 - f_i + f_j)`` over
        the pairs with y_i > y_j.
    gap : float
        Upper bound on ``primal - optimum``, rounding included.
    max_violation : float
        Largest KKT violation at ``bias``; nan unless the promise is ``kkt``.
    pair_gap : float
        ``max over I_up - min over I_down`` of ``G = y - g``, at least 0, with I_up = {y_i alpha_i may grow},
        I_down = {it may fall}. Twice ``max_violation`` for a problem without bias; nan unless the promise is
        ``kkt``.
    equality_residual : float
        ``|sum_i y_i alpha_i|``, 0 for a problem without bias.
    n_bound, n_nonbound : int or None
        Number of multipliers at their upper bound, and between 0 and it; None without multipliers.
        Multipliers computed from planes count as at the bound if they reach it up to rounding.
    relaxed : float
        The lower bound that a cutting-plane solver reports, else nan. It is not used.
    promise : {"kkt", "gap", "relative gap"}
        The quantity that ``eps`` bounds.
    rounding : float
        Bound on the error of ``max_violation``; the error of ``pair_gap`` is at most twice that.
    weights_residual, weights_rounding : float
        ``|w - v| max |x_i|`` where a solution has both weights and multipliers, and the part that rounding of
        v may contribute; else 0.
    weights_share : float
        Largest ``|w_k - v_k|``, less the rounding, over ``sum_i |alpha_i x_ik|``; 0 without weights.
    total, alpha_sum : float
        Sum of the bounds C_i, and of the multipliers.
    sampled, sample_seed : int
        Number of examples checked, 0 for all, and the seed by which they were drawn.
    unseen : float
        For a sample, the share of all examples about which nothing is known.
    """

    dual: float
    primal: float
    gap: float
    max_violation: float
    pair_gap: float
    equality_residual: float
    n_bound: int | None
    n_nonbound: int | None
    relaxed: float = math.nan
    promise: str = KKT
    rounding: float = 0.0
    weights_residual: float = 0.0
    weights_rounding: float = 0.0
    weights_share: float = 0.0
    total: float = math.nan
    alpha_sum: float = math.nan
    sampled: int = 0
    sample_seed: int = 0
    unseen: float = 0.0

    @property
    def relative_gap(self) -> float:
        """The gap over the primal objective; infinite where only the objective is 0."""
        if self.gap == 0.0:
            return 0.0
        return self.gap / abs(self.primal) if self.primal else math.inf

    def passes(self, eps: float, factor: float) -> bool:
        """Tell whether :meth:`failures` finds nothing for ``eps`` and ``factor``."""
        return not self.failures(eps, factor)

    def failures(self, eps: float, factor: float) -> list[str]:
        """List the conditions that are not met.

        ``kkt``: the pair gap is at most ``factor eps``; the violation at the solution's own bias is at most
        ``eps`` (a threshold at the midpoint has half the pair gap); weights agree with multipliers to eps;
        and the equality constraint holds to 1e-9 of the multipliers' sum. ``gap``: the gap is at most eps
        times the sum of the C_i. ``relative gap``: it is at most eps times the primal objective. An excess of
        a hundredth of what is allowed, plus the rounding of the check itself, is tolerated. A value above
        twice what is allowed never passes.

        Parameters
        ----------
        eps : float
            The stopping tolerance.
        factor : float
            ``tolerance_factor`` of the solver's entry in the registry.

        Returns
        -------
        list of str
            A line for each condition: its value, and what is allowed.
        """
        found: list[str] = []
        if self.promise != KKT:
            allowed = eps * (self.total if self.promise == GAP else self.primal)
            _require(found, "gap", abs(self.gap), 0.0, allowed)  # below 0: no lower bound
            return found
        _require(found, "violation", self.max_violation, self.rounding, max(1.0, factor / 2.0) * eps)
        _require(found, "pair gap", self.pair_gap, 2.0 * self.rounding, factor * eps)
        _require(found, "weights beside multipliers", self.weights_residual, self.weights_rounding, eps)
        if not self.weights_share <= _DRIFT:
            found.append(f"weights off by {self.weights_share:.3g} of what is summed, allowed {_DRIFT:g}")
        allowed = _INFEASIBLE * self.alpha_sum
        if not self.equality_residual <= allowed < math.inf:
            found.append(f"equality constraint broken by {self.equality_residual:.3g}, allowed {allowed:.3g}")
        return found

    def summary(self, eps: float | None = None, factor: float = 2.0) -> str:
        """Say in one line what fails, or what accuracy was achieved.

        Parameters
        ----------
        eps, factor : float
            The arguments of :meth:`failures`. Without ``eps`` nothing fails.

        Returns
        -------
        str
            The conditions that fail; if none does, the achieved accuracy.
        """
        found = self.failures(eps, factor) if eps is not None else []
        if found:
            return "; ".join(found)
        if self.promise == KKT:
            return f"pair gap {self.pair_gap:.3g}, violation {self.max_violation:.3g}"
        return f"gap {self.gap:.3g}, primal objective {self.primal:.6g}"


def _require(found: list[str], what: str, value: float, rounding: float, allowed: float) -> None:
    """Append a line unless the value is within the tolerance and, rounding included, below twice that."""
    if not math.isfinite(value + rounding + allowed) or not (
        value <= (1.0 + _SLACK) * allowed + rounding and value + rounding <= 2.0 * allowed
    ):
        known = f" (known to {rounding:.3g})" if rounding > _SLACK * allowed else ""
        found.append(f"{what} {value:.3g}{known}, allowed {allowed:.3g}")
