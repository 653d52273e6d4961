"""MATLAB files that store the examples of a benchmark once, and its splits as indices.

Each set is a structure with the fields ``x`` (n, d), ``t`` (n labels), ``train`` and ``test``. Each row of
``train`` and ``test`` is a split, given as one-based row numbers of ``x``. Raetsch's benchmark has this
format.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError, short_reason
from svmrepro.datasets.readers._parsing import brief, map_labels, refuse_one_class

FIELDS: Final = ("x", "t", "train", "test")


def read_splits(
    path: str | Path, *, variable: str, features: int, labels: Mapping[float, float]
) -> ExampleSet:
    """Read a whole set: the training part of its first split, followed by the test part.

    ``variable`` names the structure, in a file of versions 5 to 7. ``labels`` maps a label in ``t`` to -1 or
    +1; any other label is an error. A fault raises a DataError, ``file: variable: what``.
    """
    fields = _structure(path, variable)
    where = f"{path}: {variable}"
    x = _numbers(fields["x"], f"{where}.x")
    t = _numbers(fields["t"], f"{where}.t").ravel()
    if x.shape[1] != features:
        raise DataError(f"{where}.x: {x.shape[1]} columns where {features} were expected")
    if len(t) != len(x):
        raise DataError(f"{where}.t: {len(t)} labels for {len(x)} examples")
    parts = [_first_split(fields[name], len(x), f"{where}.{name}") for name in ("train", "test")]
    # Concatenated, not sorted: a position may occur twice, because the file stores equal examples once.
    order = np.concatenate(parts)
    X, raw = np.ascontiguousarray(x[order]), t[order]
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        raise DataError(f"{where}.x: row {order[bad[0]] + 1}: a value is not finite")
    y = map_labels(raw, labels, f"{where}.t: row ", order + 1)
    refuse_one_class(y, f"{where}.t", f"label {brief(raw[0])}")
    return ExampleSet(X=X, y=y)


def _structure(path: str | Path, variable: str) -> Mapping[str, npt.NDArray[Any]]:
    from scipy.io import loadmat  # imported here to keep `import svmrepro.datasets` light

    content = BytesIO(Path(path).read_bytes())
    try:
        value = loadmat(content, variable_names=[variable]).get(variable)
    except Exception as error:  # on damaged bytes the parser may raise any error
        raise DataError(f"{path}: not a readable MATLAB file: {short_reason(error)}") from error
    if value is None:
        raise DataError(f"{path}: it holds no variable {variable!r}")
    if not isinstance(value, np.ndarray) or value.size != 1 or value.dtype.names is None:
        raise DataError(f"{path}: {variable}: a structure was expected")
    absent = [name for name in FIELDS if name not in value.dtype.names]
    if absent:
        raise DataError(f"{path}: {variable}: the field {absent[0]!r} is missing")
    record = value.reshape(())[()]
    return {name: record[name] for name in FIELDS}


def _numbers(value: object, where: str) -> FloatArray:
    """Return a matrix of real numbers as doubles; MATLAB stores whole numbers as small integers."""
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "iuf":
        raise DataError(f"{where}: a matrix of real numbers was expected")
    if value.size == 0:
        raise DataError(f"{where}: it is empty")
    return value.astype(np.float64)


def _first_split(value: object, rows: int, where: str) -> npt.NDArray[np.int64]:
    """Return the zero-based positions of the first split."""
    positions = _numbers(value, where)[0]
    bad = np.flatnonzero(~((positions >= 1) & (positions <= rows) & (positions == np.floor(positions))))
    if bad.size:
        raise DataError(f"{where}: {brief(positions[bad[0]])} is not a position among {rows} examples")
    order: npt.NDArray[np.int64] = positions.astype(np.int64) - 1
    return order
