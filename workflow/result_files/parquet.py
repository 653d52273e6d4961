"""Result tables with typed columns, written as Parquet beside the CSV.

The file's own schema tells the meaning and the unit of each column, from `measurement_columns`, and the
licence, as metadata of fields and of the schema.

Only steps that write or read such files import this module. Importing pandas takes half a second, which every
step that makes a table or figure would otherwise pay.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.result_files.measurement_columns import FLOAT, INTEGER, LICENCE, TEXT, field_of

MOST_ROWS = 1_000_000
"""Largest number of rows that is read: a few bytes can stand for a thousand million equal ones."""

_ESTIMATES = {
    **dict.fromkeys(("points", "pairs"), INTEGER),
    **dict.fromkeys(("exponent", "low", "high", "intercept", "n_min", "n_max", "ratio"), FLOAT),
}
"""Types of those columns of ``fits.csv`` and ``ratios.csv`` that measurements do not have."""


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
    """Write a result table, given as CSV, as Parquet with typed and described columns."""
    table = pa.Table.from_pandas(typed(text), preserve_index=False)
    fields = [field.with_metadata(_described(field.name)) for field in table.schema]
    described = {**(table.schema.metadata or {}), b"licence": LICENCE.encode(), b"creator": b"svmrepro"}
    pq.write_table(table.cast(pa.schema(fields, metadata=described)), path, compression="zstd")


def read_table(path: Path, wanted: Callable[[str], bool] = lambda column: True) -> pa.Table:
    """Return the wanted columns of a Parquet file; any other file raises a StepError, as do too many rows."""
    try:
        rows = pq.read_metadata(path).num_rows
        if rows > MOST_ROWS:
            raise StepError(f"{path}: has {rows:,} rows, more than {MOST_ROWS:,}")
        return pq.read_table(path, columns=[each for each in pq.read_schema(path).names if wanted(each)])
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise StepError(f"{path}: is not a Parquet file: {one_line(error)}") from None


def read_parquet(path: Path, wanted: Callable[[str], bool] = lambda column: True) -> str:
    """Return the wanted columns of a file of `write_parquet` as CSV; any other file raises a StepError."""
    table = read_table(path, wanted)
    try:
        # As strings, truth values are true and false.
        columns = [
            (each.cast(pa.string()) if pa.types.is_boolean(each.type) else each).to_pylist()
            for each in table.columns
        ]
    except ValueError as error:
        raise StepError(f"{path}: is not a file of results: {one_line(error)}") from None
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _described(column: str) -> dict[str, str]:
    field = field_of(column)
    return {} if field is None else {"description": field.meaning, "unit": field.unit}


def _type_of(column: str) -> str:
    field = field_of(column)
    return _ESTIMATES.get(column, TEXT) if field is None else field.type
