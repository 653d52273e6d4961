"""Taking a file out of its wrapper, trusting the wrapper in nothing.

What comes out goes to a path of the caller's choosing and never exceeds the size that the caller declares,
however much the archive claims or delivers.
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
from typing import Final, Protocol

from svmrepro.datasets.download.lzw import MAGIC, decompress_lzw
from svmrepro.datasets.errors import SourceError
from svmrepro.datasets.files import CHUNK, storage_errors

_MAGIC: Final = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "compress": MAGIC}
# OSError is what gzip and bz2 raise for a broken stream; errors of the disk are told apart by where they
# occur.
_BROKEN: Final = (
    EOFError,
    OSError,
    RuntimeError,  # an encrypted member
    NotImplementedError,  # an unknown compression method
    ValueError,
    MemoryError,  # a header that asks for more than there is
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


class Readable(Protocol):
    """What a file opened for reading in binary mode can do."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""


def copy_stream(source: Readable, target: Path, limit: int, name: str) -> None:
    """Copy an open file into ``target``, at most ``limit`` bytes.

    Raises
    ------
    SourceError
        The source cannot be read to its end, or is longer than ``limit``; ``name`` stands for it in the
        message.
    StorageError
        ``target`` cannot be written.
    """
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
    """Return whether the file begins as files of this compression do.

    Some servers unpack what they send: then the content itself has come under the wrapper's name.
    """
    with path.open("rb") as stream:
        return stream.read(6).startswith(_MAGIC[compression])


def decompress(path: Path, compression: str, target: Path, limit: int, name: str) -> None:
    """Decompress ``path`` (gzip, bzip2, xz or compress) into ``target``, at most ``limit`` bytes.

    Raises
    ------
    SourceError
        The stream is damaged or longer than ``limit``; ``name`` stands for it in the message.
    StorageError
        ``target`` cannot be written.
    """
    if compression == "gzip":
        with gzip.open(path) as unzipped:
            copy_stream(unzipped, target, limit, name)
    elif compression == "bzip2":
        with bz2.open(path) as unzipped:
            copy_stream(unzipped, target, limit, name)
    elif compression == "compress":
        with path.open("rb") as wrapped:
            content = wrapped.read(2 * limit + CHUNK)
        try:
            unpacked = decompress_lzw(content, limit)
        except ValueError as error:
            raise SourceError(f"{name} is damaged: {error}") from error
        copy_stream(io.BytesIO(unpacked), target, limit, name)
    else:
        with lzma.open(path) as unzipped:
            copy_stream(unzipped, target, limit, name)


def _refuse_unsafe(names: list[str], archive: str) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]):
            raise SourceError(f"{archive} holds a member with an unsafe name ({name[:80]!r})")


def extract_member(path: Path, member: str, target: Path, limit: int, name: str) -> None:
    """Copy one member of a zip archive into ``target``, at most ``limit`` bytes.

    Raises
    ------
    SourceError
        No zip archive, a damaged one, no such member, a member longer than ``limit`` or compressed otherwise
        than by deflate, or an archive any of whose members has an absolute name or one with ``..``.
    StorageError
        ``target`` cannot be written.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        raise SourceError(f"{name} is no zip archive: {error}") from error
    with archive:
        names = archive.namelist()
        _refuse_unsafe(names, name)
        if member not in names:
            raise SourceError(f"{name} has no member {member}")
        info = archive.getinfo(member)
        # Of the others zipfile unpacks at once whatever a piece of the archive stands for, however much.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SourceError(
                f"{member} of {name} is compressed by method {info.compress_type}, not by deflate"
            )
        try:
            stream = archive.open(info)
        except _BROKEN as error:
            raise SourceError(f"{name} is damaged: {error}") from error
        with stream:
            copy_stream(stream, target, limit, f"{member} of {name}")
