"""Examples in blocks: same results as in one piece, memory maps, and refusals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import cloud, judged
from svmrepro.solvers import SOLVERS, Blocks, Problem, open_block, save_block, solve

CUTS = (0, 1, 130, 131, 300)


def examples(sparse: bool, kind: type = np.float64) -> tuple[Any, Any]:
    X, y = cloud(CUTS[-1], 40, seed=7, share=0.2)
    X[50] = 0.0
    X = X.astype(np.float32).astype(kind)
    return (sp.csr_array(X) if sparse else X), y


def parts(X: Any) -> list[Any]:
    return [X[first:last].copy() for first, last in pairwise(CUTS)]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [name for name, spec in SOLVERS.items() if spec.blocks])
def test_blocks_are_the_same_examples(name: str, sparse: bool, kind: type) -> None:
    X, y = examples(sparse)
    C = 0.5 if SOLVERS[name].one_bound else np.linspace(0.1, 1.0, y.size)
    whole = Problem(X, y, C, bias=False, storage="csr" if sparse else "dense")
    blocked = Problem(Blocks(parts(X.astype(kind))), y, C, bias=False)
    assert (blocked.n, blocked.d, blocked.storage) == (whole.n, whole.d, whole.storage)
    one, first = judged(whole, name, 1e-4)
    many, second = judged(blocked, name, 1e-4)
    assert (many.iterations, many.work) == (one.iterations, one.work)
    assert many.weights == pytest.approx(one.weights, abs=1e-9)
    assert second.primal == pytest.approx(first.primal, rel=1e-12)
    if kind is np.float32:
        assert many.info["bytes_a_pass"] < one.info["bytes_a_pass"]
        for store, part in zip(blocked.X.stores(), blocked.X.parts, strict=True):
            assert np.shares_memory(store.single, part.data if sparse else part)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_products(sparse: bool, kind: type) -> None:
    X, _ = examples(sparse, kind)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    blocks = Blocks(parts(X))
    assert blocks.shape == X.shape
    assert blocks @ w == pytest.approx(X.astype(np.float64) @ w)
    assert blocks.T @ v == pytest.approx(X.astype(np.float64).T @ v)


def unsorted(first: int, second: int) -> Any:
    """Return rows, one of which has these two columns; columns may fall between rows."""
    columns = np.array([1, 0, first, second, 0], dtype=np.int32)
    return sp.csr_array((np.ones(5), columns, np.array([0, 1, 2, 4, 5], dtype=np.int32)), shape=(4, 2))


@pytest.mark.parametrize("checked", [1, 2, 3, 100])
def test_the_order_of_columns_is_checked_in_pieces(checked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmrepro.solvers.storage.blocks._CHECKED", checked)
    assert Blocks([unsorted(0, 1)]).shape == (4, 2)
    with pytest.raises(ValueError, match="do not ascend"):
        Blocks([unsorted(1, 0)])


ROWS = np.ones((2, 2))
EYE = sp.csr_array(np.eye(2))
#: Row pointers that SciPy does not check.
FALLING = sp.csr_array((np.ones(2), np.int32([0, 1]), np.int32([0, 10**8, 2])), shape=(2, 2))
#: Row pointers of 64 bits, and with them the columns.
WIDE = sp.csr_array((EYE.data, EYE.indices, EYE.indptr.astype(np.int64)), shape=EYE.shape)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one block"),
        ([ROWS, EYE], "block 1 is dense and others are sparse, or the reverse"),
        ([sp.csc_array(EYE)], "block 0 is in the format csc, not CSR"),
        ([ROWS, [[1.0, 2.0]]], "block 1 is a list"),
        ([[[1.0, 2.0]]], "block 0 is a list"),
        ([np.array(1.0)], "block 0 has the shape ()"),
        ([FALLING], "block 0 has row pointers that decrease"),
        ([ROWS, np.ones((2, 3))], "block 1 has the shape (2, 3)"),
        ([ROWS, np.ones((0, 2))], "block 1 has the shape (0, 2)"),
        ([ROWS.astype(np.float16)], "block 0 holds values of float16, not float64"),
        ([ROWS, ROWS.astype(np.float32)], "block 1 holds values of float32, not float64"),
        ([WIDE], "block 0 has columns of int64, not int32"),
        ([ROWS.T.copy("F")], "block 0 has an array that is read-only or not in C order"),
        ([unsorted(1, 0)], "block 0 has columns that do not ascend"),
        ([np.array([[1.0, np.inf]])], "block 0 holds a value that is not finite"),
        ([unsorted(0, 2)], "block 0 has a column that is not one of 0 to 1"),
    ],
)
def test_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        Blocks(given)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def is_mapped(array: Any) -> bool:
    """Return whether an array is a view of a memory map."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("sparse", [False, True])
