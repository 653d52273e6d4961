"""The reader of MATLAB files with splits, on files with the structure of the published one."""

import numpy as np
import pytest
from datasets_support import put, refused
from scipy import sparse
from scipy.io import savemat
from svmrepro.datasets.readers._matfile import read_splits

SIGNS = {-1.0: -1.0, 1.0: 1.0}


def toy(rows=12):
    """Return a set whose one-based splits are rows of ``train`` and ``test``."""
    rng = np.random.default_rng(5)
    order = np.array([rng.permutation(rows) + 1 for _ in range(4)])
    return {
        "x": rng.standard_normal((rows, 3)),
        "t": np.where(np.arange(rows) % 3 == 0, 1.0, -1.0)[:, None],
        "train": order[:, : rows // 3],
        "test": order[:, rows // 3 :],
    }


def write(folder, sets, **options):
    path = folder / "benchmarks.mat"
    names = np.array(list(sets), dtype=object)  # the published file has such a list too
    savemat(path, {**sets, "benchmarks": names[None, :]}, do_compression=True, **options)
    return path


def read(path, variable="toy"):
    data = read_splits(path, variable=variable, features=3, labels=SIGNS)
    return data.X, data.y


def test_the_whole_set_is_the_first_split(tmp_path):
    made = toy()
    path = write(tmp_path, {"other": toy(rows=9), "toy": made})
    X, y = read(path)
    order = np.concatenate([made["train"][0], made["test"][0]]) - 1
    assert sorted(order) == list(range(12))
    assert np.array_equal(X, made["x"][order]) and np.array_equal(y, made["t"][order, 0])
    assert X.dtype == y.dtype == np.float64 and X.flags.c_contiguous
    assert read(path, "other")[0].shape == (9, 3)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_whole_numbers_that_matlab_stores_narrowly_and_labels_as_a_row(tmp_path, kind):
    made = toy()
    made["x"] = (np.arange(36).reshape(12, 3) % 5).astype(kind)
    made["t"] = made["t"].T.astype(np.int8)
    made["train"], made["test"] = made["train"].astype(np.uint16), made["test"].astype(np.uint8)
    X, y = read(write(tmp_path, {"toy": made}))
    assert X.dtype == np.float64 and set(X.ravel()) == {0, 1, 2, 3, 4}
    assert len(y) == 12 and set(y) == {-1.0, 1.0}


def test_examples_that_are_stored_once_and_occur_twice(tmp_path):
    made = toy()
    made["train"] = np.array([[1, 1, 2, 4]])
    made["test"] = np.array([[2, 5]])
    X, y = read(write(tmp_path, {"toy": made}))
    assert np.array_equal(X, made["x"][[0, 0, 1, 3, 1, 4]])
    assert y.tolist() == [1, 1, -1, 1, -1, -1]


def changed(field, value):
    made = toy()
    if value is None:
        del made[field]
    else:
        made[field] = value
    return made


def with_one(field, value):
    array = toy()[field].astype(np.float64)
    array[0, 0] = value
    return np.asarray(array)


FIRST = toy()["train"][0, 0]


@pytest.mark.parametrize(
    ("made", "where", "words"),
    [
        (changed("t", None), "toy: ", "'t'"),
        (np.eye(3), "toy: ", "a structure was expected"),
        (np.array([[toy(), toy()]], dtype=object), "toy: ", "a structure was expected"),
        (changed("x", np.ones((12, 4))), "toy.x: ", "4 columns where 3"),
        (changed("x", np.zeros((0, 3))), "toy.x: ", "empty"),
        (changed("x", "text"), "toy.x: ", "real numbers"),
        (changed("x", np.ones((12, 3, 2))), "toy.x: ", "real numbers"),
        (changed("x", sparse.csc_matrix(np.eye(12, 3))), "toy.x: ", "real numbers"),
        (changed("x", np.full((12, 3), np.nan)), "toy.x: ", f"row {FIRST}:"),
        (changed("t", np.ones((11, 1))), "toy.t: ", "11 labels for 12 examples"),
        (changed("t", np.zeros((12, 1))), "toy.t: ", f"row {FIRST}: label 0"),
        (changed("t", np.ones((12, 1))), "toy.t: ", "one class only"),
        (changed("train", with_one("train", 0)), "toy.train: ", "0 is not a position among 12 examples"),
        (changed("test", with_one("test", 1.5)), "toy.test: ", "1.5 is not a position"),
        (changed("test", np.zeros((0, 4))), "toy.test: ", "empty"),
    ],
)
def test_what_is_refused(tmp_path, made, where, words):
    path = write(tmp_path, {"toy": made})
    refused(lambda: read(path), f"{path}: {where}", words)


def test_a_file_without_the_set_or_cut_or_spoilt_gives_one_line(tmp_path):
    path = write(tmp_path, {"other": toy()})
    refused(lambda: read(path), f"{path}: ", "'toy'")
    write(tmp_path, {"toy": toy()})
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    cut = [good[:length] for length in (0, 1, 60, 128, 129, 140, 300, len(good) // 2, len(good) - 400)]
    garbage = [b"x" * 200, b"MATLAB 5.0 MAT-file" + bytes(200), good[:128] + rng.bytes(500)]
    for content in cut + garbage:
        put(path, content)
        refused(lambda: read(path), f"{path}: ")
