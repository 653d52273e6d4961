"""The registry's entries as msgspec records; msgspec checks types and keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from svmrepro.datasets.input_checks import pattern

SUFFIXES: Final = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "compress": ".Z"}
"""Compression formats and their file suffixes."""

Reader = Literal["libsvm", "delimited", "mat-splits", "kdd04-physics", "uci-adult", "idx", "lyrl2004"]
"""The names of the readers in :mod:`svmrepro.datasets.readers.by_name`."""

APART: Final = frozenset({"idx", "lyrl2004"})
"""Readers of formats with examples and labels in separate files."""

_PLAIN_LABELS: Final = ({-1.0: -1.0, 1.0: 1.0}, {0.0: -1.0, 1.0: 1.0})

Label = float | str
"""A label in a file: a number in any spelling, or a text."""

# Names become file names, so they must not be able to leave the data folder.
Name = Annotated[str, pattern(r"^[A-Za-z0-9][A-Za-z0-9._+-]*\Z", "is not a plain file name")]
Text = Annotated[str, pattern(r"\S", "is not a text")]
Field = Annotated[str, pattern(r"^(?!\s)[^,]+(?<!\s)\Z", "is not a text without commas and outer blanks")]
Sha = Annotated[str, pattern(r"^[0-9a-f]{64}\Z", "is not a sha256 in lower-case hexadecimal")]
Count = Annotated[int, Meta(ge=1)]


class Keys(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping in ``registry.yaml``."""


Table = Annotated[dict[str | int, float], Meta(min_length=1)]


class Columns(Keys, frozen=True):
    """How the lines of a comma-separated file are parsed."""

    label: Literal["first", "last"] = "last"  # the position of the label
    # Text -> number: one mapping for all columns, or several that the columns use in rotation.
    values: Table | Annotated[tuple[Table, ...], Meta(min_length=1)] = ()
    missing: Field | None = None  # text of a missing value; rows that contain it are omitted

    @property
    def tables(self) -> tuple[dict[str, float], ...]:
        """The mappings of texts to numbers; YAML reads the text 1 as a number."""
        tables = (self.values,) if isinstance(self.values, dict) else self.values
        return tuple({str(text): number for text, number in table.items()} for table in tables)


class FileForm(Keys, frozen=True):
    """An accepted form of a file: its name, its compression, and how its content is recognised."""

    file: Name = ""
    compression: Literal["gzip", "bzip2", "xz", "compress"] | None = None
    bytes: Count | None = None
    sha256: Sha | None = None
    rows_sha256: Sha | None = None
    max_bytes: Count | None = None
    reader: Reader | None = None
    wrapper_sha256: Sha | None = None

    @property
    def stored(self) -> str:
        """File name of the decompressed content: the name without the compression's suffix."""
        return self.file.removesuffix(SUFFIXES[self.compression]) if self.compression else self.file

    @property
    def limit(self) -> int:
        """Maximum size of the content, in bytes."""
        if self.max_bytes is not None:
            return self.max_bytes
        assert self.bytes is not None  # guaranteed by parse
        # The same rows may be somewhat longer with other white space.
        return 2 * self.bytes if self.rows_sha256 else self.bytes


class FileSource(Struct, frozen=True):
    """A URL that provides one form of a file, whole or as a member of a zip archive."""

    url: str
    form: FileForm
    member: str | None = None


class SourceKeys(Keys, frozen=True):
    """The keys of a source."""

    url: Text
    form: Name | None = None
    member: Text | None = None


class FileKeys(FileForm, frozen=True):
    """The keys of a file: either the keys of its only form, or a list ``forms``."""

    rows: Count | None = None
    positives: Count | None = None
    between: tuple[Name, Name] | None = None
    forms: Annotated[tuple[FileForm, ...], Meta(min_length=1)] = ()
    sources: Annotated[tuple[Text | SourceKeys, ...], Meta(min_length=1)] = ()


class FileEntry(Struct, frozen=True):
    """One raw file of a data set; ``rows`` is None if the file is not a set of examples or labels."""

    name: str
    rows: int | None
    positives: int | None
    forms: tuple[FileForm, ...]
    sources: tuple[FileSource, ...]
    between: tuple[str, str] | None = None


class PartKeys(Keys, frozen=True):
    """The keys of a part."""

    examples: str | Annotated[tuple[str, ...], Meta(min_length=1)]
    labels: Name | None = None
    skip: Count = 0
    rows: Count | None = None
    positives: Count | None = None


