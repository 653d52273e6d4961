"""Lines ``number index:value index:value ...``, the common format of LIBSVM, SVM-light and LYRL2004 files.

Files are streamed: memory holds the arrays and one block of text at a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._parsing import LARGEST, NUMBER, VALUE, complain_of_number, line_blocks, show
from svmrepro.datasets.sparse_builder import GrowingRows

Positions = npt.NDArray[np.int64]

_SPACES: Final = bytes.maketrans(b":", b" ")

# One match per line, in C, checks the whole syntax; _complain finds the fault of a line that does not match.
# Index 0 matches and is refused later, with the other indices out of range.
_LINE: Final = re.compile(rb"[ \t]*" + NUMBER + rb"(?:[ \t]+\d{1,10}:" + NUMBER + rb")*[ \t]*\r?")


@dataclass(frozen=True, eq=False)
class LineBlock:
    """k lines of a file with m pairs in total, as written there."""

    numbers: Positions  # (k,) of the lines in the file, from 1
    head: FloatArray  # (k,) first number of each line
    counts: Positions  # (k,) pairs on each line
    index: Positions  # (m,)
    value: FloatArray  # (m,)


def read_blocks(path: str | Path, head: str = "label") -> Iterator[LineBlock]:
    """Read a file block by block; a fault raises a DataError, ``file:line: what``.

    Text after a ``#`` is a comment, as in files of SVM-light; blank lines at the end are ignored. Messages
    call a line's first number ``head``.
    """
    blank = 0
    empty = True
    for first, lines in line_blocks(path):
        numbers: list[int] = []
        kept: list[bytes] = []
        for number, line in enumerate(lines, start=first):
            text, comment, _ = line.partition(b"#")
            if not text.strip():
                blank = blank or (0 if comment else number)
                continue
            if blank:
                raise DataError(f"{path}:{blank}: empty line")
            text = text.removesuffix(b"\n")
            if _LINE.fullmatch(text) is None:
                raise DataError(f"{path}:{number}: {_complain(text, head)}")
            numbers.append(number)
            kept.append(text)
        if kept:
            empty = False
            yield _parse(numbers, kept)
    if empty:
        raise DataError(f"{path}:1: the file is empty")


def _parse(numbers: list[int], lines: list[bytes]) -> LineBlock:
    counts = np.array([line.count(b":") for line in lines], dtype=np.int64)
    # As exact as float(), but creates no Python objects. The lines match _LINE, so all tokens are numbers.
    flat = np.fromstring(b" ".join(lines).translate(_SPACES).decode("ascii"), dtype=np.float64, sep=" ")
    ends = np.cumsum(1 + 2 * counts)
    heads = ends - 1 - 2 * counts
    assert len(flat) == ends[-1]
    pairs = np.delete(flat, heads)
    index, value = pairs[0::2].astype(np.int64), pairs[1::2].copy()
    return LineBlock(np.array(numbers, dtype=np.int64), flat[heads], counts, index, value)


def _complain(line: bytes, head: str) -> str:
    """Return what is wrong with a line that does not match ``_LINE``."""
    tokens = line.split()
    if VALUE.fullmatch(tokens[0]) is None:
        return f"{head} {show(tokens[0])} is not a number"
    for token in tokens[1:]:
        index, colon, value = token.partition(b":")
        if not colon or not value:
            return f"{show(token)} is cut short: index:value expected"
        if not index.isdigit() or len(index) > 10:
            return f"index {show(index)} in {show(token)} is not a positive integer"
        complaint = complain_of_number(value, f"value {show(value)} of index {int(index)}")
        if complaint:
            return complaint
    return f"{show(line)} has unexpected white space"


class Rows:
    """The pairs of many blocks, collected for a CSR matrix.

    An index beyond the number of columns, ``features``, is an error; None means the largest index in the
    file.
    """

    def __init__(self, features: int | None) -> None:
        self._features = features
        self._rows = GrowingRows()
        self._largest = 0

    def add(self, block: LineBlock, where: str | Path) -> None:
        """Append the pairs of a block; a value out of range or out of order raises a DataError."""
        _check_pairs(block, self._features, where)
        self._largest = max(self._largest, int(block.index.max(initial=0)))
        self._rows.append(block.counts, block.index - 1, block.value)

    def matrix(self) -> sparse.csr_matrix:
        """Return the CSR matrix, with sorted 32-bit indices and no stored zeros; empty this collection."""
        X = self._rows.matrix(self._features if self._features is not None else self._largest)
        X.eliminate_zeros()
        return X


def _check_pairs(block: LineBlock, features: int | None, where: str | Path) -> None:
    """Check the ranges and the order of indices, and that no square of a value overflows."""
    index, value = block.index, block.value
    largest = int(np.iinfo(np.int32).max)
    limit = largest if features is None else min(features, largest)
    ends = np.cumsum(block.counts)
    within = np.ones(len(index), dtype=bool)
    within[(ends - block.counts)[block.counts > 0]] = False
    rising = np.diff(index, prepend=0) > 0
    # Report the first fault in the order of the file.
    bad = (index < 1) | (index > limit) | (within & ~rising) | ~(np.abs(value) <= LARGEST)
    if not bad.any():
        return
    at = int(np.argmax(bad))
    row = int(np.searchsorted(ends, at, side="right"))
    j = int(index[at])
    if j < 1:
        what = "index 0: indices start at 1"
    elif j > limit:
        what = f"index {j} is out of range 1 to {limit}"
    elif not math.isfinite(value[at]):
        what = f"value of index {j} is not finite"
    elif abs(value[at]) > LARGEST:
        what = f"value {value[at]:g} of index {j} is beyond {LARGEST:g}: squares would overflow"
    elif j == int(index[at - 1]):
        what = f"index {j} is repeated"
    else:
        what = f"index {j} after {int(index[at - 1])}: indices must rise"
    raise DataError(f"{where}:{block.numbers[row]}: {what}")
