"""The estimator: scikit-learn's own checks, comparison with SVC, and our additions."""

from __future__ import annotations

import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import ran
from svmrepro.solvers import SOLVERS, Certificate, Problem, SVMClassifier, sklearn_classifier

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "scale": {"kernel": "rbf"},
    "auto": {"kernel": "rbf", "gamma": "auto"},
    "number": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0},
}


def data(n_classes: int, n: int = 150) -> tuple[Any, Any]:
    X, y = make_classification(n, 8, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=0)
    return X, y


def certificates(model: SVMClassifier, *data: Any) -> tuple[Certificate, ...]:
    found = model.certificate(*data)
    return found if isinstance(found, tuple) else (found,)


@parametrize_with_checks(
    [
        SVMClassifier(gamma=0.1, tol=1e-10),
        SVMClassifier("smo2", kernel="linear", tol=1e-10),
        SVMClassifier(kernel="precomputed", tol=1e-10),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_agrees_with_svc(kernel: str, n_classes: int, sparse: bool) -> None:
    X, y = data(n_classes)
    if sparse:
        X[np.abs(X) < 0.7] = 0.0
        X = sp.csr_matrix(X)
    ours = SVMClassifier(C=3.0, tol=1e-6, **KERNELS[kernel]).fit(X, y)
    # Only LIBSVM breaks ties of votes in favour of the first class.
    theirs = SVC(C=3.0, tol=1e-6, break_ties=n_classes > 2, **KERNELS[kernel]).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-3)
    assert (ours.predict(X) == theirs.predict(X)).mean() >= 0.99
    assert set(ours.support_) == set(theirs.support_)
    sign = 1 if n_classes == 2 else -1
    assert sign * ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-3)
    assert ours.n_iter_.shape == theirs.n_iter_.shape and (ours.n_iter_ > 0).all()
    if kernel == "linear":
        weights = theirs.coef_.toarray() if sparse else theirs.coef_
        assert sign * ours.coef_ == pytest.approx(weights, abs=1e-3)
    if n_classes == 2:
        order = np.argsort(theirs.support_)
        coefficients = sp.csr_array(theirs.dual_coef_).toarray()
        assert ours.dual_coef_ == pytest.approx(coefficients[:, order], abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificates(n_classes: int) -> None:
    X, y = data(n_classes)
    names = np.array(["ash", "beech", "cedar"])[y]
    model = SVMClassifier(tol=1e-4).fit(X, names)
    found = certificates(model, X, names)
    assert len(found) == len(model.intercept_)
    assert all(certificate.pair_gap <= 1.01e-4 for certificate in found)
    vectors = [certificate.n_bound + certificate.n_nonbound for certificate in found]
    assert vectors == list((model.dual_coef_ != 0).sum(axis=1))
    # A Gaussian kernel is invariant under shifts, but not under stretches.
    assert max(c.pair_gap for c in certificates(model, X + 1.0, names)) < 1e-3
    assert max(c.pair_gap for c in certificates(model, 2.0 * X, names)) > 1e-2


@pytest.mark.parametrize(
    "labels",
    [[False, True, True], [-1.0, 0.0, 2.0], ["a", "b", "c"], [10, 7, 9], np.array(list("xyz"), dtype=object)],
    ids=["bool", "float", "str", "int", "object"],
)
def test_labels_of_any_kind(labels: Any) -> None:
    X, y = load_iris(return_X_y=True)
    named = np.array(labels)[y]
    model = SVMClassifier(C=10.0).fit(X.tolist(), list(named))
    assert list(model.classes_) == sorted(set(labels))
    assert model.score(X, named) > 0.95
    assert set(model.predict(X)) == set(labels)
    assert SVMClassifier().fit(X, named).predict(X).dtype == named.dtype


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, spec in SOLVERS.items()
        if spec.version is not None and spec.loss != "pairs" and not name.startswith(("pasmo-", "smo2-"))
    ],
)
def test_every_solver_that_can(name: str) -> None:
    X, y = data(3, 60)
    model = SVMClassifier(name, kernel="linear").fit(X, y)
    assert model.score(X, y) > 0.5
    spec = SOLVERS[name]
    passed = [certificate.passes(1e-3, spec.tolerance_factor) for certificate in certificates(model, X, y)]
    said = [solution.status == "optimal" for solution in model.solution_]
    # A solver of this package ends; a peer may end early, as ThunderSVM does here, if it says so.
    assert passed == said if spec.package else all(passed)
    if spec.promise != "kkt":
        assert model.coef_ == pytest.approx(np.array([solution.weights for solution in model.solution_]))
    if "no bias" in spec.needs:
        assert not model.intercept_.any()


