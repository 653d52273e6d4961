"""Data sets by name: downloaded, generated, or read from a user's own files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from svmrepro.datasets.dataset import Dataset, ExampleSet
from svmrepro.datasets.download.raw_files import Fetched, ensure_file, fetch_entry
from svmrepro.datasets.encodings import encoded
from svmrepro.datasets.errors import DataError, OneClassError
from svmrepro.datasets.files import sha256_of
from svmrepro.datasets.generators import generate, generator_key, is_whole
from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.datasets.own_files import SIGNS, Format, UserEntry, check_entry, read_own
from svmrepro.datasets.permutations import subset_rows
from svmrepro.datasets.prepared import read_stored
from svmrepro.datasets.readers.by_name import READER_VERSION
from svmrepro.datasets.registry import DownloadedEntry, GeneratedEntry, Label, Part, registry

if TYPE_CHECKING:
    from svmrepro.datasets.download.http import Network


Entry = DownloadedEntry | GeneratedEntry | UserEntry

_user_files: dict[str, UserEntry] = {}


def register_file(
    name: str,
    path: str | Path,
    *,
    labels: Mapping[Label, float] = SIGNS,
    features: int | None = None,
    format: Format | None = None,
    label: str = "last",
    test: str | Path | None = None,
) -> UserEntry:
    """Register a file as a data set, for this process.

    Parameters
    ----------
    name
        Name of the data set; registering it again replaces the file.
    path
        The file; it need not exist yet.
    labels
        Label in the file -> -1 or +1.
    features
        Number of columns; by default those of the file, in a LIBSVM file the largest index.
    format
        ``libsvm``, ``csv`` or ``npz``; by default ``.csv`` and ``.tsv`` are tables, ``.npz`` is ``npz``, and
        all others are LIBSVM files.
    label
        In a table, the column of the labels: its name in the header, ``first`` or ``last``.
    test
        A file with the test set; without a ``format``, its own suffix tells its format.

    Returns
    -------
    UserEntry
        The entry of the data set, which :func:`describe` then gives as well.

    Raises
    ------
    DataError
        The name is empty or taken by a set of the registry, the format is unknown, or the labels are not
        mapped to -1 and +1.
    """
    known = registry()
    if not name or name in known.downloaded or name in known.generated:
        raise DataError(f"data set {name!r}: the name is {'taken' if name else 'empty'}; choose another")
    entry = UserEntry(
        name, Path(path), dict(labels), features, format, label, None if test is None else Path(test)
    )
    check_entry(entry)
    _user_files[name] = entry
    return entry


def names() -> tuple[str, ...]:
    """Return the names of all data sets: downloaded, generated and registered by the user."""
    known = registry()
    return (*known.downloaded, *known.generated, *_user_files)


def describe(name: str) -> Entry:
    """Return the entry of a data set.

    Parameters
    ----------
    name
        One of :func:`names`.

    Returns
    -------
    DownloadedEntry, GeneratedEntry or UserEntry

    Raises
    ------
    DataError
        Unknown name; the message suggests a known one.
    """
    known = registry()
    for entries in (known.downloaded, known.generated, _user_files):
        if name in entries:
            return entries[name]
    raise DataError(f"unknown data set {name!r}{did_you_mean(name, names())}")


def is_generated(name: str) -> bool:
    """Tell whether the data set ``name`` comes from a generator."""
    return isinstance(describe(name), GeneratedEntry)


def resolve_size(name: str, n: int | None = None) -> int:
    """Translate a requested size into a number of rows.

    A size that a paper prints means the size of the corresponding file (11,221 -> 11,220); other sizes are
    returned unchanged.

    Parameters
    ----------
    name
        A data set.
    n
        The requested size; None means the whole set.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    DataError
        ``n`` is not a positive integer, is larger than the set, or is None for a generated set.
    """
    entry = describe(name)
    if n is None and isinstance(entry, GeneratedEntry):
        raise DataError(f"{name}: a generated set needs a number of rows")
    if n is not None and not is_whole(n, 1):
        raise DataError(f"{name}: n = {n!r}: the number of rows must be a positive integer")
    if isinstance(entry, GeneratedEntry):
        assert n is not None
        return int(n)
    if isinstance(entry, DownloadedEntry):
        what, available = "the set", entry.rows
        n = entry.aliases.get(int(n), n) if n is not None else n
    else:
        what, available = str(entry.path), len(read_own(entry).y)
    if n is not None and n > available:
        raise DataError(f"{name}: n = {n}: {what} has {available} rows")
    return available if n is None else int(n)


def _part(entry: DownloadedEntry, n: int | None, part: str) -> tuple[Part, int]:
    """Return the test set, or the smallest training set that is large enough, and how many rows to use."""
    if part != "test":
        rows = resolve_size(entry.name, n)
        return entry.training(rows), rows
    if entry.test is None:
        raise DataError(f"{entry.name}: the set has no test part")
    test = entry.parts[entry.test]
    return test, _test_rows(entry.name, n, test.rows, "the test set")


def _own_rows(entry: UserEntry, n: int | None, part: str) -> int:
    """Return how many rows of a user's training or test file to use."""
    if part != "test":
        return resolve_size(entry.name, n)
    return _test_rows(entry.name, n, len(read_own(entry, part).y), entry.test)


