"""Recognises files of other formats given as LIBSVM files or tables, and says what to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_LONGEST: Final = 1 << 16

_BEGINNINGS: Final[Mapping[bytes, str]] = {
    b"\x1f\x8b": "is compressed (gzip): unpack it",
    b"\xfd7zXZ": "is compressed (xz): unpack it",
    b"BZh": "is compressed (bzip2): unpack it",
    b"\x28\xb5\x2f\xfd": "is compressed (zstd): unpack it",
    b"PK\x03\x04": "is a zip archive: unpack it, or give it the suffix .npz if it is one of NumPy's",
    b"PAR1": "is a Parquet file: write it as CSV or NPZ",
    b"\x93NUMPY": "is a single array of NumPy: write X and y into one NPZ file",
    b"\x89HDF": "is an HDF5 file: write it as CSV or NPZ",
    b"\x80": "is a pickle: write it as CSV or NPZ",
}


def complain_of_binary(path: str | Path) -> str | None:
    """Return the part of a message that says what a binary file is; None for text."""
    with Path(path).open("rb") as stream:
        begun = stream.read(16)
    return next((f": {what}" for beginning, what in _BEGINNINGS.items() if begun.startswith(beginning)), None)


def complain_of_format(path: str | Path) -> str | None:
    """Return the part of a message that says what a file of another format is; None if it is not known."""
    if what := complain_of_binary(path):
        return what
    with Path(path).open("rb") as stream:
        line = stream.readline(_LONGEST)
    text = line.partition(b"#")[0].strip()
    if b":" not in text and any(separator in text for separator in (b",", b";", b"\t")):
        return ":1: looks like a table; give it the suffix .csv"
    return None
