"""Fuzz targets for arrays on disk: blocks of examples, prepared sets, and a run's own records.

Not only bytes are damaged, but also types, shapes, and indices that point elsewhere. Accepted arrays are
multiplied and converted as for compiled code, which checks nothing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from fuzz_inputs import Target, folder, mutated, on_file
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as arrays_of
from hypothesis.strategies import SearchStrategy
from svmrepro.datasets.locks import owner
from svmrepro.datasets.prepared import _load
from svmrepro.datasets.registry import parse as known_sets
from svmrepro.solvers import Blocks, open_block, save_block
from svmrepro.workflow.measurement.data_sets import _understood

FILES = ("data", "indices", "indptr", "shape", "rows")
_SPARSE = sp.csr_array(np.array([[0.0, 1.5, -2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.25]]))

_TYPES = (
    *("<f8", ">f8", "<f4", "<i4", ">i4", "<i8", "<u4", "|u1", "|b1"),
    *("<c16", "|S3", "<U2", "<M8[s]", "f8,i4"),
)
_SHAPES = ((), (0,), (1,), (2,), (3,), (4,), (0, 3), (3, 0), (3, 3), (2, 3), (1, 1, 3), (3, 1))


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def _arrays() -> SearchStrategy[Any]:
    """Arrays of any type, shape and order, and of integers that may be invalid as indices."""
    shapes = st.sampled_from(_SHAPES)
    anything = arrays_of(st.sampled_from(_TYPES), shapes)
    indices = arrays_of(st.sampled_from(("<i4", "<i8")), shapes, elements=st.integers(-1, 4))
    return st.one_of(anything, anything.map(np.asfortranarray), indices)


def _headers() -> SearchStrategy[bytes]:
    """Headers of array files that declare more data than there are, followed by a few bytes."""
    kinds = ["'<f8'", "'<i4'", "'|O'", "'<f9'", "'|V0'", "'|S0'", "[('a','<f8')]", "None", "3", "''"]
    shapes = (
        *("(3,)", "(-1,)", "(3, -3)", "3", "()", "(2**40,)", "(1099511627776,)", "(3000000000, 3000000000)"),
        *("(9999999999999999999,)", "[3]", "(True,)", "(1.5,)", "('3',)", "(3, 3", "__import__('os')"),
    )
    texts = st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format,
        st.sampled_from(kinds),
        st.sampled_from(["False", "True", "None", "1", "'x'"]),
        st.sampled_from(shapes),
    )
    return st.builds(
        lambda text, version, extra: (
            b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text.encode() + bytes(extra)
        ),
        texts,
        st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x09\x09"]),
        st.sampled_from([0, 8, 72]),
    )


def _block_files() -> SearchStrategy[dict[str, bytes | None]]:
    """Draw which files of a block are replaced or missing."""
    place = folder() / "good"
    save_block(_SPARSE, place)
    files = {name: (place / f"{name}.npy").read_bytes() for name in FILES[:-1]}
    files["rows"] = _npy(_SPARSE.toarray())
    long = b"\x93NUMPY\x02\x00" + (20_000).to_bytes(4, "little") + b" " * 20_000
    zipped = io.BytesIO()
    np.savez(zipped, a=np.ones(3))
    contents = st.one_of(
        _arrays().map(_npy),
        _arrays().map(_npy),
        _headers(),
        mutated(*files.values()),
        st.sampled_from([b"", long, zipped.getvalue(), _npy(np.array([None])), *files.values()]),
    )
    likely = {
        "data": st.sampled_from([0.0, 1.0, -2.5, 1e308, float("nan")]).map(np.float64),
        "indices": st.integers(-1, 3).map(np.int32),
        "indptr": st.integers(-1, 4).map(np.int32),
        "shape": st.integers(-1, 5).map(np.int64),
    }
    alike = {
        name: st.lists(numbers, min_size=1, max_size=5).map(np.array).map(_npy)
        for name, numbers in likely.items()
    }
    others = {name: st.one_of(st.none(), contents, *[alike[name]] * 5) for name in alike}
    changed = st.fixed_dictionaries(
        {}, optional={**others, "rows": st.one_of(st.none(), st.none(), contents)}
    )
    return changed.map(lambda own: {**{name: files[name] for name in FILES[:-1]}, **own})


def _block(files: dict[str, bytes | None]) -> None:
    place = folder() / "block"
    place.mkdir(exist_ok=True)
    for name in FILES:
        path = place / f"{name}.npy"
        path.unlink(missing_ok=True)
        if (content := files.get(name)) is not None:
            path.write_bytes(content)
    try:
        opened = open_block(place)
        blocks = Blocks([place])
    except ValueError as error:
        assert str(error).startswith(("open_block: ", "Blocks: ")), error
        raise
    rows, d = blocks.shape
    assert opened.shape == blocks.shape and rows > 0
    (store,) = blocks.stores()
    if blocks.sparse:
        assert store.indptr[0] == 0 and store.indptr[-1] == len(store.indices) == len(store.values)
        assert (np.diff(store.indptr) >= 0).all() and (store.indices < d).all()
    assert np.isfinite(store.values).all() and np.isfinite(store.dense).all()
    if d < 10_000:
        with np.errstate(over="ignore", invalid="ignore"):
            assert (blocks @ np.zeros(d)).shape == (rows,) and (blocks.T @ np.zeros(rows)).shape == (d,)


def _archives() -> SearchStrategy[bytes]:
    """Draw the arrays of a prepared set, dense or sparse, or a damaged file of them."""
    y = np.array([1.0, -1.0, 1.0])
    sparse = {name: getattr(_SPARSE, name) for name in ("data", "indices", "indptr")}
    good = ({"y": y, "X": np.ones((3, 2))}, {"y": y, **sparse, "shape": np.array(_SPARSE.shape)})
    names = st.sampled_from(("y", "X", "data", "indices", "indptr", "shape"))
    others = st.dictionaries(names, st.one_of(st.none(), _arrays()), max_size=2)

    def packed(whole: dict[str, Any], changed: dict[str, Any]) -> bytes:
        out = io.BytesIO()
        np.savez(out, **{name: part for name, part in {**whole, **changed}.items() if part is not None})
        return out.getvalue()

    damaged = mutated(*(packed(each, {}) for each in good))
    return st.one_of(st.builds(packed, st.sampled_from(good), others), damaged)


def _prepared(path: Path) -> None:
    for name in ("adult", "banana"):
        entry = known_sets.registry().downloaded[name]
        data = _load(path, entry)
        if data is None:
            continue
        assert data.X.shape == (len(data.y), entry.features) and np.isfinite(data.y).all()
        values = data.X if isinstance(data.X, np.ndarray) else data.X.data
        assert values.dtype == np.float64 and np.isfinite(values).all()
        if not isinstance(data.X, np.ndarray):
            data.X.check_format(full_check=True)
            assert data.X.has_canonical_format


def _lock_owner(path: Path) -> None:
    with path.open("rb") as stream:
        found = owner(stream.fileno())
    assert found.isprintable()


def arrays() -> Iterator[Target]:
    yield Target("arrays/block", _block_files(), _block, (ValueError,))
    yield Target("arrays/prepared", _archives(), on_file(_prepared, "prepared.npz"), ())
    marker = json.dumps({"name": "adult", "available": True, "missing": ["x"], "tried": 5.0}).encode()
    nested = st.sampled_from([b"[" * 200_000, b'{"missing":' * 50_000, b"9" * 10_000])
    yield Target("notes/marker", st.one_of(mutated(marker), nested), on_file(_understood), ())
    numbers = st.text("0123456789²٣ -+_", max_size=40).map(str.encode)
    signed = mutated(b"12345", b"12345 node-1.example 2026-11-22T22:31:50Z")
    yield Target("notes/lock", st.one_of(signed, numbers), on_file(_lock_owner), ())