def test_options_reach_the_solver() -> None:
    X, y = data(2)
    plain = SVMClassifier().fit(X, y)
    other = SVMClassifier(cache_mb=1, options={"shrinking": False}).fit(X, y)
    assert other.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-2)
    with pytest.raises(ValueError, match="solver 'smo-newton' has no option 'speed'"):
        SVMClassifier(options={"speed": 2}).fit(X, y)
    with pytest.raises(ValueError, match="solver 'chunking' has no option 'cache_mb'"):
        SVMClassifier("chunking", cache_mb=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "simplex"}, "solver 'simplex' unknown"),
        ({"solver": "svmperf-ordinal", "kernel": "linear"}, "solver 'svmperf-ordinal' orders examples"),
        ({"kernel": "sigmoid"}, "kernel 'sigmoid' unknown; known: linear, gaussian, rbf"),
        ({"kernel": len}, "unknown; known: linear"),
        ({"gamma": "wide"}, "gamma 'wide' unknown"),
        ({"gamma": 0}, "must be positive"),
        ({"C": -1.0}, "C must be a positive"),
        ({"C": np.ones((9, 9))}, r"^C must be a positive number, got .{,40}$"),
        ({"gamma": None}, "gamma must be a finite number, got None"),
        ({"tol": 0}, "^tol must be a positive"),
        ({"tol": None}, "^tol must be a positive number, got None"),
        ({"solver": ["smo"]}, r"^solver \['smo'\] unknown"),
        ({"options": 3}, "^options must be a dict, got 3"),
        ({"options": {1: 2}}, "^options: the name of an option must be a string, got 1"),
        ({"options": {"eps": 0.1}}, "^options: 'eps' is no option of a solver; give tol"),
        ({"class_weight": {0: 0}}, "^class_weight of 0 must be positive and finite, got 0"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a positive integer"),
        ({"kernel": "poly", "coef0": np.nan}, "^coef0 must be a finite number, got nan"),
        ({"kernel": "poly", "gamma": np.inf}, "^gamma must be a finite number, got inf"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVMClassifier(**parameters).fit(*data(2))


def test_wrong_data() -> None:
    X, y = data(2)
    with pytest.raises(ValueError, match="1 class"):
        SVMClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match=r"all examples have weight 0|at least one non-zero"):
        SVMClassifier().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"(?i)negative"):
        SVMClassifier().fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="y has 1 class of positive weight"):
        SVMClassifier().fit(X, y, y)
    with pytest.raises(ValueError, match=r"^C times class_weight and sample_weight .* is 0 for example 7$"):
        SVMClassifier(C=1e-200).fit(X, y, np.where(np.arange(len(y)) == 7, 1e-200, 1.0))
    with pytest.raises(NotFittedError):
        SVMClassifier().certificate(X, y)
    model = SVMClassifier().fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(SVMClassifier(kernel="linear"), "coef_")
    with pytest.raises(ValueError, match="not of this fit"):
        model.certificate(X, y + 5)
    with pytest.raises(ValueError, match="not of this fit"):
        model.certificate(X[:-1], y[:-1])


def test_a_limit_warns_and_leaves_something_usable() -> None:
    X, y = data(2, 2000)
    with pytest.warns(ConvergenceWarning, match="stopped early: time_limit") as warned:
        model = SVMClassifier(C=1e6, kernel="linear", tol=1e-9, time_limit=1e-3).fit(X, y)
    assert warned[0].filename == __file__  # else programs that call it twice are warned once
    assert model.solution_.status == "time_limit"
    assert model.predict(X).shape == y.shape