def _test_rows(name: str, n: int | None, available: int, what: object) -> int:
    """Return how many rows of a test set, called `what`, to use."""
    if n is not None and not (is_whole(n, 1) and n <= available):
        raise DataError(f"{name}: n = {n}: {what} has {available} rows")
    return available if n is None else int(n)


def load(
    name: str,
    n: int | None = None,
    *,
    seed: int = 0,
    part: Literal["train", "test"] = "train",
    encoding: str | None = None,
    data_dir: str | Path = "data",
    mirror: str | Path | None = None,
    download: bool = True,
) -> Dataset:
    """Load a data set, fetching its files if they are missing.

    Parameters
    ----------
    name
        One of :func:`names`.
    n
        Number of rows; None means the whole set, in the file's order. A size that a paper prints means the
        corresponding file. Any other size takes the first n rows of the next larger training set. If the
        registry gives a ``subset_seed``, they are drawn from that set; if it begins with the next smaller
        training set, those rows stay in front.
    seed
        Seed of a generated set.
    part
        ``"test"`` for the test set, if there is one; ``n`` then takes its first n rows.
    encoding
        One of :data:`ENCODINGS`, to replace the set's own encoding. It is computed from all rows of the
        training set from which the n rows are taken; for a generated set, from its n rows.
    data_dir
        Folder of the raw and prepared files.
    mirror
        Folder or http(s) prefix with files at ``<data set>/<file>``, tried before the hosts; by default the
        environment variable ``SVMREPRO_MIRROR``.
    download
        If False, only files on disk are used, never a mirror or a host.

    Returns
    -------
    Dataset
        ``X`` is a dense array (n, d) or a CSR matrix, as the registry says, ``y`` an array (n,) of -1 and +1;
        its provenance says where the rows come from.

    Raises
    ------
    DatasetUnavailable
        No source provides the file.
    DataError
        Unknown name or encoding, an encoding requested for a test set, ``n`` larger than the set, rows of one
        class only, or invalid content.
    """
    entry = describe(name)
    if encoding is not None and part != "train":
        raise DataError(f"{name}: encodings are made from training rows; there are none of the test part")
    encoding_fact = {} if encoding is None else {"encoding": encoding}
    if isinstance(entry, GeneratedEntry):
        if part != "train":
            raise DataError(f"{name}: a generated set has no test part; take another seed")
        made = generate(entry.generator, resolve_size(name, n), seed, name=name, positives=entry.positives)
        provenance = {**made.provenance, **encoding_fact}
        return replace(made, X=encoded(made, encoding).X, provenance=provenance)
    origins: dict[str, object]
    if isinstance(entry, UserEntry):
        file = entry.file(part)
        rows = _own_rows(entry, n, part)
        own = encoded(read_own(entry, part), encoding)
        # Later calls share the arrays of `read_own`.
        own = ExampleSet(X=own.X[:rows].copy(), y=own.y[:rows].copy())
        origins = {"files": [file.name], "sha256": sha256_of(file), "origin": "a user's file"}
        return _dataset(entry.name, own, rows, n, "the first n rows of the file", origins | encoding_fact)

    subset, rows = _part(entry, n, part)
    stored = {file: ensure_file(entry, file, data_dir, mirror, download=download) for file in subset.files}
    data = encoded(read_stored(entry, subset, stored, data_dir), encoding)
    which = f"all rows of {subset.name}" if rows == subset.rows else f"the first {rows} rows of {subset.name}"
    if part == "train" and rows < subset.rows and entry.subset_seed is not None:
        data, more = _drawn(entry, subset, data, rows, entry.subset_seed)
        which = f"{rows} rows of {subset.name}, {more}" if entry.subsets_apart else f"{which} {more}"
    origins = {"files": [*stored]}
    for fact in ("sha256", "origin"):
        values = [getattr(file, fact) for file in stored.values()]
        origins[fact] = values if len(values) > 1 else values[0]
    return _dataset(name, data, rows, n, which, origins | encoding_fact)


