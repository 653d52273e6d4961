"""The readers by their names in the registry.

A new format of a downloaded set is a module beside this one, a line in ``READERS`` below, and its name in
``Reader`` of :mod:`svmrepro.datasets.registry.model`. If examples and labels are in separate files, the line
is in ``READERS_APART``, and the name also in ``APART``. Add a reader's own keys to ``DownloadedEntry.rules``
in that module, so that a changed key invalidates prepared arrays. The formats of a user's own files are in
:mod:`svmrepro.datasets.own_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray, sorted_csr
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._delimited import read_delimited
from svmrepro.datasets.readers._idx import read_idx, read_images
from svmrepro.datasets.readers._lyrl2004 import count_documents, count_topics, read_documents
from svmrepro.datasets.readers._matfile import read_splits
from svmrepro.datasets.readers._physics import read_physics
from svmrepro.datasets.readers.adult import AdultEncoder, read_adult
from svmrepro.datasets.readers.libsvm import read_libsvm
from svmrepro.datasets.registry import DownloadedEntry

READER_VERSION: Final = 1
"""Part of content keys and names of prepared files; incremented when a reader returns different arrays."""


def _delimited(path: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.columns is not None  # guaranteed by the registry
    data = read_delimited(path, features=entry.features, labels=entry.labels, columns=entry.columns)
    for j, (mean, spread) in enumerate(entry.standard):
        data.X[:, j] = (data.X[:, j] - mean) / spread
    return data


def _adult(path: Path, entry: DownloadedEntry) -> ExampleSet:
    records = read_adult(path)
    X = AdultEncoder.fit(records).encode(records)
    if X.shape[1] != entry.features:
        raise DataError(
            f"{path}: its quintiles give {X.shape[1]} columns where {entry.features} were expected"
        )
    return ExampleSet(X=X, y=records.y)


READERS: Final[dict[str, Callable[[Path, DownloadedEntry], ExampleSet]]] = {
    "libsvm": lambda path, entry: read_libsvm(path, features=entry.features, labels=entry.numeric_labels),
    "delimited": _delimited,
    "mat-splits": lambda path, entry: read_splits(
        path, variable=entry.variable or "", features=entry.features, labels=entry.numeric_labels
    ),
    "kdd04-physics": lambda path, entry: read_physics(
        path, features=entry.features, labels=entry.numeric_labels
    ),
    "uci-adult": _adult,
}


class Apart(NamedTuple):
    """The reader of a format with examples and labels in separate files."""

    read: Callable[[Sequence[Path], Path, DownloadedEntry], ExampleSet]
    # They check a single file and return the number of examples or labels in it.
    count_examples: Callable[[Path, DownloadedEntry], int]
    count_labels: Callable[[Path, DownloadedEntry], int]


def _images(examples: Sequence[Path], labels: Path, entry: DownloadedEntry) -> ExampleSet:
    if len(examples) != 1:
        raise DataError(f"{entry.name}: one file of images was expected, not {len(examples)}")
    return read_images(examples[0], labels, features=entry.features, signs=entry.numeric_labels)


READERS_APART: Final[dict[str, Apart]] = {
    "idx": Apart(
        _images, lambda path, entry: len(read_idx(path, 3)), lambda path, entry: len(read_idx(path, 1))
    ),
    "lyrl2004": Apart(
        lambda examples, labels, entry: read_documents(
            examples, labels, topic=entry.topic or "", features=entry.features
        ),
        lambda path, entry: count_documents(path, entry.features),
        lambda path, entry: count_topics(path),
    ),
}


def read_files(
    reader: str, examples: Sequence[Path], labels: Path | None, entry: DownloadedEntry
) -> ExampleSet:
    """Read the files of a training or test set, concatenated in the given order.

    ``reader`` is a key of ``READERS``, or of ``READERS_APART`` if there is a label file. The examples are an
    array if the entry says ``dense``, otherwise a CSR matrix. A fault raises a DataError that names the file.
    """
    if labels is not None:
        sets = [READERS_APART[reader].read(examples, labels, entry)]
    else:
        sets = [READERS[reader](path, entry) for path in examples]
    parts = [_as_asked(data.X, entry.dense) for data in sets]
    if len(sets) == 1:
        return ExampleSet(parts[0], sets[0].y)
    y = np.concatenate([data.y for data in sets])
    if entry.dense:
        return ExampleSet(np.concatenate(parts), y)
    X = sparse.vstack(parts, format="csr")
    X.has_sorted_indices = True
    return ExampleSet(X, y)


def _as_asked(X: FloatArray | sparse.csr_matrix, dense: bool) -> FloatArray | sparse.csr_matrix:
    if isinstance(X, np.ndarray):
        return X if dense else sorted_csr(X, X.shape)
    return X.toarray() if dense else X