def test_numpys_error_state_does_not_matter() -> None:
    model = SVMClassifier(kernel="poly", degree=2, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with np.errstate(all="raise"):
        assert model.predict([[0.0], [3.0]]).tolist() == [0, 1]


def test_in_scikit_learns_tools() -> None:
    X, y = load_iris(return_X_y=True)
    grid = {"C": np.logspace(-1, 1, 3), "gamma": np.float32([0.1, 1.0]), "degree": np.arange(1, 3)}
    search = GridSearchCV(SVMClassifier(kernel="poly"), grid, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.95
    assert OneVsRestClassifier(SVMClassifier()).fit(X, y).score(X, y) > 0.95
    model = make_pipeline(StandardScaler(), SVMClassifier()).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()


def test_without_scikit_learn() -> None:
    program = (
        "import sys; sys.modules['sklearn.base'] = None\n"
        "import svmrepro.solvers as s\n"
        "assert s.SOLVERS\n"
        "s.SVMClassifier\n"
    )
    done = ran(sys.executable, "-c", program)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: SVMClassifier needs scikit-learn") and "svmrepro[estimator]" in last


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "number"])
def test_weights_agree_with_svc(kernel: str, n_classes: int) -> None:
    X, y = data(n_classes)
    rng = np.random.default_rng(n_classes)
    weights = rng.uniform(0.2, 3.0, size=y.size)
    weights[rng.choice(y.size, 10, replace=False)] = 0.0
    for class_weight, sample_weight in [({0: 4.0}, None), ("balanced", weights), (None, weights)]:
        parameters = {"C": 2.0, "tol": 1e-6, "class_weight": class_weight, **KERNELS[kernel]}
        ours = SVMClassifier(**parameters).fit(X, y, sample_weight)
        theirs = SVC(break_ties=n_classes > 2, **parameters).fit(X, y, sample_weight)
        assert ours.class_weight_ == pytest.approx(theirs.class_weight_)
        assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-3)
        assert all(one.passes(1e-5, 1.0) for one in certificates(ours, X, y, sample_weight))


def test_a_precomputed_kernel_is_the_same_fit() -> None:
    X, y = data(3)
    gram = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    ours = SVMClassifier(kernel="precomputed", tol=1e-6).fit(gram[:100, :100], y[:100])
    plain = SVMClassifier(gamma=0.3, tol=1e-6).fit(X[:100], y[:100])
    assert ours.decision_function(gram[:, :100]) == pytest.approx(plain.decision_function(X), abs=1e-6)
    assert (ours.support_ == plain.support_).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities(n_classes: int) -> None:
    X, y = data(n_classes, 300)
    ours = SVMClassifier(gamma=0.1, probability=True, random_state=0).fit(X, y)
    found = ours.predict_proba(X)
    assert found.shape == (300, n_classes)
    assert found.sum(axis=1) == pytest.approx(np.ones(300))
    assert (found.argmax(axis=1) == y).mean() > 0.85
    assert np.exp(ours.predict_log_proba(X)) == pytest.approx(found)
    if n_classes == 2:  # a sigmoid rises
        order = np.argsort(ours.decision_function(X))
        assert (np.diff(found[order, 1]) >= 0).all()
    assert not hasattr(SVMClassifier().fit(X, y), "predict_proba")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weights", [None, "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_gives_the_same_result_in_fewer_steps(
    n_classes: int, weights: str | None, sparse: bool
) -> None:
    X, y = data(n_classes, 300)
    X = sp.csr_matrix(X) if sparse else X
    model = SVMClassifier(gamma=0.1, C=0.01, class_weight=weights, warm_start=True).fit(X, y)
    for C in (0.04, 0.16, 0.02):
        model.set_params(C=C).fit(X, y)
        cold = SVMClassifier(gamma=0.1, C=C, class_weight=weights).fit(X, y)
        for warm, plain in zip(certificates(model, X, y), certificates(cold, X, y), strict=True):
            assert warm.passes(1e-3, 1.0)
            assert abs(warm.dual - plain.dual) <= max(warm.gap, plain.gap)
    model.fit(X, y)  # nothing has changed
    assert (model.n_iter_ == 0).all()


def test_a_warm_start_is_not_taken_from_other_data_or_another_kernel() -> None:
    X, y = data(2)
    Z = X[:, ::-1].copy()
    model = SVMClassifier(gamma=0.1, warm_start=True).fit(X, y)
    for changed in ({"gamma": 0.2}, {"solver": "smo2"}, {"kernel": "linear"}, {}):
        model.set_params(**changed).fit(Z, -y)
        cold = SVMClassifier(**model.get_params()).fit(Z, -y)
        assert (model.n_iter_ == cold.n_iter_).all()
        assert (model.dual_coef_ == cold.dual_coef_).all()
        model.fit(X, y)
    again = pickle.loads(pickle.dumps(model)).fit(X, y)
    assert (again.n_iter_ == 0).all()
    # A solver without a start, and one that returns no gradient.
    for solver in ("libsvm", "smo"):
        model.set_params(solver=solver).fit(X, y).fit(X, y)
        assert all(each.passes(1e-3, 2.0) for each in certificates(model, X, y))


