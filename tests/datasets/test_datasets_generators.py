"""The generators: definitions, nested sizes, and identical numbers for a seed."""

import hashlib

import numpy as np
import pytest
from datasets_support import refused
from scipy import sparse, stats
from svmrepro.datasets import GENERATORS, DataError, generate
from svmrepro.datasets.generators import generator_key
from svmrepro.datasets.generators.documents import document_frequencies

NESTED = [name for name in GENERATORS if name != "chess-board"]


def dense(data):
    """Return the examples as an array; with very many columns, only every 97th."""
    if not sparse.issparse(data.X):
        return data.X
    return (data.X[:, ::97] if data.X.shape[1] > 1000 else data.X).toarray()


@pytest.mark.parametrize("name", GENERATORS)
def test_shapes_types_and_labels(name):
    data = generate(name, n=150, seed=3)
    widths = {"separable": 300, "noise": 300, "chess-board": 2, "waveform": 21, "rcv1-like": 47236}
    width = widths.get(name, 20)
    assert data.X.shape == (150, width)
    assert data.X.dtype == data.y.dtype == np.float64
    assert set(data.y) == {-1.0, 1.0}
    assert data.name == name
    assert data.provenance["seed"] == 3
    assert data.provenance["n_requested"] == data.provenance["n_actual"] == 150
    assert sparse.issparse(data.X) == (name in ("separable", "noise", "rcv1-like"))
    if sparse.issparse(data.X):
        assert np.all(data.X.data == 1.0) or name == "rcv1-like"
        assert data.X.has_canonical_format and data.X.indices.dtype == np.int32


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("n", [20, 1024, 1025])
def test_sizes_are_nested(name, n):
    large = generate(name, n=1500, seed=1)
    small, other = (generate(name, n=n, seed=seed) for seed in (1, 2))
    assert not np.array_equal(dense(small), dense(other))
    assert np.array_equal(dense(small), dense(large)[:n])
    assert not sparse.issparse(small.X) or abs(large.X[:n] - small.X).nnz == 0
    assert np.array_equal(small.y, large.y[:n])


PINNED = {
    "separable": "5592d8549515dd51",
    "noise": "ba9dc7e502184768",
    "chess-board": "f0091fe2c2201e75",
    "twonorm": "af9c675811cf5d9e",
    "ringnorm": "37602240bf96012e",
    "waveform": "11c43478d0a59f52",
    "rcv1-like": "9bc7aca31e4bfb6e",
}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_numbers_of_a_seed_do_not_change(name):
    # A change of these numbers changes the data: increment GENERATOR_VERSION with it.
    data = generate(name, n=40, seed=7)
    digest = hashlib.sha256()
    digest.update(np.round(dense(data), 9).tobytes())
    digest.update(data.y.tobytes())
    assert digest.hexdigest()[:16] == PINNED[name]


def test_separable_is_separable_with_its_margin():
    data = generate("separable", n=4000, seed=2)
    X = dense(data)
    # A perceptron determines the 300 unknowns from 4,000 rows; it converges only if a plane separates them.
    w = np.zeros(300)
    for _ in range(500):
        wrong = data.y * (X @ w) <= 0.0
        if not wrong.any():
            break
        for i in np.flatnonzero(wrong):
            if data.y[i] * (X[i] @ w) <= 0.0:
                w += data.y[i] * X[i]
    assert np.all(data.y * (X @ w) > 0.0)


def test_noise_has_fair_labels_that_no_bit_tells():
    data = generate("noise", n=10_000, seed=1)
    ones = dense(data).mean(axis=1) * 300
    assert abs(ones.mean() - 30.0) < 0.6
    assert 4.5 < ones.std() < 6.0, "independent bits: binomial, standard deviation 5.2"
    assert abs(data.y.mean()) < 0.04
    correlation = dense(data).T @ data.y / 10_000
    assert np.max(np.abs(correlation)) < 5 * np.sqrt(0.1 / 10_000)


