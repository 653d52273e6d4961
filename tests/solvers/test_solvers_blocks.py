"""Examples in blocks: same results as in one piece, memory maps, and refusals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import SOLVERS, Blocks, Problem, certify, open_block, save_block, solve

NAMES = [name for name, spec in SOLVERS.items() if spec.blocks]
CUTS = (0, 1, 130, 131, 300)


def examples(d: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(CUTS[-1], d)) * (rng.random((CUTS[-1], d)) < 0.2)
    X[50] = 0.0
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=len(X)) > 0, 1.0, -1.0)


def parts(X: Any) -> list[Any]:
    return [X[first:last].copy() for first, last in pairwise(CUTS)]


def mapped(X: Any, folder: Path) -> Any:
    """Return a CSR array on memory maps of files."""
    maps = []
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(X, name))
        maps.append(np.load(folder / f"{name}.npy", mmap_mode="c"))
    return sp.csr_array(tuple(maps), shape=X.shape)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_the_same_examples(name: str, sparse: bool) -> None:
    X, y = examples()
    data = sp.csr_array(X) if sparse else X
    whole = Problem(data, y, 0.5, bias=False, storage="csr" if sparse else "dense")
    blocked = Problem(Blocks(parts(data)), y, 0.5, bias=False)
    assert (blocked.n, blocked.d, blocked.storage) == (whole.n, whole.d, whole.storage)
    one, many = solve(whole, name, eps=1e-4), solve(blocked, name, eps=1e-4)
    assert many.status == "optimal"
    assert many.iterations == one.iterations
    assert many.work == one.work
    assert many.weights == pytest.approx(one.weights, abs=1e-9)
    assert certify(blocked, many).passes(1e-4, 1.0)
    assert certify(blocked, many).primal == pytest.approx(certify(whole, one).primal, rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_is_the_same_numbers_in_half_the_room(name: str, sparse: bool) -> None:
    X, y = examples()
    X = X.astype(np.float32)
    data = sp.csr_array(X) if sparse else X
    single = Problem(Blocks(parts(data)), y, 0.5, bias=False)
    double = Problem(Blocks(parts(data.astype(np.float64))), y, 0.5, bias=False)
    one, other = solve(single, name, eps=1e-4), solve(double, name, eps=1e-4)
    assert one.status == "optimal"
    assert one.work == other.work
    assert one.weights == pytest.approx(other.weights, abs=1e-12)
    assert one.info["bytes_a_pass"] < other.info["bytes_a_pass"]
    found = certify(single, one)
    assert found.passes(1e-4, 1.0)
    assert found.primal == pytest.approx(certify(double, one).primal, rel=1e-12)
    for store, part in zip(single.X.stores(), single.X.parts, strict=True):
        assert np.shares_memory(store.single, part.data if sparse else part)


def test_memory_maps_are_not_copied(tmp_path: Path) -> None:
    X, y = examples()
    maps = []
    for number, part in enumerate(parts(sp.csr_array(X))):
        (tmp_path / str(number)).mkdir()
        maps.append(mapped(part, tmp_path / str(number)))
    blocks = Blocks(maps)
    for store, part in zip(blocks.stores(), maps, strict=True):
        assert np.shares_memory(store.values, part.data)
        assert np.shares_memory(store.indices, part.indices)
    problem = Problem(blocks, y, 0.5, bias=False)
    solution = solve(problem, "svmperf", keep_alpha=True)
    found = certify(problem, solution)
    assert found.passes(1e-3, 1.0)
    assert found.dual == pytest.approx(found.relaxed, rel=1e-6)


def test_products() -> None:
    X, _ = examples()
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    X = X.astype(np.float32).astype(np.float64)
    for kind in (X, sp.csr_array(X), X.astype(np.float32), sp.csr_array(X).astype(np.float32)):
        blocks = Blocks(parts(kind))
        assert blocks.shape == X.shape
        assert blocks @ w == pytest.approx(X @ w)
        assert blocks.T @ v == pytest.approx(X.T @ v)


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


def wide() -> Any:
    """Return rows with 64-bit row pointers, and their columns."""
    rows = sp.csr_array(np.eye(2))
    return sp.csr_array((rows.data, rows.indices, rows.indptr.astype(np.int64)), shape=rows.shape)


def fixed(X: Any) -> Any:
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "Blocks: at least one block is needed"),
        (
            [np.ones((2, 2)), sp.csr_array(np.eye(2))],
            "block 1 is dense and others are sparse, or the reverse",
        ),
        ([sp.csc_array(np.eye(2))], "block 0 is in the format csc, not CSR"),
        ([np.ones((2, 2)), [[1.0, 2.0]]], "block 1 is a list, no array"),
        ([np.ones((2, 2)), np.ones((2, 3))], "block 1 has the shape (2, 3)"),
        ([np.ones((2, 2)), np.ones((0, 2))], "block 1 has the shape (0, 2)"),
        ([np.ones((2, 2), dtype=np.float16)], "block 0 holds values of float16, not float64"),
        (
            [np.ones((2, 2)), np.ones((2, 2), dtype=np.float32)],
            "block 1 holds values of float32, not float64 (or all blocks float32)",
        ),
        (
            [np.ones((2, 2), dtype=np.float32), np.ones((2, 2))],
            "block 1 holds values of float64, not float32",
        ),
        ([wide()], "block 0 has columns of int64, not int32 (SciPy widens them in a copy"),
        ([np.ones((2, 2)).T.copy("F")], "block 0 has an array that is read-only or not in C order"),
        ([fixed(np.ones((2, 2)))], "block 0 has an array that is read-only or not in C order"),
        ([unsorted(1, 0)], "block 0 has columns that do not ascend within a row"),
        ([unsorted(1, 1)], "block 0 has columns that do not ascend within a row"),
        ([np.array([[1.0, np.inf]])], "block 0 holds a value that is not finite"),
        ([unsorted(0, 2)], "block 0 has a column that is not one of 0 to 1"),
        ([unsorted(-1, 1)], "block 0 has a column that is not one of 0 to 1"),
    ],
)
def test_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        Blocks(given)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_blocks_keep_their_storage() -> None:
    X, y = examples()
    with pytest.raises(ValueError, match="storage 'csr' of blocks that are dense"):
        Problem(Blocks(parts(X)), y, storage="csr")


def is_mapped(array: Any) -> bool:
    """Return whether an array is a view of a memory map."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("sparse", [False, True])
