import numpy as np
import pytest
from datasets_support import ROWS
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets import ENCODINGS, DataError
from svmrepro.datasets.encodings import one_hot, standardised, unit_interval

X = np.array([[2.0, 0.5, 7.0], [-1.0, 0.25, 7.0], [2.0, 0.0, 7.0], [0.0, 0.5, 7.0]])


def test_each_value_of_a_column_has_a_column():
    found = one_hot(X)
    # -1, 0, 2; 0, 0.25, 0.5; 7.
    assert found.toarray().tolist() == [
        [0, 0, 1, 0, 0, 1, 1],
        [1, 0, 0, 0, 1, 0, 1],
        [0, 0, 1, 1, 0, 0, 1],
        [0, 1, 0, 0, 0, 1, 1],
    ]
    assert found.dtype == np.float64 and (found.data == 1).all()
    assert all(np.all(np.diff(row.indices) > 0) for row in found)


def test_columns_are_standardised():
    found = standardised(X)
    assert found[:, :2].mean(axis=0) == pytest.approx([0, 0], abs=1e-15)
    assert (found[:, :2] ** 2).mean(axis=0) == pytest.approx([1, 1])
    # Order and proportions are kept: by hand, mean 0.75 and variance (1.5625 * 2 + 3.0625 + 0.5625) / 4.
    assert found[:, 0] == pytest.approx((X[:, 0] - 0.75) / np.sqrt(6.75 / 4))


def test_a_constant_column_is_zero_whatever_its_mean_rounds_to():
    constant = np.full((3, 1), 0.1)
    assert constant.std(axis=0) > 0  # the hazard
    assert not standardised(constant).any() and not unit_interval(constant).any()


def test_small_differences_are_standardised_as_large_ones_are():
    assert standardised(X * 2.0**-600).tolist() == standardised(X).tolist()


@pytest.mark.parametrize("name", ENCODINGS)
def test_sparse_examples_are_encoded_as_dense_ones_are(name):
    encode = ENCODINGS[name].encode
    kept = X.copy()
    both = [encode(X), encode(sparse.csr_matrix(X))]
    left, right = (found.toarray() if sparse.issparse(found) else found for found in both)
    assert np.array_equal(left, right) and np.array_equal(X, kept)


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "mine.libsvm"
    path.write_text("".join(f"{1 - 2 * (k % 2):+d} 1:{k} 2:{k % 3 - 1}\n" for k in range(ROWS)))
    datasets.register_file("mine", path)
    return path


def test_encodings_are_made_from_the_whole_set(own_file):
    part = datasets.load("mine", n=20, encoding="unit-interval")
    assert part.X.shape == (20, 2)
    assert part.X[:, 0] == pytest.approx(np.arange(20) / (ROWS - 1))
    # As many columns as the whole set has values, although 20 rows do not have them all.
    assert datasets.load("mine", n=20, encoding="one-hot").X.shape == (20, ROWS + 3)
    assert part.provenance["encoding"] == "unit-interval"
    plain = datasets.load("mine", n=20)
    assert "encoding" not in plain.provenance and plain.X.shape == (20, 2)
    assert np.array_equal(plain.y, part.y)


def test_a_generated_set_is_encoded_as_sampled():
    board = datasets.load("chess-board", n=50)
    found = datasets.load("chess-board", n=50, encoding="standardised")
    assert np.array_equal(found.X, standardised(board.X)) and np.array_equal(found.y, board.y)
    assert found.provenance == {**board.provenance, "encoding": "standardised"}


def test_a_name_that_is_none_is_refused(own_file):
    with pytest.raises(DataError, match="unknown encoding 'onehot'; did you mean 'one-hot'"):
        datasets.load("mine", encoding="onehot")
    with pytest.raises(DataError, match="adult: encodings are made from training rows"):
        datasets.load("adult", part="test", encoding="one-hot")
