"""What the registry says of a data set, as plain frozen records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SUFFIXES: Final = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "compress": ".Z"}
"""Wrappers that a file may come in, and the suffix of each."""

APART: Final = frozenset({"idx", "lyrl2004"})
"""Readers of formats in which examples and labels stand in files of their own."""

Label = float | str
"""A label as it stands in a file: a number in any spelling, or a text."""


@dataclass(frozen=True)
class Columns:
    """How a line of a comma-separated file is taken apart.

    Attributes
    ----------
    label
        Where the label stands, ``"first"`` or ``"last"``.
    values
        Texts in place of numbers and the number of each, in mappings that the columns take in turn; none:
        the file holds numbers.
    missing
        What stands for a missing value; rows that have it are left out.
    """

    label: str = "last"
    values: tuple[Mapping[str, float], ...] = ()
    missing: str | None = None


@dataclass(frozen=True)
class Form:
    """One form in which a file is accepted: its name, its wrapper, and how its content is recognised."""

    file: str
    compression: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    rows_sha256: str | None = None
    max_bytes: int | None = None
    reader: str | None = None
    wrapper_sha256: str | None = None

    @property
    def stored(self) -> str:
        """Name under which the content is kept: the file's own, without the wrapper's suffix."""
        return self.file.removesuffix(SUFFIXES[self.compression]) if self.compression else self.file

    @property
    def limit(self) -> int:
        """Most bytes that the content may have."""
        if self.max_bytes is not None:
            return self.max_bytes
        assert self.bytes is not None  # _form sees to it
        # The same rows in another spelling may be a little longer.
        return 2 * self.bytes if self.rows_sha256 else self.bytes


@dataclass(frozen=True)
class Source:
    """A URL that provides one form of a file, whole or as a member of a zip archive."""

    url: str
    form: Form
    member: str | None = None
    limit: int | None = None


@dataclass(frozen=True)
class FileEntry:
    """One raw file of a data set; ``rows`` is None where it is no whole set of examples or labels."""

    name: str
    rows: int | None
    positives: int | None
    forms: tuple[Form, ...]
    sources: tuple[Source, ...]
    between: tuple[str, str] | None = None


@dataclass(frozen=True)
class Part:
    """A training or test set of a data set.

    Attributes
    ----------
    name
        The file's, where it is one file.
    rows, positives
        Examples, and how many of them are labelled +1, where that is known.
    examples
        Files whose examples follow one another.
    labels
        The file that holds their labels, where they stand apart.
    skip
        Examples at the beginning that are not its own.
    whole
        Examples of its files together.
    """

    name: str
    rows: int
    positives: int | None
    examples: tuple[str, ...]
    labels: str | None
    skip: int
    whole: int

    @property
    def files(self) -> tuple[str, ...]:
        """All files that it needs."""
        return self.examples if self.labels is None else (*self.examples, self.labels)

    def begins(self, other: Part) -> bool:
        """Return whether its examples are the first of the other's."""
        same = other.examples[: len(self.examples)] == self.examples and self.labels == other.labels
        return same and self.skip == other.skip and self.rows <= other.rows


@dataclass(frozen=True)
class DownloadedEntry:
    """A data set that is downloaded; ``datasets/registry/parse.py`` says what each key means."""

    name: str
    title: str
    licence: str
    citation: str
    mirror: str
    reader: str
    features: int
    binary: bool
    labels: Mapping[Label, float | None]
    drawn: str
    subsets: tuple[str, ...]
    test: str | None
    aliases: Mapping[int, int]
    files: Mapping[str, FileEntry]
    parts: Mapping[str, Part]
    dense: bool = False
    columns: Columns | None = None
    variable: str | None = None
    subset_seed: int | None = None
    topic: str | None = None
    standard: tuple[tuple[float, float], ...] = ()
    obtain: str | None = None

    @property
    def rows(self) -> int:
        """Rows of the largest training set."""
        return self.parts[self.subsets[-1]].rows

    @property
    def numeric_labels(self) -> dict[float, float]:
        """The labels of a set in which all are numbers and none is left out."""
        return {
            given: sign
            for given, sign in self.labels.items()
            if not isinstance(given, str) and sign is not None
        }

    @property
    def rules(self) -> str:
        """Digest of the rules by which a general reader makes arrays of the file.

        Empty for a format that leaves nothing to rules; then file and reader version say it all.
        """
        if self.columns is None and self.variable is None and self.reader not in APART:
            return ""
        what: tuple[object, ...] = (self.features, self.dense, self.labels, self.columns, self.variable)
        # Only where they are given: digests of sets that have none stay what they were.
        what += (self.topic,) if self.topic else ()
        what += (self.standard,) if self.standard else ()
        return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class GeneratedEntry:
    """A data set that is generated from a seed."""

    name: str
    title: str
    citation: str
    generator: str
    features: int
    binary: bool = False
    positives: float | None = None


@dataclass(frozen=True)
class Registry:
    """All known data sets."""

    downloaded: Mapping[str, DownloadedEntry]
    generated: Mapping[str, GeneratedEntry]