def test_saved_blocks_are_opened_by_their_paths(sparse: bool, tmp_path: Path) -> None:
    X, y = examples()
    given = parts(sp.csr_array(X) if sparse else X)
    folders = [tmp_path / "all" / str(number) for number in range(len(given))]
    for part, folder in zip(given, folders, strict=True):
        save_block(np.ones((3, 3)) if sparse else sp.csr_array(np.eye(3)), folder)  # to be replaced
        save_block(part, folder)
    by_path = Blocks([*folders[:-2], str(folders[-2]), lambda: open_block(folders[-1])])
    for store, part in zip(by_path.stores(), by_path.parts, strict=True):
        array = part.data if sparse else part
        assert is_mapped(array)
        assert not sparse or (is_mapped(part.indices) and is_mapped(part.indptr))
        assert np.shares_memory(store.values if sparse else store.dense, array)
        assert not sparse or np.shares_memory(store.indices, part.indices)
    one, other = (
        solve(Problem(blocks, y, 0.5, bias=False), "ocas", eps=1e-4) for blocks in (Blocks(given), by_path)
    )
    assert np.array_equal(one.weights, other.weights)


def test_saved_numbers_are_of_32_bits_and_sorted(tmp_path: Path) -> None:
    shuffled = sp.csr_array((np.array([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    save_block(shuffled, tmp_path)
    found = open_block(tmp_path)
    assert (found.indices.dtype, found.indptr.dtype, found.data.dtype) == (np.int32, np.int32, np.float64)
    assert np.array_equal(found.toarray(), [[2, 0, 1], [0, 3, 0]])
    assert Blocks([tmp_path]).shape == (2, 3)
    save_block(shuffled.astype(np.float32), tmp_path)
    assert open_block(tmp_path).dtype == np.float32
    assert Blocks([tmp_path]).single


def test_what_cannot_be_saved_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^save_block: the format is csc, not CSR$"):
        save_block(sp.csc_array(np.eye(2)), tmp_path)
    with pytest.raises(ValueError, match=r"^save_block: a list is neither CSR nor an array of rows$"):
        save_block([[1.0]], tmp_path)
    monkeypatch.setattr("svmrepro.solvers.storage.block_files._MOST", 1)
    with pytest.raises(ValueError, match=r"^save_block: 2 entries in 2 columns .* into more blocks$"):
        save_block(sp.csr_array(np.eye(2)), tmp_path)
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
        ("indptr", np.array([0, 2, 1], dtype=np.int32), "do not belong together"),
        ("indptr", np.array([0, 3, 2], dtype=np.int32), "do not belong together"),
        ("indices", np.array([0], dtype=np.int32), "do not belong together"),
        ("shape", np.array([2]), "do not belong together"),
        ("shape", np.array([2, -1]), "do not belong together"),
        ("shape", np.array([2.0, 2.0]), "shape.npy in .* is of float64, not int64"),
        ("data", b"no array", "cannot be read: data.npy: "),
        ("data", b"", "cannot be read: data.npy: "),
        ("data", b"PK\x05\x06" + bytes(18), "cannot be read: data.npy: "),
        ("data", np.array([None, 1.0]), "data.npy in .* is of object, not float64 or float32"),
        ("data", np.ones((2, 1)), r"data.npy in .* has the shape \(2, 1\)"),
        ("data", header("'<f8'", "(3,)") + bytes(16), "data.npy in .* is not as long as its header says"),
        ("data", header("'<f8'", "(-2,)") + bytes(16), r"data.npy in .* has the shape \(-2,\)"),
        ("data", header("'''", "(2,)") + bytes(16), "cannot be read: data.npy: "),
        # NumPy divides by the item size.
        ("data", header("'|S0'", "(3000000000, 3000000000)"), r"data.npy in .* is of \|S0, not float64"),
        ("rows", np.ones((2, 2), dtype=np.float16), "rows.npy in .* is of float16, not float64"),
        ("rows", np.ones(2), r"rows.npy in .* has the shape \(2,\)"),
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
