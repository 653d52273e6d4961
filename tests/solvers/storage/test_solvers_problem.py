"""Problems: accepted and refused input, representations, kernels, and the registry."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import ONE_OF_EACH, STORAGES, biased, judged, suits
from svmrepro.solvers import Kernel, Problem, solve, solve_grid
from svmrepro.solvers.storage.stores import choose_storage, is_binary

GOOD = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
LABELS = [1, -1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [1.0, 2.0]}, "X must have shape (n, d) with n >= 1, got (2,)"),
        ({"X": np.zeros((0, 3))}, "X must have shape (n, d) with n >= 1, got (0, 3)"),
        ({"X": [["a", "b"]] * 3}, "X must be numeric: could not convert string to float: 'a'"),
        ({"X": np.eye(3) * 1j}, "X must be real"),
        ({"X": sp.csr_array(np.eye(3) * 1j)}, "X must be real"),
        ({"X": np.ma.masked_equal(np.eye(3), 0)}, "X must not be masked"),
        ({"X": [[0.0, np.nan], [1, 0], [1, 1]]}, "X holds a value that is not finite"),
        ({"X": sp.csr_array([[np.inf, 0], [1, 0], [1, 1]])}, "X holds a value that is not finite"),
        ({"y": [1, -1]}, "y must have shape (3,), got (2,)"),
        ({"y": [[1, -1, 1]]}, "y must have shape (3,), got (1, 3)"),
        ({"y": [1, np.nan, -1]}, "y must hold finite numbers only, y[1] = nan"),
        ({"y": ["p", "n", "p"]}, "y must be numeric: labels -1 and +1, or ranks"),
        ({"y": [1, 1, 1]}, "y holds one class only (+1)"),
        ({"C": 0}, "C must be a positive finite number, got 0"),
        ({"C": float("inf")}, "C must be a positive finite number, got inf"),
        ({"C": True}, "C must be a positive finite number, got True"),
        ({"C": "1"}, "C must be a positive finite number or an array of them, got '1'"),
        (
            {"C": set(range(9))},
            "C must be a positive finite number or an array of them, got {0, 1, 2, 3, 4, 5, ...}",
        ),
        ({"kernel": "linear"}, "kernel must be a Kernel, got str"),
        ({"storage": "coo"}, "storage 'coo' unknown; known: auto, dense, csr, index, bits"),
        ({"storage": "precomputed"}, "storage 'precomputed' unknown; known: auto, dense, csr, index, bits"),
    ],
)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        Problem(**{"X": GOOD, "y": LABELS, **arguments})
    assert str(raised.value) == message
    assert "\n" not in message


@pytest.mark.parametrize("storage", ["index", "bits"])
def test_binary_storage_of_other_data(storage: str) -> None:
    problem = Problem([[0.5], [1.0]], [1, -1], storage=storage)
    with pytest.raises(ValueError, match=rf"^storage '{storage}' needs binary data"):
        problem.prepare()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32, bool, list])
@pytest.mark.parametrize("C", [1, np.float64(1.0), np.float32(1.0), np.int64(1)])
def test_numbers_of_all_kinds(kind: Any, C: Any) -> None:
    X = GOOD if kind is list else np.array(GOOD).astype(kind)
    problem = Problem(X, np.array(LABELS, dtype=np.int8), C)
    assert (problem.X.dtype, problem.C) == (np.float64, 1.0)
    assert solve(problem, "smo").status == "optimal"


@pytest.mark.parametrize("storage", STORAGES)
def test_stored_zeros_and_repeated_indices_mean_what_they_say(storage: str) -> None:
    # Row 0: x_1 = 1, given as 0.25 + 0.75 after a stored zero; row 1: x_0 = 1.
    messy = sp.csr_array(
        (np.array([0.25, 0.0, 0.75, 1.0]), np.array([1, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2)
    )
    data, indices = messy.data.copy(), messy.indices.copy()
    problem = Problem(messy, [1, -1], 10.0, storage=storage)
    assert problem.X.toarray().tolist() == [[0, 1], [1, 0]]
    assert solve(problem, "smo").alpha == pytest.approx([1.0, 1.0])
    # The caller's arrays stay as they are.
    assert np.array_equal(messy.data, data) and np.array_equal(messy.indices, indices)


@pytest.mark.parametrize("d", [0, 1, 63, 64, 65, 128, 129, 256, 319, 320, 321, 400])
@pytest.mark.parametrize(
    "kernel", [Kernel.linear(), Kernel.gaussian(gamma=0.05), Kernel.polynomial(2, c=1.0)]
)
def test_widths(d: int, kernel: Kernel) -> None:
    rng = np.random.default_rng(d)
    X = (rng.random((24, d)) < 0.3).astype(float)
    if d:
        X[:, -1] = rng.random(24) < 0.5  # the last bit of the last word counts
    y = np.where(np.arange(24) % 3 == 0, 1.0, -1.0)
    duals = []
    # Of the others, bits alone have words.
    for storage in STORAGES if d in (0, 1, 65, 400) else ("dense", "bits"):
        for name in ONE_OF_EACH:
            if suits(name, kernel):
                problem = Problem(X, y, 1.0, kernel, bias=biased(name), storage=storage)
                solution, certificate = judged(problem, name, say=storage)
                assert solution.weights is None or solution.weights.shape == (d,)
                if problem.bias:
                    duals.append(certificate.dual)
    assert duals == pytest.approx([duals[0]] * len(duals), rel=1e-3)


def test_automatic_storage() -> None:
    binary = np.eye(80)
    assert Problem(binary, np.where(np.arange(80) % 2, 1, -1)).storage == "index"
    assert choose_storage(binary, "gaussian") == "bits"
    assert choose_storage(np.ones((4, 3)) * 0.5, "linear") == "dense"
    assert choose_storage(sp.csr_array(binary * 0.5), "gaussian") == "csr"
    assert choose_storage(np.zeros((3, 0)), "linear") in STORAGES
    wide = np.zeros((10, 10_000))
    wide[:, 0] = 1
    assert choose_storage(wide, "gaussian") == "index"  # 157 words per row for a single one
    assert is_binary(binary)
    assert not is_binary(2 * binary)


def test_kernels_from_mappings() -> None:
    assert Kernel.from_mapping({"name": "linear"}) == Kernel.linear()
    cubic = {"name": "polynomial", "degree": 3, "a": 0.5, "c": -1.0}
    assert Kernel.from_mapping(cubic) == Kernel.polynomial(3, a=0.5, c=-1.0)
    assert Kernel.from_mapping({"name": "gaussian", "sigma2": 10}).gamma == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "rbf"}, "kernel name 'rbf' unknown; known: gaussian, linear, polynomial, precomputed"),
        ({"name": "linear", "gamma": 1}, "kernel linear: parameter 'gamma' unknown"),
        ({"name": "gaussian"}, "Kernel.gaussian: give exactly one of gamma and sigma2"),
        ({"name": "gaussian", "gamma": 0}, "Kernel.gaussian: gamma must be positive, got 0"),
        ({"name": "gaussian", "sigma2": -1}, "Kernel.gaussian: sigma2 must be positive .*, got -1"),
        ({"name": "gaussian", "gamma": "x"}, "Kernel.gaussian: gamma must be a finite number, got 'x'"),
        ({"name": "polynomial"}, "kernel polynomial: parameter 'degree' is missing"),
        *(
            (
                {"name": "polynomial", "degree": degree},
                f"Kernel.polynomial: degree must be a positive integer, got {degree!r}",
            )
            for degree in (0, 1.5, "two")
        ),
        (
            {"name": "polynomial", "degree": 2, "a": float("nan")},
            "Kernel.polynomial: a must be a finite number, got nan",
        ),
    ],
)
def test_wrong_kernels(spec: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Kernel.from_mapping(spec)


def test_a_kernel_takes_no_parameter_of_another() -> None:
    with pytest.raises(ValueError, match=r"^kernel linear: parameter 'gamma' unknown$"):
        Kernel("linear", gamma=0.5)
    with pytest.raises(ValueError, match=r"^kernel gaussian: parameter 'degree' unknown$"):
        Kernel("gaussian", gamma=0.5, degree=3)


@pytest.mark.parametrize("sparse", [False, True])
def test_read_only_data(sparse: bool) -> None:
    # To compiled code a read-only array has another type; memory maps were refused for that.
    X, y = np.array(GOOD), np.array(LABELS, dtype=float)
    data = sp.csr_array(X) if sparse else X
    for array in (y, *((data.data, data.indices, data.indptr) if sparse else (data,))):
        array.setflags(write=False)
    for name, storage in (("smo", "auto"), ("smo2", "auto"), ("smo2", "csr" if sparse else "dense")):
        assert solve(Problem(data, y, storage=storage), name).status == "optimal"


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_a_problem_that_joblib_maps_into_memory(storage: str, tmp_path: Path) -> None:
    X = sp.csr_array(GOOD) if storage == "csr" else np.array(GOOD)
    problem = Problem(X, LABELS, [1.0, 2.0, 3.0], storage=storage)
    found = solve(problem, "smo2")
    problem.layout("pointer", lambda _: ctypes.pointer(ctypes.c_int()))  # as that of libsvm-package
    joblib.dump(problem, tmp_path / "problem")
    mapped = joblib.load(tmp_path / "problem", mmap_mode="r")
    assert np.array_equal(solve(mapped, "smo2").alpha, found.alpha)


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("name", ["smo-newton", "pasmo"])
def test_far_from_the_origin_with_large_multipliers(name: str, storage: str) -> None:
    # Distances from norms are off by 1e-9 there; multipliers of 1e5 would make that 1e-4 in the gradient.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = np.where(np.sin(2 * X.sum(axis=1)) + 0.5 * rng.standard_normal(400) > 0, 1.0, -1.0)
    problem = Problem(X + 2e4, y, 1e5, Kernel.gaussian(2e-3), storage=storage)
    assert solve(problem, name).status == "optimal"


def test_a_larger_C_asks_for_more_accurate_distances() -> None:
    # Two clouds so far apart that centring does not help, with close pairs of opposite labels.
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (300, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)
    X[1:40:2], y[1:40:2] = X[:40:2] + 1e-3, -y[:40:2]
    X[:, 0] += np.where(np.arange(300) < 150, -4400, 4400)
    small = Problem(X, y, 1.0, Kernel.gaussian(0.5))
    assert solve(small, "smo-newton").status == "optimal" and not small.differences
    large = small.with_C(1e6)
    assert solve(large, "smo-newton").status == "optimal" and large.differences
    assert small.with_C(2.0).prepare() is small.prepare()


@pytest.mark.parametrize("column", [200, 10**6])
def test_columns_that_do_not_exist(column: int) -> None:
    X = sp.random(30, 200, density=0.1, format="csr", random_state=0)
    X.indices[-1] = column
    with pytest.raises(ValueError, match="X is not a valid sparse array: "):
        Problem(X, np.where(np.arange(30) % 2, 1.0, -1.0), 1.0)


def test_kernel_values_may_differ_by_rounding_where_they_are_zero() -> None:
    K = np.array([[1.0, 3e-17], [0.0, 1.0]])
    assert Problem(K, [1, -1], kernel=Kernel.precomputed()).X[0, 1] == 1.5e-17
    K[0, 1] = 1e-9
    with pytest.raises(ValueError, match="must be symmetric"):
        Problem(K, [1, -1], kernel=Kernel.precomputed())


def test_polynomials_that_overflow_only_as_sums_are_refused() -> None:
    X = np.array([[1.0], [-1.0]])  # (x.z + 1)^600 reaches 1e180
    Problem(X, [1, -1], kernel=Kernel.polynomial(600)).prepare()
    Problem(0.1 * X, [1, -1], kernel=Kernel.polynomial(600, c=1.0)).prepare()
    with pytest.raises(ValueError, match=r"^values of the polynomial kernel reach 1e\+181, beyond 1e\+100 "):
        Problem(X, [1, -1], kernel=Kernel.polynomial(600, c=1.0)).prepare()


def test_integers_beyond_floats_are_refused() -> None:
    X, huge = np.eye(2), 10**400
    for make in (
        lambda: Problem(X, [1, -1], huge),
        lambda: Problem([[huge, 0], [0, 1]], [1, -1]),
        lambda: Problem(X, [1, -1], [huge, 1]),
        lambda: solve(Problem(X, [1, -1]), "smo", eps=huge),
        lambda: solve(Problem(X, [1, -1]), "smo", step_tol=huge),
        lambda: Kernel.gaussian(gamma=huge),
        lambda: Kernel.polynomial(2, c=huge),
        lambda: list(solve_grid(X, [1, -1], [huge], [Kernel.linear()])),
    ):
        with pytest.raises(ValueError):
            make()


def test_differences_are_taken_of_rows_that_were_not_moved() -> None:
    # Moved by their mean, the rows in the middle would lose the last digits of their difference.
    X = np.array([[1e6], [1e-4], [2e-4], [-3e5]])
    problem = Problem(X, [1, -1, 1, -1], 1e4, Kernel.gaussian(1e8), storage="dense")
    assert problem.prepare().dense == pytest.approx(X, rel=1e-15, abs=0.0) and problem.differences