@pytest.mark.parametrize("kernel", [{"gamma": 0.7}, {"kernel": "poly", "degree": 3}])
def test_examples_to_predict_may_be_sparse_if_those_of_the_fit_were_not(kernel: dict[str, Any]) -> None:
    X = np.random.default_rng(1).standard_normal((60, 4))
    y = X[:, 0] > 0
    for fitted, other in ((X, sp.csr_array(X)), (sp.csr_array(X), X)):
        model = SVMClassifier(**kernel).fit(fitted, y)
        assert model.decision_function(other) == pytest.approx(model.decision_function(fitted), abs=1e-9)


def test_a_class_without_weight_is_ignored() -> None:
    X = np.random.default_rng(2).standard_normal((90, 2))
    y = np.repeat(["a", "b", "c"], 30)
    X[30:60] += 3.0
    weights = np.where(y == "c", 0.0, 1.0)
    model = SVMClassifier().fit(X, y, weights)
    same = SVMClassifier(gamma=model.kernel_.gamma).fit(X[:60], y[:60])
    assert list(model.classes_) == ["a", "b"] and model.certificate(X, y, weights).passes(1e-3, 1.0)
    assert model.decision_function(X) == pytest.approx(same.decision_function(X), abs=1e-2)


@pytest.mark.parametrize("positive", [0, 1])
def test_probabilities_need_examples_of_each_class(positive: int) -> None:
    X = np.random.default_rng(2).standard_normal((80, 2))
    y = np.repeat([0, 1, 2, 3], 20)
    weights = np.where(y == 1, 0.0, 1.0)
    weights[20 : 20 + positive] = 1.0
    with pytest.raises(ValueError, match="needs 5 examples of positive weight of each class in y"):
        SVMClassifier(probability=True).fit(X, y, weights)


def test_each_fold_for_probabilities_has_weighed_examples_of_each_class() -> None:
    X, y = data(2)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)  # of all examples, whatever their weights
    weights = np.where(y == 1, 0.0, 1.0)
    weights[next(held_out for _, held_out in folds.split(X, y))] = 1.0
    model = SVMClassifier(probability=True, random_state=0).fit(X, y, weights)
    assert np.average(model.predict_proba(X).argmax(axis=1) == y, weights=weights) > 0.8


def test_probabilities_with_weights_that_are_routed() -> None:
    X, y = data(2)
    weights = np.linspace(0.5, 2.0, len(y))
    model = SVMClassifier(probability=True, random_state=0)
    plain = model.fit(X, y, weights).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        assert np.array_equal(model.fit(X, y, weights).predict_proba(X), plain)


def test_a_certificate_is_of_the_fit_and_not_of_later_parameters() -> None:
    X = np.random.default_rng(2).standard_normal((80, 2))
    y = X[:, 0] + X[:, 1] > 0.5
    model = SVMClassifier(kernel="linear").fit(X, y)
    model.set_params(C=100.0, solver="svmperf", class_weight="balanced")
    assert model.certificate(X, y).passes(1e-3, 1.0)


def test_a_fit_that_fails_leaves_the_last_one() -> None:
    X = np.random.default_rng(3).standard_normal((40, 2))
    model = SVMClassifier().fit(X, X[:, 0] > 0)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="has no option"):
        model.set_params(options={"nothing": 1}).fit(X, np.where(X[:, 1] > 0, "a", "b"))
    assert (model.predict(X) == expected).all()
    fresh = SVMClassifier(options={"nothing": 1})
    with pytest.raises(ValueError, match="has no option"):
        fresh.fit(X, X[:, 0] > 0)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    with pytest.raises(NotFittedError, match="call fit again"):
        model.set_params(probability=True).predict_proba(X)


def test_a_kernel_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a precomputed kernel must have shape \(n, n\), got \(4, 6\)"):
        SVMClassifier(kernel="precomputed").fit(np.ones((4, 6)), [0, 0, 1, 1])


def test_of_many_classes_one_problem_is_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Problem]] = []
    most = []

    def solved(problem: Problem, *arguments: Any, own: Any = sklearn_classifier.solve, **options: Any) -> Any:
        alive.append(weakref.ref(problem))
        most.append(sum(each() is not None for each in alive))
        return own(problem, *arguments, **options)

    monkeypatch.setattr(sklearn_classifier, "solve", solved)
    X, y = data(4)
    SVMClassifier().fit(X, y)
    assert len(most) == 6 and max(most) <= 2  # the last one, until the next is there
