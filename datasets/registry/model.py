"""What the registry says of a data set, as records of msgspec, which checks types and keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from svmrepro.datasets.validation import pattern

SUFFIXES: Final = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "compress": ".Z"}
"""Wrappers that a file may come in, and the suffix of each."""

APART: Final = frozenset({"idx", "lyrl2004"})
"""Readers of formats in which examples and labels stand in files of their own."""

Label = float | str
"""A label as it stands in a file: a number in any spelling, or a text."""

# Names become file names: nothing that could leave the data folder.
Name = Annotated[str, pattern(r"^[A-Za-z0-9][A-Za-z0-9._+-]*\Z", "is not a plain file name")]
Text = Annotated[str, pattern(r"\S", "is not a text")]
Field = Annotated[str, pattern(r"^(?!\s)[^,]+(?<!\s)\Z", "is not a text without commas and outer blanks")]
Sha = Annotated[str, pattern(r"^[0-9a-f]{64}\Z", "is not a sha256 in lower-case hexadecimal")]
Count = Annotated[int, Meta(ge=1)]


class Keys(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of the file."""


class Columns(Struct, frozen=True):
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


class ColumnKeys(Keys, frozen=True):
    """The keys of ``columns`` in the file."""

    label: Literal["first", "last"] = "last"
    values: (
        Annotated[dict[str | int, float], Meta(min_length=1)]
        | Annotated[tuple[Annotated[dict[str | int, float], Meta(min_length=1)], ...], Meta(min_length=1)]
    ) = ()
    missing: Field | None = None


class FileForm(Keys, frozen=True):
    """One form in which a file is accepted: its name, its wrapper, and how its content is recognised."""

    file: Name = ""
    compression: Literal["gzip", "bzip2", "xz", "compress"] | None = None
    bytes: Count | None = None
    sha256: Sha | None = None
    rows_sha256: Sha | None = None
    max_bytes: Count | None = None
    reader: Name | None = None
    wrapper_sha256: Sha | None = None

    @property
    def stored(self) -> str:
        """Name under which the content is kept: the file's own, without the wrapper's suffix."""
        return self.file.removesuffix(SUFFIXES[self.compression]) if self.compression else self.file

    @property
    def limit(self) -> int:
        """Most bytes that the content may have."""
        if self.max_bytes is not None:
            return self.max_bytes
        assert self.bytes is not None  # parse sees to it
        # The same rows in another spelling may be a little longer.
        return 2 * self.bytes if self.rows_sha256 else self.bytes


class FileSource(Struct, frozen=True):
    """A URL that provides one form of a file, whole or as a member of a zip archive."""

    url: str
    form: FileForm
    member: str | None = None
    limit: int | None = None


class SourceKeys(Keys, frozen=True):
    """The keys of a source in the file."""

    url: Text
    form: Name | None = None
    member: Text | None = None
    limit: Count | None = None


class FileKeys(FileForm, frozen=True):
    """The keys of a file in the file: those of its only form among them, or none of them and ``forms``."""

    rows: Count | None = None
    positives: Count | None = None
    between: tuple[Name, Name] | None = None
    forms: Annotated[tuple[FileForm, ...], Meta(min_length=1)] = ()
    sources: Annotated[tuple[Text | SourceKeys, ...], Meta(min_length=1)] = ()


class FileEntry(Struct, frozen=True):
    """One raw file of a data set; ``rows`` is None where it is no whole set of examples or labels."""

    name: str
    rows: int | None
    positives: int | None
    forms: tuple[FileForm, ...]
    sources: tuple[FileSource, ...]
    between: tuple[str, str] | None = None


class PartKeys(Keys, frozen=True):
    """The keys of a part in the file."""

    examples: str | Annotated[tuple[str, ...], Meta(min_length=1)]
    labels: Name | None = None
    skip: Count = 0
    rows: Count | None = None
    positives: Count | None = None


class Part(Struct, frozen=True):
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


class Described(Keys, frozen=True, kw_only=True):
    """What the file says of a downloaded set, its files and parts aside."""

    title: Text
    licence: Text
    citation: Text
    mirror: Name = ""
    reader: Name
    features: Count
    binary: bool = False
    labels: Mapping[Label, float | None] = {}
    drawn: Text
    subsets: Annotated[tuple[Name, ...], Meta(min_length=1)]
    test: Name | None = None
    aliases: Mapping[Count, Count] = {}
    dense: bool = False
    variable: Text | None = None
    subset_seed: Annotated[int, Meta(ge=0)] | None = None
    topic: Text | None = None
    standard: tuple[tuple[float, Annotated[float, Meta(gt=0)]], ...] = ()
    obtain: Text | None = None


class DownloadedKeys(Described, frozen=True, kw_only=True):
    """The keys of a downloaded set in the file."""

    columns: ColumnKeys | None = None
    files: dict[Name, FileKeys]
    parts: dict[Name, PartKeys] = {}


class DownloadedEntry(Described, frozen=True, kw_only=True):
    """A data set that is downloaded; ``datasets/registry/parse.py`` says what each key means."""

    name: str
    columns: Columns | None
    files: Mapping[str, FileEntry]
    parts: Mapping[str, Part]

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


class GeneratedKeys(Keys, frozen=True):
    """The keys of a generated set in the file."""

    title: Text
    citation: Text
    generator: Name
    features: Count
    binary: bool = False
    positives: Annotated[float, Meta(gt=0, lt=1)] | None = None


class GeneratedEntry(GeneratedKeys, frozen=True, kw_only=True):
    """A data set that is generated from a seed."""

    name: str


class Registry(Struct, frozen=True):
    """All known data sets."""

    downloaded: Mapping[str, DownloadedEntry]
    generated: Mapping[str, GeneratedEntry]


class RegistryKeys(Keys, frozen=True, kw_only=True):
    """The keys of the file."""

    version: Literal[1]
    hosts: dict[str, Text] = {}
    downloaded: dict[Name, DownloadedKeys]
    generated: dict[Name, GeneratedKeys]