class Part(Struct, frozen=True):
    """A training or test set of a data set."""

    name: str  # the file name if the part is a single file
    rows: int
    positives: int | None  # number of examples labelled +1, if known
    examples: tuple[str, ...]  # files, concatenated in this order
    labels: str | None  # the label file, for formats with separate labels
    skip: int  # leading examples of its files that do not belong to the part
    whole: int  # all examples of its files

    @property
    def files(self) -> tuple[str, ...]:
        """All files of the part."""
        return self.examples if self.labels is None else (*self.examples, self.labels)

    def begins(self, other: Part) -> bool:
        """Return whether this part's examples are the first examples of the other part."""
        same = other.examples[: len(self.examples)] == self.examples and self.labels == other.labels
        return same and self.skip == other.skip and self.rows <= other.rows


class Described(Keys, frozen=True, kw_only=True):
    """The keys of a downloaded set other than ``columns``, ``files`` and ``parts``."""

    title: Text
    licence: Text
    citation: Text
    mirror: Name = ""
    reader: Reader
    features: Count
    binary: bool = False
    labels: Mapping[Label, float | None] = {}
    subsets: Annotated[tuple[Name, ...], Meta(min_length=1)]
    test: Name | None = None
    aliases: Mapping[Count, Count] = {}
    dense: bool = False
    variable: Text | None = None
    subset_seed: Annotated[int, Meta(ge=0)] | None = None
    topic: Text | None = None
    standard: tuple[tuple[float, Annotated[float, Meta(gt=0)]], ...] = ()
    obtain: Text | None = None
    stand_in_for: Name | None = None


class DownloadedKeys(Described, frozen=True, kw_only=True):
    """The keys of a downloaded set."""

    columns: Columns | None = None
    files: dict[Name, FileKeys]
    parts: dict[Name, PartKeys] = {}


class DownloadedEntry(Described, frozen=True, kw_only=True):
    """A downloaded data set; ``datasets/registry/parse.py`` documents the keys."""

    name: str
    columns: Columns | None
    files: Mapping[str, FileEntry]
    parts: Mapping[str, Part]

    @property
    def rows(self) -> int:
        """Number of rows of the largest training set."""
        return self.parts[self.subsets[-1]].rows

    @property
    def subsets_apart(self) -> bool:
        """Whether the training sets have files of their own, which do not begin with the next smaller one."""
        return not all(a.begins(b) for a, b in pairwise(self.parts[name] for name in self.subsets))

    def training(self, rows: int) -> Part:
        """Return the smallest training set with at least so many ``rows``."""
        return next(self.parts[name] for name in self.subsets if self.parts[name].rows >= rows)

    def trains_on_test_rows(self, rows: int) -> bool:
        """Return whether the training set from which so many ``rows`` are taken holds test examples."""
        assert self.test is not None
        train, test = (self._spans(part) for part in (self.training(rows), self.parts[self.test]))
        pairs = ((train[file], test[file]) for file in train.keys() & test.keys())
        return any(max(a.start, b.start) < min(a.stop, b.stop) for a, b in pairs)

    def _spans(self, part: Part) -> dict[str, range]:
        """Return the rows of each file that belong to a part."""
        spans, first = {}, -part.skip
        for name in part.examples:
            rows = self.files[name].rows or 0
            spans[name] = range(max(-first, 0), min(rows, part.rows - first))
            first += rows
        return spans

    @property
    def numeric_labels(self) -> dict[float, float]:
        """The numeric labels whose rows are not omitted."""
        known = self.labels.items()
        return {given: sign for given, sign in known if not isinstance(given, str) and sign is not None}

    @property
    def rules(self) -> str:
        """Digest of the rules by which a configurable reader parses the file.

        Empty for a format without rules whose labels are signs, or 0 and 1: one file cannot have both, so its
        arrays depend only on the file and the reader version.
        """
        ruled = self.columns is not None or self.variable is not None or self.reader in APART
        if not ruled and self.labels in _PLAIN_LABELS:
            return ""
        what: tuple[object, ...] = (self.features, self.dense, self.labels, self.columns, self.variable)
        # Added only if given, so that the digests of sets without these keys do not change.
        what += (self.topic,) if self.topic else ()
        what += (self.standard,) if self.standard else ()
        return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


class GeneratedKeys(Keys, frozen=True):
    """The keys of a generated set."""

    title: Text
    citation: Text
    generator: Name
    features: Count
    binary: bool = False
    positives: Annotated[float, Meta(gt=0, lt=1)] | None = None
    stand_in_for: Name | None = None


class GeneratedEntry(GeneratedKeys, frozen=True, kw_only=True):
    """A generated data set."""

    name: str


class Registry(Struct, frozen=True):
    """All known data sets."""

    downloaded: Mapping[str, DownloadedEntry]
    generated: Mapping[str, GeneratedEntry]


class RegistryKeys(Keys, frozen=True, kw_only=True):
    """The top-level keys of ``registry.yaml``."""

    version: Literal[1]
    hosts: dict[str, Text] = {}
    downloaded: dict[Name, DownloadedKeys]
    generated: dict[Name, GeneratedKeys]
