"""Row-by-row comparison of our encoding of the Adult census data with LIBSVM's a9a."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.download.raw_files import ensure_file
from svmrepro.datasets.prepared import read_stored
from svmrepro.datasets.readers.adult import MISSING, AdultEncoder, AdultRecords, describe_bins, read_adult
from svmrepro.datasets.registry import DownloadedEntry, registry

ComparisonRow = dict[str, str | int]


def compare_encoding(data_dir: str | Path = "data", mirror: str | Path | None = None) -> list[ComparisonRow]:
    """Compare our encoding of adult.data with a9a, and of adult.test with a9a.t (123 columns each).

    Row i of a9a is row i of adult.data. Both parts use the quintiles of adult.data.

    Parameters
    ----------
    data_dir, mirror
        As for :func:`svmrepro.datasets.load`.

    Returns
    -------
    list of dict
        For each pair of files (``part``), one row per ``attribute`` and one for all attributes and the label.
        Keys: ``columns_ours``, our number of columns; ``columns_a9a``, how many of these columns are
        non-zero somewhere in a9a; ``rows``; ``rows_agreeing``, rows in which all bits of the attribute agree;
        ``note``, the bins or the number of rows with a missing value.

    Raises
    ------
    DatasetUnavailable, DataError
        One of the four files is not available, or its content is not as expected.
    """
    entry = registry().downloaded["adult"]
    encoder: AdultEncoder | None = None
    table: list[ComparisonRow] = []
    for ours, theirs in (("adult.data", "a9a"), ("adult.test", "a9a.t")):
        raw = ensure_file(entry, ours, data_dir, mirror)
        records = read_adult(raw.path)
        encoder = encoder or AdultEncoder.fit(records)
        stored = ensure_file(_without_our_encoding(entry, theirs), theirs, data_dir, mirror)
        data = read_stored(entry, entry.parts[theirs], {theirs: stored}, data_dir)
        table += compare_columns(encoder, records, data, f"{ours} and {theirs}")
    return table


def _without_our_encoding(entry: DownloadedEntry, name: str) -> DownloadedEntry:
    """Return the entry without the forms of a file that our own encoder reads: a comparison with itself."""
    file = entry.files[name]
    forms = tuple(form for form in file.forms if form.reader is None)
    sources = tuple(source for source in file.sources if source.form.reader is None)
    return replace(entry, files={**entry.files, name: replace(file, forms=forms, sources=sources)})


def compare_columns(
    encoder: AdultEncoder, records: AdultRecords, other: ExampleSet, part: str
) -> list[ComparisonRow]:
    """Compare encoded rows with another encoding of the same rows, attribute by attribute."""
    mine = encoder.encode(records)
    rows = mine.shape[0]
    if len(other.y) != rows:
        raise ValueError(f"{part}: {rows} rows against {len(other.y)}")
    columns = max(mine.shape[1], other.X.shape[1])
    left, right = (
        sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(rows, columns))
        for X in (mine, sparse.csr_matrix(other.X))
    )
    differing = (left != right).astype(np.int64).tocsc()
    used = np.asarray(right.getnnz(axis=0)) > 0

    found: list[tuple[str, int, int, int, str]] = []
    first = 0
    for name, width in encoder.widths().items():
        block = slice(first, first + width)
        first += width
        agreeing = rows - int((differing[:, block].getnnz(axis=1) > 0).sum())
        found.append((name, width, int(used[block].sum()), agreeing, _note(encoder, records, name)))
    same = (differing.getnnz(axis=1) == 0) & (records.y == other.y)
    agreeing = int(same.sum())
    note = "bits and labels are the same" if agreeing == rows else f"{rows - agreeing} rows differ"
    found.append(("all, and the label", mine.shape[1], int(used.sum()), agreeing, note))
    return [
        {
            "part": part,
            "attribute": attribute,
            "columns_ours": ours,
            "columns_a9a": theirs,
            "rows": rows,
            "rows_agreeing": agreeing,
            "note": note,
        }
        for attribute, ours, theirs, agreeing, note in found
    ]


def _note(encoder: AdultEncoder, records: AdultRecords, name: str) -> str:
    if name in encoder.edges:
        return f"quintiles: {describe_bins(encoder.edges[name])}"
    missing = int((records.columns[name] == MISSING).sum())
    return f"one-hot; {missing} rows without a value set no bit" if missing else "one-hot"