def _drawn(
    entry: DownloadedEntry, subset: Part, data: ExampleSet, rows: int, seed: int
) -> tuple[ExampleSet, str]:
    """Return the examples that a seed draws from a training set, and how."""
    if entry.subsets_apart:
        chosen = np.sort(subset_rows(rows, subset.rows, seed))
        how = f"drawn by seed {seed}, in the file's order"
    else:
        # The rows of the next smaller training set stay in front.
        fixed = max((size for name in entry.subsets if (size := entry.parts[name].rows) <= rows), default=0)
        chosen = fixed + subset_rows(rows - fixed, subset.rows - fixed, seed)
        chosen = np.concatenate([np.arange(fixed), chosen])
        how = f"as permuted by seed {seed}" + (f" after the first {fixed}" if fixed else "")
    return ExampleSet(X=data.X[chosen], y=data.y[chosen]), how


def _dataset(
    name: str, data: ExampleSet, rows: int, n: int | None, which: str, provenance: Mapping[str, object]
) -> Dataset:
    X, y = data.X, data.y
    if rows < len(y):
        X, y = X[:rows].copy(), y[:rows].copy()
    if not isinstance(X, np.ndarray):
        X.has_sorted_indices = True
    if np.all(y == y[0]):
        advice = "; put the rows into a random order" if name in _user_files else ""
        raise OneClassError(f"{name}: n = {rows}: {which}: one class only{advice}")
    facts = {**provenance, "reader_version": READER_VERSION, "rows": which}
    facts |= {"n_requested": rows if n is None else int(n), "n_actual": rows}
    return Dataset(X=X, y=y, name=name, provenance=facts)


def fetch(
    name: str,
    data_dir: str | Path = "data",
    mirror: str | Path | None = None,
    *,
    network: Network | None = None,
) -> Fetched:
    """Fetch and verify the raw files of a data set; a generated set has none.

    Parameters
    ----------
    name
        One of :func:`names`.
    data_dir, mirror
        See :func:`load`. Files are stored in ``<data_dir>/raw/<name>/``; valid ones there are not fetched
        again.
    network
        A connection with other limits, for tests.

    Returns
    -------
    Fetched
        The files, and those that no source provided, with the reasons.

    Raises
    ------
    DatasetUnavailable
        No file could be fetched.
    DataError
        Unknown name, or a folder that cannot be written.
    """
    entry = describe(name)
    if isinstance(entry, GeneratedEntry):
        return Fetched(name, {}, {})
    if isinstance(entry, UserEntry):
        for part in entry.parts:
            read_own(entry, part)
        return Fetched(name, {part: entry.file(part) for part in entry.parts}, {})
    return fetch_entry(entry, data_dir, mirror, network=network)


def content_key(
    name: str, n: int | None = None, seed: int = 0, *, part: Literal["train", "test"] = "train"
) -> str:
    """Identify the arrays that :func:`load` returns.

    No data are needed on disk, because checksums come from the registry; only a user's own file is read, for
    its SHA-256. The key is that of the set's own encoding. For a file with several accepted forms it contains
    the first one. Two forms may order the same rows differently; the provenance of the loaded data says which
    form was read. The key lacks the registry's ``skip`` and ``subsets``, and ``dense`` of a set without
    reading rules: after a change of these, increment ``READER_VERSION``.

    Parameters
    ----------
    name, n, seed, part
        See :func:`load`.

    Returns
    -------
    str
        It changes with the files, the rules of reading them, ``n``, ``seed`` and ``part``.

    Raises
    ------
    DataError
        If the set has no test part, or fewer rows than n; or a user's own file cannot be read.
    """
    entry = describe(name)
    if isinstance(entry, GeneratedEntry):
        if part == "test":
            raise DataError(f"{name}: the set has no test part")
        return generator_key(entry.generator, resolve_size(name, n), seed, entry.positives)
    if isinstance(entry, UserEntry):
        rows = _own_rows(entry, n, part)
        what = f"user-file={sha256_of(entry.file(part))};{entry.rules}"
        X = read_own(entry, part).X
        if part == "test" and not isinstance(X, np.ndarray):
            what += f";columns={X.shape[1]}"  # of the training file, which may have more than this one
    else:
        subset, rows = _part(entry, n, part)
        what = _files_key(entry, subset)
        if part == "train" and entry.subset_seed is not None and rows < subset.rows:
            what += f";subset_seed={entry.subset_seed}"
    if part == "test":
        what += ";part=test"
    return f"{what};reader={READER_VERSION};n={rows}"


def _files_key(entry: DownloadedEntry, part: Part) -> str:
    """Return the registry's checksums of a part's files and the digest of its reading rules."""
    files = [entry.files[file] for file in part.files]
    known = ",".join(
        form.sha256 or form.wrapper_sha256 or f"unknown, {file.rows} rows"
        for file in files
        for form in file.forms[:1]
    )
    rules = f";rules={entry.rules}" if entry.rules else ""
    return f"file={entry.name}/{part.name};sha256={known}{rules}"
