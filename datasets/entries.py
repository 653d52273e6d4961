"""What the registry says of a data set, as plain frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SUFFIXES: Final = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz"}
"""Wrappers that a file may come in, and the suffix of each."""


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
    """One raw file of a data set."""

    name: str
    rows: int
    positives: int | None
    forms: tuple[Form, ...]
    sources: tuple[Source, ...]
    between: tuple[str, str] | None = None


@dataclass(frozen=True)
class DownloadedEntry:
    """A data set that is downloaded. ``rows`` is that of its largest training set."""

    name: str
    title: str
    licence: str
    citation: str
    mirror: str
    reader: str
    features: int
    binary: bool
    labels: Mapping[float, float]
    drawn: str
    subsets: tuple[str, ...]
    test: str | None
    aliases: Mapping[int, int]
    files: Mapping[str, FileEntry]

    @property
    def rows(self) -> int:
        """Rows of the largest training set."""
        return self.files[self.subsets[-1]].rows


@dataclass(frozen=True)
class GeneratedEntry:
    """A data set that is generated from a seed."""

    name: str
    title: str
    citation: str
    generator: str
    features: int
    binary: bool = False


@dataclass(frozen=True)
class Registry:
    """All known data sets."""

    downloaded: Mapping[str, DownloadedEntry]
    generated: Mapping[str, GeneratedEntry]