def test_saved_blocks_are_opened_by_their_paths(sparse: bool, tmp_path: Path) -> None:
    X, y = examples(sparse)
    folders = [tmp_path / "all" / str(number) for number in range(len(CUTS) - 1)]
    for part, folder in zip(parts(X), folders, strict=True):
        save_block(ROWS if sparse else EYE, folder)  # to be replaced
        save_block(part, folder)
    by_path = Blocks([*folders[:-2], str(folders[-2]), lambda: open_block(folders[-1])])
    for store, part in zip(by_path.stores(), by_path.parts, strict=True):
        arrays = (part.data, part.indices, part.indptr) if sparse else (part,)
        assert all(map(is_mapped, arrays))
        assert np.shares_memory(store.values if sparse else store.dense, arrays[0])
        assert not sparse or np.shares_memory(store.indices, part.indices)
    one, other = (
        judged(Problem(blocks, y, 0.5, bias=False), "svmperf", keep_alpha=True)
        for blocks in (Blocks(parts(X)), by_path)
    )
    assert np.array_equal(one[0].weights, other[0].weights)
    assert other[1].dual == pytest.approx(other[1].relaxed, rel=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_that_joblib_maps_into_memory(sparse: bool, tmp_path: Path) -> None:
    X, y = examples(sparse)
    problem = Problem(Blocks(parts(X)), y, 0.5, bias=False)
    joblib.dump(problem, tmp_path / "problem")
    mapped = joblib.load(tmp_path / "problem", mmap_mode="r")
    assert np.array_equal(solve(mapped, "svmperf").weights, solve(problem, "svmperf").weights)


def test_saved_numbers_are_of_32_bits_and_sorted(tmp_path: Path) -> None:
    shuffled = sp.csr_array((np.array([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    save_block(shuffled, tmp_path)
    found = open_block(tmp_path)
    assert (found.indices.dtype, found.indptr.dtype, found.data.dtype) == (np.int32, np.int32, np.float64)
    assert np.array_equal(found.toarray(), [[2, 0, 1], [0, 3, 0]])
    save_block(shuffled.astype(np.float32), tmp_path)
    assert open_block(tmp_path).dtype == np.float32
    assert Blocks([tmp_path]).single


def test_what_cannot_be_saved_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmrepro.solvers.storage.block_files._MOST", 1)
    for given, message in (
        (sp.csc_array(EYE), "the format is csc, not CSR$"),
        ([[1.0]], "a list is neither CSR nor an array of rows$"),
        (EYE, "2 entries in 2 columns .* into more blocks$"),
    ):
        with pytest.raises(ValueError, match=f"^save_block: {message}"):
            save_block(given, tmp_path)
    assert not list(tmp_path.iterdir())


def header(kind: str, shape: str) -> bytes:
    """Return the header of an array file."""
    said = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}"
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said.encode()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("indices", None, "is no block, indices.npy is not there"),
        ("indptr", np.array([0, 1, 2]), "indptr.npy in .* is of int64, not int32"),
        ("indptr", np.array([0, 1], dtype=np.int32), "do not belong together"),
        ("indices", np.array([0], dtype=np.int32), "do not belong together"),
        ("shape", np.array([2, -1]), "do not belong together"),
        ("shape", np.array([2.0, 2.0]), "shape.npy in .* is of float64, not int64"),
        ("data", b"no array", "cannot be read: data.npy: "),
        ("data", b"PK\x05\x06" + bytes(18), "cannot be read: data.npy: "),
        ("data", np.array([None, 1.0]), "data.npy in .* is of object, not float64 or float32"),
        ("data", header("'<f8'", "(3,)") + bytes(16), "data.npy in .* is not as long as its header says"),
        ("data", header("'<f8'", "(-2,)") + bytes(16), r"data.npy in .* has the shape \(-2,\)"),
        ("data", header("'''", "(2,)") + bytes(16), "cannot be read: data.npy: "),
        # NumPy divides by the item size.
        ("data", header("'|S0'", "(3000000000, 3000000000)"), r"data.npy in .* is of \|S0, not float64"),
        ("rows", np.ones((2, 2), dtype=np.float16), "rows.npy in .* is of float16, not float64"),
    ],
)
def test_what_is_no_block_is_refused(name: str, content: Any, message: str, tmp_path: Path) -> None:
    save_block(sp.csr_array(np.eye(2)), tmp_path)
    file = tmp_path / f"{name}.npy"
    file.unlink(missing_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        np.save(file, content)
    with pytest.raises(ValueError, match=f"^open_block: .*{message}") as raised:
        open_block(tmp_path)
    assert "\n" not in str(raised.value)
