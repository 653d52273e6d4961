"""Deliberate faults in the solvers, one line each, with the check or test that must notice them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A deliberate fault in a module of ``solvers``.

    Attributes
    ----------
    name : str
        Description of the fault.
    module : str
        The changed module.
    changes : mapping of str to str
        Text that occurs once in the module -> its replacement.
    contender : str
        The contender in whose runs of the toy problems the check must notice the fault, by its rules for
        another machine: a failed certificate, a limit reached, a result more than 2 % off, or steps or work
        more than 2 % off over all problems.
    suite : str
        The tests that must fail, as arguments of pytest, for a fault that no run shows.
    experiment : str
        ``<paper>/<experiment>`` of the smoke scale, on generated data, in which the complete check with
        compiled code must notice the fault, too; empty if no experiment on generated data runs the line.
    """

    name: str
    module: str
    changes: Mapping[str, str]
    contender: str = ""
    suite: str = ""
    experiment: str = ""


FAULTS = (
    Fault(
        "wrong sign in the planning step",
        "decomposition/second_order_iteration.py",
        {"ahead = (Q2 * slope - cross * slope2)": "ahead = (Q2 * slope + cross * slope2)"},
        contender="pasmo-10",
        experiment="glasmachers2008/chess-board-1000",
    ),
    Fault(
        "shrinking that never comes back",
        "decomposition/second_order.py",
        {
            "_active < n:\n            run.restoring": "_active < 0:\n            run.restoring",
            "        run.restoring = PairRestoring(run, int(scalars.n_active), NEARLY)\n": "",
        },
        contender="smo2",
        experiment="glasmachers2008/chess-board-1000",
    ),
    Fault(
        "shrinking of SMO that never comes back",
        "platt/smo.py",
        {"    if scalars.n_active < state.y.size:\n": "    if scalars.n_active < 0:\n"},
        contender="smo-kept",
    ),
    Fault(
        "a cache row off by one",
        "caches/active_set_rows.py",
        {"cache.rows[slot])\n        return slot": "cache.rows[slot])\n        return max(slot - 1, 0)"},
        contender="smo2",
        experiment="glasmachers2008/chess-board-1000",
    ),
    Fault(
        "a cached row used beyond its end",
        "caches/active_set_rows.py",
        {"if slot < 0 or cache.have[slot] < m or ": "if slot < 0 or "},
        contender="smo2",
        experiment="glasmachers2008/chess-board-10000",
    ),
    Fault(
        "a kept row read one column off",
        "caches/smo_rows.py",
        {"        value = row[column[members[k]]]\n": "        value = row[column[members[k]] - 1]\n"},
        contender="smo-kept",
    ),
    Fault(
        "wrong clip bound of a pair",
        "platt/smo.py",
        {"max(0.0, a2 - a1), min(C2, C1 + a2 - a1)": "max(0.0, a2 - a1), min(C2, C1 + a1 - a2)"},
        contender="smo",
        experiment="platt1998/noise-linear",
    ),
    Fault(
        "a step that heeds one box of two",
        "decomposition/pair_state.py",
        {"min(high_i - beta[i], beta[j] - low_j)": "high_i - beta[i]"},
        contender="smo2",
        experiment="glasmachers2008/chess-board-1000",
    ),
    Fault(
        "wrong threshold update",
        "platt/smo.py",
        {"b2 = E2 + d1 * k12 + d2 * k22 + b": "b2 = E2 + d1 * k12 - d2 * k22 + b"},
        contender="smo",
        experiment="platt1998/noise-linear",
    ),
    Fault(
        "wrong sign in the second-order curvature",
        "decomposition/pair_selection.py",
        {"slope / larger(own + d - 2.0 * r, tiny)": "slope / larger(own + d + 2.0 * r, tiny)"},
        contender="smo2",
        experiment="glasmachers2008/chess-board-1000",
    ),
    Fault(
        "chunking that drops a support vector",
        "platt/chunking.py",
        {"occupied[qp.a[occupied] == 0.0]": "occupied[np.isin(qp.a[occupied], (0.0, qp.a[occupied].max()))]"},
        contender="chunking",
        experiment="platt1998/separable-linear",
    ),
    Fault(
        "a gradient update that skips a row",
        "decomposition/svmlight_iteration.py",
        {"moved, steps, count, state.status, work": "moved, steps, count - 1, state.status, work"},
        contender="svmlight",
    ),
    Fault(
        "a folded gradient one place off",
        "decomposition/shrinking.py",
        {"G[k] = state.G_then[k] - row[k - begin]": "G[k] = state.G_then[k] - row[k - begin - 1]"},
        contender="smo2",
    ),
    Fault(
        "a gradient restored from the active set alone",
        "decomposition/shrinking.py",
        {"j += 1\n        if change == 0.0:": "j += 1\n        if change == 0.0 or j > begin:"},
        contender="svmlight",
    ),
    Fault(
        "a fixed threshold that is clipped at the wrong end",
        "platt/fixed_threshold.py",
        {"new = min(max(a - slope / curvature, 0.0), C)": "new = max(a - slope / curvature, 0.0)"},
        contender="smo-fixed-threshold",
        experiment="platt1998/noise-linear",
    ),
    Fault(
        "a dense Gaussian whose distance forgets half of the product",
        "storage/kernel_transforms.py",
        {"out[k] = own + norms[members[k]] - 2.0 * out[k]\n": "out[k] = own + norms[members[k]] - out[k]\n"},
        contender="chunking",
    ),
    Fault(
        "sparse rows that lose what does not fill a group of four",
        "storage/row_sums.py",
        {"s0 += np.float64(values[p]) * w[indices[p]]\n        p +=": "p +="},
        contender="smo-kept",
        experiment="joachims2006/rcv1-like",
    ),
    Fault(
        "a certificate that forgets C in the conditions",
        "certificate/judge.py",
        {"self.alpha < self.C, self.alpha > 0": "self.alpha < np.inf, self.alpha > 0"},
        contender="chunking-plain",
        experiment="platt1998/noise-linear",
    ),
    Fault(
        "a certificate that forgets C in the primal objective",
        "certificate/judge.py",
        {"float((seen.C * np.maximum(0.0, seen.m)).sum())": "float(np.maximum(0.0, seen.m).sum())"},
        suite="tests/solvers/test_solvers_certificate.py::test_against_loops",
    ),
    Fault(
        "a certificate that lets multipliers above C pass",
        "certificate/judge.py",
        {"~((alpha >= 0) & (alpha <= top) & np.isfinite(alpha))": "~((alpha >= 0) & np.isfinite(alpha))"},
        suite="tests/solvers/test_solvers_certificate.py::test_alpha_outside_the_box_raises",
    ),
    Fault(
        "a gap that is asked for twenty times too large",
        "cutting_planes/svmperf.py",
        {"float(g @ planes.w), run.eps * run.total": "float(g @ planes.w), 20.0 * run.eps * run.total"},
        contender="svmperf",
        experiment="joachims2006/rcv1-like",
    ),
    Fault(
        "a line search that adds the loss it should take away",
        "cutting_planes/ocas.py",
        {"            slope -= C * (shares[": "            slope += C * (shares["},
        contender="ocas",
    ),
    Fault(
        "a plane of pairs with the offset of examples",
        "cutting_planes/svmperf_ordinal.py",
        {"run.pairs.violated / run.pairs.m, run.planes.w)": "run.pairs.violated / run.n, run.planes.w)"},
        contender="svmperf-ordinal",
    ),
)
