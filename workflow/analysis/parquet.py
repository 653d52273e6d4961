"""Result tables with typed columns, written as Parquet beside the CSV.

Only the step ``collect`` imports this module, once per paper. Importing pandas takes half a second, which
every step that makes a table or figure would otherwise pay.
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
"""Column name or prefix of it -> type; the longest match applies. All other columns are text."""

_INFERRED = ("options", "info")
"""Groups of columns that differ between solvers; pandas infers their types."""


def typed(text: str) -> pd.DataFrame:
    """Parse ``measurements.csv``, ``fits.csv`` or ``ratios.csv`` with typed columns.

    The columns are pandas' nullable integers, floats, booleans and strings; empty fields are missing values.
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
    """Write a result table, given as CSV, as Parquet with typed columns."""
    typed(text).to_parquet(path, index=False)


def _type_of(column: str) -> str | None:
    name, group = column, column.partition(".")[0]
    while name not in _TYPES and name != group:
        name = name.rpartition(".")[0]
    return _TYPES.get(name, None if group in _INFERRED else "string")
