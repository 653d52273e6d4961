"""Decompressing files and extracting archive members from untrusted sources.

The output goes to a path chosen by the caller and never exceeds the caller's size limit, whatever the archive
declares or contains.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from svmrepro.datasets.download._lzw import MAGIC, decompress_lzw
from svmrepro.datasets.errors import SourceError
from svmrepro.datasets.files import CHUNK, storage_errors

_MAGIC: Final = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "compress": MAGIC}
_OPEN: Final[dict[str, Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
DAMAGED: Final = (
    EOFError,
    RuntimeError,  # an encrypted member; its subclass NotImplementedError: an unknown compression method
    ValueError,
    MemoryError,  # a header that declares too large a size
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
"""What Python's modules raise for a damaged or hostile stream, besides OSError."""
# gzip and bz2 raise OSError for a damaged stream. Disk errors are told apart by the place where they occur.
_BROKEN: Final = (*DAMAGED, OSError)
METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of compression that are accepted in zip archives.

For others zipfile decompresses each chunk of input as a whole, without a bound on the output.
"""


def copy_stream(source: IO[bytes], target: Path, limit: int, name: str) -> None:
    """Copy an open file to ``target``; one that is damaged or longer than ``limit`` is a SourceError."""
    total = 0
    with storage_errors(target), target.open("wb") as out:
        while True:
            try:
                chunk = source.read(CHUNK)
            except _BROKEN as error:
                raise SourceError(f"{name} is damaged: {error or type(error).__name__}") from error
            if not chunk:
                return
            total += len(chunk)
            if total > limit:
                raise SourceError(f"{name} is longer than the {limit} bytes expected")
            out.write(chunk)


def is_compressed(path: Path, compression: str) -> bool:
    """Return whether a file begins with the magic number of a compression format.

    Some servers decompress files before sending them, so a file named ``.gz`` may already be decompressed.
    """
    with path.open("rb") as stream:
        return stream.read(6).startswith(_MAGIC[compression])


def decompress(path: Path, compression: str, target: Path, limit: int, name: str) -> None:
    """Decompress ``path`` (gzip, bzip2, xz or compress) to ``target``, at most ``limit`` bytes of output.

    A damaged or longer stream is a SourceError that calls it ``name``.
    """
    with _open_lzw(path, limit, name) if compression == "compress" else _OPEN[compression](path) as stream:
        copy_stream(stream, target, limit, name)


def _open_lzw(path: Path, limit: int, name: str) -> io.BytesIO:
    with path.open("rb") as wrapped:
        content = wrapped.read(2 * limit + CHUNK)
    try:
        return io.BytesIO(decompress_lzw(content, limit))
    except ValueError as error:
        raise SourceError(f"{name} is damaged: {error}") from error


def _refuse_unsafe(names: list[str], archive: str) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]):
            raise SourceError(f"{archive} holds a member with an unsafe name ({name[:80]!r})")


def extract_member(path: Path, member: str, target: Path, limit: int, name: str) -> None:
    """Extract one member of a zip archive to ``target``, at most ``limit`` bytes.

    It is a SourceError if the file is not a valid zip archive, some member has an absolute name or one with
    ``..``, the requested member is missing, or it is longer than ``limit`` or compressed by a method other
    than deflate.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise SourceError(f"{name} is not a zip archive: {error}") from error
    with archive:
        names = archive.namelist()
        _refuse_unsafe(names, name)
        if member not in names:
            raise SourceError(f"{name} has no member {member}")
        info = archive.getinfo(member)
        if info.compress_type not in METHODS:
            raise SourceError(
                f"{member} of {name} is compressed by method {info.compress_type}, not by deflate"
            )
        try:
            stream = archive.open(info)
        except _BROKEN as error:
            raise SourceError(f"{name} is damaged: {error}") from error
        with stream:
            copy_stream(stream, target, limit, f"{member} of {name}")
