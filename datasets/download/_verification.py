"""Checking that a file is the one described in the registry.

A file is accepted by the first of these that applies:

1. the SHA-256 of its content is that of the registry (``sha256``);
2. the SHA-256 of its rows in canonical form is (``rows_sha256``; white space and label signs may differ);
3. the registry has neither, but the compressed file had the right checksum (``wrapper_sha256``);
4. the registry has neither, and the rows, the positives and the neighbouring files (``between``) fit.

A compressed file with another checksum is no error in itself, since hosts compress differently: rule 4 then
decides.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from svmrepro.datasets.errors import DataError, SourceError
from svmrepro.datasets.files import remove, sha256_of
from svmrepro.datasets.readers.by_name import READERS, READERS_APART
from svmrepro.datasets.registry import DownloadedEntry, FileEntry, FileForm

LEDGER = ".verified.json"


def looks_like_html(start: bytes) -> bool:
    """Return whether a file with these first bytes is a web page."""
    text = start[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


def _canonical_rows(path: Path) -> Iterator[bytes]:
    """Yield each row with single spaces between tokens and the label 1 written as +1."""
    with path.open("rb") as stream:
        for line in stream:
            tokens = line.split()
            if tokens:
                if tokens[0] == b"1":
                    tokens[0] = b"+1"
                yield b" ".join(tokens) + b"\n"


def canonical_sha256(path: Path) -> str:
    """Return the SHA-256 of a LIBSVM file's rows, independent of white space and of the label's plus sign."""
    digest = hashlib.sha256()
    for row in _canonical_rows(path):
        digest.update(row)
    return digest.hexdigest()


def is_ordered_subsequence(part: Iterable[bytes], whole: Iterable[bytes]) -> bool:
    """Return whether ``part`` is a subsequence of ``whole``."""
    rest = iter(whole)
    return all(any(row == other for other in rest) for row in part)


def check_content(
    path: Path,
    entry: DownloadedEntry,
    file: FileEntry,
    form: FileForm,
    folder: Path,
    *,
    vouched: bool = False,
) -> str:
    """Check a decompressed file against one of its accepted forms, and return its SHA-256.

    The set's other files are in ``folder``, for a file that is checked against its neighbours. ``vouched``
    says that the compressed file it came from had the registry's checksum: the content is then not checked
    further if its own checksum is unknown. A file that does not match is a SourceError that says how.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        if looks_like_html(stream.read(512)):
            raise SourceError("an HTML page in place of the file")
    if size > form.limit or (form.rows_sha256 is None and form.bytes not in (None, size)):
        raise SourceError(f"{size} bytes where {form.bytes or f'at most {form.limit}'} were expected")
    digest = sha256_of(path)
    if digest == form.sha256:
        return digest
    if form.rows_sha256 is not None:
        if canonical_sha256(path) == form.rows_sha256:
            return digest
    elif form.sha256 is None and vouched:
        return digest
    elif form.sha256 is None:
        _check_by_content(path, entry, file, form, folder)
        return digest
    raise SourceError(
        f"wrong checksum: sha256 {digest[:12]}... where {(form.sha256 or '')[:12]}... was expected"
    )


def _check_by_content(
    path: Path, entry: DownloadedEntry, file: FileEntry, form: FileForm, folder: Path
) -> None:
    """Check a file without a known checksum by its rows and its neighbouring files."""
    try:
        rows, positives = _count(path, entry, file, form)
    except DataError as error:
        raise SourceError(str(error).replace(str(path), file.name)) from error
    if file.rows not in (None, rows):
        raise SourceError(f"{rows} rows where {file.rows} were expected")
    if file.positives is not None and positives not in (None, file.positives):
        raise SourceError(f"{positives} positive examples where {file.positives} were expected")
    if file.between is not None:
        smaller, larger = (folder / name for name in file.between)
        if smaller.exists() and not is_ordered_subsequence(_canonical_rows(smaller), _canonical_rows(path)):
            raise SourceError(f"the rows of {smaller.name} are not among its own in the same order")
        if larger.exists() and not is_ordered_subsequence(_canonical_rows(path), _canonical_rows(larger)):
            raise SourceError(f"its rows are not among those of {larger.name} in the same order")


def _count(path: Path, entry: DownloadedEntry, file: FileEntry, form: FileForm) -> tuple[int, int | None]:
    """Return the number of rows of a file and, if it holds both examples and labels, of positive ones."""
    reader = form.reader or entry.reader
    if reader in READERS:
        y = READERS[reader](path, entry).y
        return len(y), int((y > 0.0).sum())
    apart = READERS_APART[reader]
    holds_labels = any(part.labels == file.name for part in entry.parts.values())
    return (apart.count_labels if holds_labels else apart.count_examples)(path, entry), None


class _Verified(msgspec.Struct):
    """A verified file: how it looked then, what the registry expected, its checksum, where it came from."""

    stamp: tuple[int, int]
    expected: tuple[str | None, str | None, int | None]
    sha256: str
    origin: str


class Ledger:
    """A folder's record of verified files, so that large files are not hashed on every run.

    An entry is valid while the size and modification time of its file are unchanged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LEDGER
        try:
            self._entries = msgspec.json.decode(self._path.read_bytes(), type=dict[str, _Verified])
        except (OSError, ValueError, RecursionError):
            self._entries = {}  # every file is hashed again

    def recall(self, path: Path, form: FileForm) -> tuple[str, str] | None:
        """Return (SHA-256, origin) of a file unchanged since its verification, otherwise None."""
        found = self._entries.get(path.name)
        if found is None or (found.stamp, found.expected) != _state(path, form):
            return None
        return found.sha256, found.origin

    def note(self, path: Path, form: FileForm, sha256: str, origin: str) -> None:
        """Record a verified file; if the ledger cannot be written, the file is hashed again next time."""
        self._entries[path.name] = _Verified(*_state(path, form), sha256, origin)
        text = msgspec.json.format(msgspec.json.encode(self._entries, order="sorted"), indent=1)
        # Ledgers are also written without the folder's lock, so each process has its own temporary file.
        part = self._path.with_name(f"{LEDGER}.{os.getpid()}.part")
        try:
            part.write_bytes(text)
            part.replace(self._path)
        except OSError:
            remove(part)


def _state(path: Path, form: FileForm) -> tuple[tuple[int, int], tuple[str | None, str | None, int | None]]:
    """Return what an entry of a file must have to be valid: ``stamp`` and ``expected``."""
    status = path.stat()
    return (status.st_size, status.st_mtime_ns), (form.sha256, form.rows_sha256, form.bytes)
