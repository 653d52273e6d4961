"""The optimum of small linear problems by an interior-point method in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Long = np.longdouble
_DIGITS = 1e-12


def primal(X: Any, y: Any, C: Any, w: Any) -> Any:
    """Return ``w.w / 2 + sum_i C_i max(0, 1 - y_i w.x_i)`` in extended precision."""
    w, margins = w.astype(Long), y * (X.astype(Long) * w.astype(Long)).sum(axis=1)
    return (w * w).sum() / 2 + (C * np.maximum(Long(0), 1 - margins)).sum()


def dual(X: Any, y: Any, alpha: Any) -> Any:
    """Return ``sum_i alpha_i - |sum_i alpha_i y_i x_i|^2 / 2`` in extended precision."""
    alpha = alpha.astype(Long)
    v = (X.astype(Long) * (y * alpha)[:, None]).sum(axis=0)
    return alpha.sum() - (v * v).sum() / 2


def optimum(X: Any, y: Any, C: Any, steps: int = 300) -> tuple[float, float]:
    """Return the best objective found, and the best lower bound of it: one, to the digits that matter.

    Columns are scaled to a largest entry of 1 (the length of w is then that of scaled weights), which the
    solvers under test do not do, and products are made in extended precision.
    """
    X, y = X.astype(Long), y.astype(Long)
    C = np.broadcast_to(np.asarray(C, dtype=Long), y.shape).copy()
    used = np.abs(X).max(axis=0) > 0
    scale = np.abs(X[:, used]).max(axis=0)
    A, Q = y[:, None] * X[:, used] / scale, 1 / (scale * scale)
    w, alpha, beta = np.zeros(scale.size, dtype=Long), C / 2, C / 2
    s, t = np.ones(y.size, dtype=Long), np.ones(y.size, dtype=Long)
    above, below = C.sum(), Long(0)
    for step in range(steps):
        weights = np.zeros(X.shape[1], dtype=Long)
        weights[used] = w / scale
        above = min(above, primal(X, y, C, weights))
        below = max(below, dual(X, y, np.clip(alpha, 0, C)))
        if above - below <= _DIGITS * above:
            break
        mu = ((alpha * t).sum() + (beta * s).sum()) / (2 * y.size) * Long(0.1 if step % 2 else 0.02)
        left = C - alpha - beta
        theta = 1 / (s / beta + t / alpha)
        right = 1 - A @ w - s + t - (mu / beta - s - s / beta * left) + mu / alpha - t
        matrix = (A * theta[:, None]).T @ A + np.diag(Q)
        dw = _solved(matrix, A.T @ alpha - Q * w + A.T @ (theta * right))
        d_alpha = theta * (right - A @ dw)
        d_beta = left - d_alpha
        dt, ds = mu / alpha - t - t / alpha * d_alpha, mu / beta - s - s / beta * d_beta
        reach = Long(1)
        for value, change in ((alpha, d_alpha), (beta, d_beta), (t, dt), (s, ds)):
            falls = change < 0
            if falls.any():
                reach = min(reach, Long(0.99) * (-value[falls] / change[falls]).min())
        w, alpha, beta = w + reach * dw, alpha + reach * d_alpha, beta + reach * d_beta
        s, t = s + reach * ds, t + reach * dt
    return float(above), float(below)


def _solved(matrix: Any, right: Any) -> Any:
    """Return the solution by Cholesky's method, which LAPACK does not have in extended precision."""
    d = right.size
    factor: npt.NDArray[np.longdouble] = np.zeros((d, d), dtype=Long)
    for j in range(d):
        rest = matrix[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = rest / np.sqrt(max(rest[0], Long(1e-18) * matrix[j, j]))
    x = right.copy()
    for j in range(d):
        x[j] = (x[j] - factor[j, :j] @ x[:j]) / factor[j, j]
    for j in reversed(range(d)):
        x[j] = (x[j] - factor[j + 1 :, j] @ x[j + 1 :]) / factor[j, j]
    return x
