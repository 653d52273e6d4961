"""Lines ``number index:value index:value ...``, of which LIBSVM, SVM-light and LYRL2004 files are made.

They are streamed: at no time is there more than the arrays and one block of text.
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
from svmrepro.datasets.readers.tokens import NUMBER, VALUE, is_not_finite, show
from svmrepro.datasets.sparse_builder import GrowingRows

Positions = npt.NDArray[np.int64]

_BLOCK: Final = 1 << 22
_SPACES: Final = bytes.maketrans(b":", b" ")

# Whole-line match in C: a line that passes needs no further look at its syntax, one that does not is taken
# apart by _complain, which can say what is wrong. Index 0 passes here and is caught with the other ranges.
_LINE: Final = re.compile(rb"[ \t]*" + NUMBER + rb"(?:[ \t]+\d{1,10}:" + NUMBER + rb")*[ \t]*\r?")


@dataclass(frozen=True, eq=False)
class LineBlock:
    """Some lines of a file.

    Attributes
    ----------
    numbers : ndarray (k,) of int64
        Their numbers in the file, from 1.
    head : ndarray (k,) of float64
        The number that each begins with.
    counts : ndarray (k,) of int64
        Pairs on each.
    index : ndarray (m,) of int64
        Indices of all pairs, as they stand there.
    value : ndarray (m,) of float64
        Their values.
    """

    numbers: Positions
    head: FloatArray
    counts: Positions
    index: Positions
    value: FloatArray


def read_blocks(path: str | Path, where: str, head: str = "label") -> Iterator[LineBlock]:
    """Read a file block by block.

    What follows a ``#`` is a comment (SVM-light writes such); blank lines at the end do not count.

    Parameters
    ----------
    path
        The file.
    where
        Its name in messages.
    head
        What the first number of a line is called in messages.

    Raises
    ------
    DataError
        ``file:line: what``: an empty line, something that is not a number, a pair without its value; or a
        file without lines.
    OSError
        The file cannot be read.
    """
    number = 0
    blank = 0
    empty = True
    with Path(path).open("rb") as stream:
        for lines in iter(lambda: stream.readlines(_BLOCK), []):
            numbers: list[int] = []
            kept: list[bytes] = []
            for line in lines:
                number += 1
                text, comment, _ = line.partition(b"#")
                if not text.strip():
                    blank = blank or (0 if comment else number)
                    continue
                if blank:
                    raise DataError(f"{where}:{blank}: empty line")
                text = text.removesuffix(b"\n")
                if _LINE.fullmatch(text) is None:
                    raise DataError(f"{where}:{number}: {_complain(text, head)}")
                numbers.append(number)
                kept.append(text)
            if kept:
                empty = False
                yield _parse(numbers, kept)
    if empty:
        raise DataError(f"{where}:1: the file is empty")


def _parse(numbers: list[int], lines: list[bytes]) -> LineBlock:
    counts = np.array([line.count(b":") for line in lines], dtype=np.int64)
    # As exact as float() of each, without an object for each. All is numbers: the lines have been matched.
    flat = np.fromstring(b" ".join(lines).translate(_SPACES).decode("ascii"), dtype=np.float64, sep=" ")
    ends = np.cumsum(1 + 2 * counts)
    heads = ends - 1 - 2 * counts
    assert len(flat) == ends[-1]
    pairs = np.delete(flat, heads)
    index, value = pairs[0::2].astype(np.int64), pairs[1::2].copy()
    return LineBlock(np.array(numbers, dtype=np.int64), flat[heads], counts, index, value)


def _complain(line: bytes, head: str) -> str:
    """Say what is wrong with a line that does not have the form of an example."""
    tokens = line.split()
    if VALUE.fullmatch(tokens[0]) is None:
        return f"{head} {show(tokens[0])} is not a number"
    for token in tokens[1:]:
        index, colon, value = token.partition(b":")
        if not colon or not value:
            return f"{show(token)} is cut short: index:value expected"
        if not index.isdigit() or len(index) > 10:
            return f"index {show(index)} in {show(token)} is not a positive integer"
        if is_not_finite(value):
            return f"value {show(value)} of index {int(index)} is not finite"
        if VALUE.fullmatch(value) is None:
            return f"value {show(value)} of index {int(index)} is not a number"
    return f"{show(line)} has unexpected white space"


class Rows:
    """The pairs of many blocks on their way to a CSR matrix.

    Parameters
    ----------
    features
        Number of columns; a larger index is an error. None: the largest index met.
    """

    def __init__(self, features: int | None) -> None:
        self._features = features
        self._rows = GrowingRows()
        self._largest = 0

    def add(self, block: LineBlock, where: str) -> None:
        """Take the pairs of a block.

        Raises
        ------
        DataError
            ``file:line: what``: an index that is zero, out of range, repeated or out of order, a value that
            is not finite.
        """
        _check_pairs(block, self._features, where)
        self._largest = max(self._largest, int(block.index.max(initial=0)))
        self._rows.append(block.counts, block.index - 1, block.value)

    def matrix(self) -> sparse.csr_matrix:
        """Return the matrix: sorted 32-bit indices, no zero stored. The rows are gone from here."""
        X = self._rows.matrix(self._features if self._features is not None else self._largest)
        X.eliminate_zeros()
        return X


def _check_pairs(block: LineBlock, features: int | None, where: str) -> None:
    """Refuse indices and values that have the right form and cannot be right."""
    index, value = block.index, block.value
    limit = features if features is not None else int(np.iinfo(np.int32).max)
    ends = np.cumsum(block.counts)
    within = np.ones(len(index), dtype=bool)
    within[(ends - block.counts)[block.counts > 0]] = False
    rising = np.diff(index, prepend=0) > 0
    # The first fault in the order of the file is the one that is told.
    bad = (index < 1) | (index > limit) | (within & ~rising) | ~np.isfinite(value)
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
    elif j == int(index[at - 1]):
        what = f"index {j} is repeated"
    else:
        what = f"index {j} after {int(index[at - 1])}: indices must rise"
    raise DataError(f"{where}:{block.numbers[row]}: {what}")
