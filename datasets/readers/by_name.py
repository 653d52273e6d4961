"""The readers by their names in the registry.

Each returns the examples as a CSR matrix, or as an array if the entry says ``dense``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers.adult import AdultEncoder, read_adult
from svmrepro.datasets.readers.delimited import read_delimited
from svmrepro.datasets.readers.idx import count_images, count_labels, read_images
from svmrepro.datasets.readers.libsvm import read_libsvm
from svmrepro.datasets.readers.lyrl2004 import count_documents, count_topics, read_documents
from svmrepro.datasets.readers.matfile import read_splits
from svmrepro.datasets.readers.physics import read_physics
from svmrepro.datasets.registry.model import DownloadedEntry

READER_VERSION: Final = 1
"""Part of content keys and names of prepared files; incremented when a reader returns different arrays."""


def _as_asked(data: ExampleSet, entry: DownloadedEntry) -> ExampleSet:
    """Return the examples as an array if the entry says ``dense``, otherwise as a CSR matrix."""
    X = data.X
    if isinstance(X, np.ndarray) == entry.dense:
        return data
    if not isinstance(X, np.ndarray):
        return ExampleSet(X=X.toarray(), y=data.y)
    rows = sparse.csr_matrix(X)
    rows.has_sorted_indices = True
    return ExampleSet(X=rows, y=data.y)


def _libsvm(path: Path, entry: DownloadedEntry) -> ExampleSet:
    return _as_asked(read_libsvm(path, features=entry.features, labels=entry.numeric_labels), entry)


def _delimited(path: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.columns is not None  # guaranteed by the registry
    data = read_delimited(path, features=entry.features, labels=entry.labels, columns=entry.columns)
    for j, (mean, spread) in enumerate(entry.standard):
        data.X[:, j] = (data.X[:, j] - mean) / spread
    return _as_asked(data, entry)


def _splits(path: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.variable is not None  # guaranteed by the registry
    labels = entry.numeric_labels
    data = read_splits(path, variable=entry.variable, features=entry.features, labels=labels)
    return _as_asked(data, entry)


def _physics(path: Path, entry: DownloadedEntry) -> ExampleSet:
    return _as_asked(read_physics(path, features=entry.features, labels=entry.numeric_labels), entry)


def _adult(path: Path, entry: DownloadedEntry) -> ExampleSet:
    records = read_adult(path)
    X = AdultEncoder.fit(records).encode(records)
    if X.shape[1] != entry.features:
        raise DataError(
            f"{path}: its quintiles give {X.shape[1]} columns where {entry.features} were expected"
        )
    return ExampleSet(X=X, y=records.y)


READERS: Final[dict[str, Callable[[Path, DownloadedEntry], ExampleSet]]] = {
    "libsvm": _libsvm,
    "delimited": _delimited,
    "mat-splits": _splits,
    "kdd04-physics": _physics,
    "uci-adult": _adult,
}


class Apart(NamedTuple):
    """The reader of a format with examples and labels in separate files.

    Attributes
    ----------
    read
        Returns the arrays of the example files, in the given order, and the label file.
    count_examples, count_labels
        Check a single file and return the number of examples or labels in it.
    """

    read: Callable[[Sequence[Path], Path, DownloadedEntry], ExampleSet]
    count_examples: Callable[[Path, DownloadedEntry], int]
    count_labels: Callable[[Path, DownloadedEntry], int]


def _images(examples: Sequence[Path], labels: Path, entry: DownloadedEntry) -> ExampleSet:
    if len(examples) != 1:
        raise DataError(f"{entry.name}: one file of images was expected, not {len(examples)}")
    data = read_images(examples[0], labels, features=entry.features, signs=entry.numeric_labels)
    return _as_asked(data, entry)


def _documents(examples: Sequence[Path], labels: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.topic is not None  # guaranteed by the registry
    data = read_documents(examples, labels, topic=entry.topic, features=entry.features)
    return _as_asked(data, entry)


READERS_APART: Final[dict[str, Apart]] = {
    "idx": Apart(_images, lambda path, entry: count_images(path), lambda path, entry: count_labels(path)),
    "lyrl2004": Apart(
        _documents,
        lambda path, entry: count_documents(path, entry.features),
        lambda path, entry: count_topics(path),
    ),
}


def read_files(
    reader: str, examples: Sequence[Path], labels: Path | None, entry: DownloadedEntry
) -> ExampleSet:
    """Read the files of a training or test set.

    Parameters
    ----------
    reader
        A key of ``READERS``, or of ``READERS_APART`` if there is a label file.
    examples
        Example files, concatenated in this order.
    labels
        The label file, for formats with separate labels.
    entry
        The registry's description of the data set.

    Raises
    ------
    DataError
        Invalid content; one line that names the file.
    """
    if labels is not None:
        return READERS_APART[reader].read(examples, labels, entry)
    sets = [READERS[reader](path, entry) for path in examples]
    if len(sets) == 1:
        return sets[0]
    y = np.concatenate([data.y for data in sets])
    if entry.dense:
        return ExampleSet(X=np.concatenate([data.X for data in sets]), y=y)
    X = sparse.vstack([data.X for data in sets], format="csr")
    X.has_sorted_indices = True
    return ExampleSet(X=X, y=y)
