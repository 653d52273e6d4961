"""Tables of results with typed columns, as Parquet beside the CSV.

The step ``collect`` alone imports this module, once a paper: importing pandas takes half a second, which the
steps that run for every table and figure would pay each time.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd

_INTEGERS = (
    "schema", "n", "n_paper", "seed", "repeat", "iterations", "kernel_evaluations", "peak_memory_bytes",
    "work", "certificate.n_bound", "certificate.n_nonbound", "certificate.sampled", "machine.cores",
    "machine.threads", "machine.memory_bytes", "machine.thread_settings", "points", "pairs",
)  # fmt: skip
_FLOATS = (
    "point", "C", "eps", "kernel", "time_limit", "memory_limit_mb", "cpu_seconds", "wall_seconds",
    "certificate", "performance", "load_before", "load_after", "exponent", "low", "high", "intercept",
    "n_min", "n_max", "ratio",
)  # fmt: skip
_BOOLEANS = ("flagged", "bias", "certificate.passed")
_TEXTS = ("certificate.promise", "kernel.name")
_TYPES = {
    **dict.fromkeys(_INTEGERS, "Int64"),
    **dict.fromkeys(_FLOATS, "Float64"),
    **dict.fromkeys(_BOOLEANS, "boolean"),
    **dict.fromkeys(_TEXTS, "string"),
}
"""Column, or the first parts of its name -> type; the longest name counts. Other columns are text."""

_INFERRED = ("options", "info")
"""Groups of columns that differ from solver to solver: their values tell the type."""


def typed(text: str) -> pd.DataFrame:
    """Return a table of results with the types of its columns.

    Parameters
    ----------
    text : str
        ``measurements.csv``, ``fits.csv`` or ``ratios.csv``.

    Returns
    -------
    DataFrame, shape (rows, columns)
        Integers, floats, booleans and strings of pandas' nullable types; an empty field is missing.
    """
    header = next(csv.reader(io.StringIO(text)))
    types = {column: found for column in header if (found := _type_of(column))}
    return pd.read_csv(
        io.StringIO(text),
        dtype=types,
        keep_default_na=False,
        na_values=[""],
        dtype_backend="numpy_nullable",
        low_memory=False,
    )


def write_parquet(text: str, path: Path) -> None:
    """Write a table of results, given as CSV, with typed columns."""
    typed(text).to_parquet(path, index=False)


def _type_of(column: str) -> str | None:
    parts = column.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in _TYPES:
            return _TYPES[name]
    return None if parts[0] in _INFERRED else "string"
