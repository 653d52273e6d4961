"""Reading the rows of result files, which may come from elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path
from typing import TextIO

from svmrepro.workflow.errors import StepError, reading_table
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.field_types import FieldType

csv.field_size_limit(1 << 28)  # a field holds what a solver reported, such as the cells of a grid


def every(column: str) -> bool:
    """Want every column."""
    return True


def _opened(path: Path, wanted: Callable[[str], bool]) -> TextIO:
    if path.suffix != ".parquet":
        return path.open(newline="", encoding="utf-8-sig")  # also as Excel writes it
    from svmrepro.workflow.result_files.parquet import read_parquet  # it loads pandas

    return io.StringIO(read_parquet(path, wanted))


def read_rows(
    path: Path,
    required: Sequence[str] = (),
    form: FieldType = field_types.ANY,
    wanted: Callable[[str], bool] = every,
) -> list[dict[str, str]]:
    """Read the wanted columns of one of this project's CSV files, or of the Parquet file written beside it.

    A file that lacks a required column or has an invalid row raises a StepError: ``file:line: column: what``.
    """
    with reading_table(path), _opened(path, wanted) as handle:
        reader = csv.reader(handle)
        columns = next(reader, [])
        lacking = [name for name in required if name not in columns]
        if lacking:
            raise StepError(f"{path}: no column '{lacking[0]}'")
        if len(set(columns)) < len(columns):
            raise StepError(f"{path}:1: two columns have the same name")
        chosen = [wanted(column) for column in columns]
        kept = list(compress(columns, chosen))
        checks = {column: kind for column in kept if (kind := form.kind_of(column)) is not None}
        rows: list[dict[str, str]] = []
        seen: set[tuple[object, ...]] = set()
        for fields in filter(None, reader):  # without empty lines
            where = f"{path}:{reader.line_num}"
            if len(fields) != len(columns):
                raise StepError(f"{where}: {len(columns)} columns expected")
            row = dict(zip(kept, compress(fields, chosen), strict=True))
            values: dict[str, object] = dict(row)
            column = ""
            try:
                for column, kind in checks.items():
                    values[column] = kind(row[column])
            except ValueError as error:
                raise StepError(f"{where}: {column}: {error}") from None
            try:
                form.whole(row)
            except ValueError as error:
                raise StepError(f"{where}: {error}") from None
            if form.unique:
                # By value: 0 and 0.0 are the same repeat.
                identity = tuple(values.get(column) for column in form.unique)
                if identity in seen:
                    texts = [row.get(column, "") for column in form.unique]
                    raise StepError(f"{where}: a second row for {field_types.told(form.unique, texts)}")
                seen.add(identity)
            rows.append(row)
        return rows