def test_the_chess_board():
    data = generate("chess-board", n=8000, seed=1)
    assert not np.array_equal(generate("chess-board", n=100, seed=1).X, data.X[:100]), "sampled for each size"
    assert np.all((data.X >= 0.0) & (data.X < 4.0))
    parity = (np.floor(data.X[:, 0]) + np.floor(data.X[:, 1])) % 2
    assert np.array_equal(data.y, np.where(parity == 0, 1.0, -1.0))
    cells = np.floor(data.X[:, 0]) * 4 + np.floor(data.X[:, 1])
    counts = np.bincount(cells.astype(int), minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_twonorm_and_ringnorm():
    a = 2.0 / np.sqrt(20.0)
    for name, sign, mean, variance in (
        ("twonorm", -1.0, -a, 1.0),
        ("twonorm", 1.0, a, 1.0),
        ("ringnorm", -1.0, a, 1.0),
        ("ringnorm", 1.0, 0.0, 4.0),
    ):
        data = generate(name, n=20_000, seed=1)
        part = data.X[data.y == sign]
        assert np.allclose(part.mean(axis=0), mean, atol=0.05 * variance)
        assert np.allclose(np.cov(part.T), variance * np.eye(20), atol=0.06 * variance)
    data = generate("twonorm", n=20_000, seed=1)
    # The best rule is the sign of the sum; its error is Phi(-2) = 2.3 % (Breiman 1996).
    assert np.mean(np.sign(data.X.sum(axis=1)) != data.y) == pytest.approx(stats.norm.cdf(-2.0), abs=0.004)


def test_waveform():
    data = generate("waveform", n=20_000, seed=1)
    assert np.mean(data.y > 0) == pytest.approx(1 / 3, abs=0.015)
    t = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - np.abs(t - peak), 0) for peak in (11, 15, 7))
    assert np.allclose(data.X[data.y > 0].mean(axis=0), (h1 + h3) / 2, atol=0.08)
    assert np.allclose(data.X[data.y < 0].mean(axis=0), ((h1 + h2) / 2 + (h2 + h3) / 2) / 2, atol=0.08)
    # A row has one mixing weight for all 21 points, so slopes of h1 and h3 are negatively correlated.
    residual = data.X[data.y > 0] - (h1 + h3) / 2
    assert np.corrcoef(residual[:, 10], residual[:, 6])[0, 1] < -0.5


def test_documents_have_the_shape_of_rcv1():
    data = generate("rcv1-like", n=6000, seed=1)
    X = data.X
    counts = np.diff(X.indptr)
    assert abs(counts.mean() - 75.7) < 2.0 and 30 < counts.std() < 60
    assert np.allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    assert np.all(X.data > 0.0)
    seen = np.sort(np.bincount(X.indices, minlength=47236))[::-1] / 6000
    expected = document_frequencies()
    assert np.all(np.diff(expected) < 0.0) and expected.sum() == pytest.approx(75.7, abs=0.3)
    # Zipf's law: a term of ten times the rank is in about a tenth of the documents.
    assert np.allclose(seen[[0, 9, 99, 999]], expected[[0, 9, 99, 999]], rtol=0.15)
    assert 8.0 < expected[99] / expected[999] < 10.0 and 9.0 < expected[999] / expected[9999] < 11.0


def test_shares_of_positives_label_the_same_documents():
    many, few = (generate("rcv1-like", n=8000, seed=3, positives=share) for share in (0.474, 0.03))
    assert (many.X != few.X).nnz == 0
    assert np.mean(many.y > 0) == pytest.approx(0.474, abs=0.025)
    assert np.mean(few.y > 0) == pytest.approx(0.03, abs=0.01)
    assert many.provenance["positives"] == 0.474
    assert generator_key("rcv1-like", 100, 0, 0.03) != generator_key("rcv1-like", 100, 0)


@pytest.mark.parametrize(
    ("arguments", "share", "start"),
    [
        (("checkers", 10), None, "unknown generator 'checkers'; known: separable"),
        (("noise", 1), None, "noise: n = 1: "),
        (("noise", 10, -1), None, "noise: seed = -1: "),
        (("noise", 10), 0.5, "noise: positives = 0.5: "),
        (("rcv1-like", 10), 1.5, "rcv1-like: positives = 1.5: "),
    ],
)
def test_bad_requests(arguments, share, start):
    refused(lambda: generate(*arguments, positives=share), start)


def test_one_class_only_is_an_error():
    outcomes = set()
    for seed in range(12):
        try:
            outcomes.add(len(generate("noise", n=2, seed=seed).y))
        except DataError as error:
            assert f"noise: the first 2 rows for seed {seed} hold one class only" in str(error)
            outcomes.add(1)
    assert outcomes == {1, 2}
