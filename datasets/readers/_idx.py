"""IDX files, the format of MNIST: images in one file, labels in another.

A file consists of two zero bytes, the type code (8: unsigned byte), the number of dimensions, each dimension
as a big-endian 32-bit integer, and the values with the last dimension varying fastest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, sorted_csr
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._parsing import brief, map_labels, refuse_one_class

BRIGHTEST: Final = 255.0
"""Divisor of pixel values, which scales them to [0, 1]."""

_ROWS: Final = 4096
_UNSIGNED_BYTE: Final = 8


def read_idx(path: str | Path, dimensions: int) -> npt.NDArray[np.uint8]:
    """Read a decompressed IDX file of unsigned bytes, with 3 dimensions for images and 1 for labels.

    A fault (a wrong magic number, a size that does not match the header, no examples) raises a DataError.
    """
    content = Path(path).read_bytes()
    if not content:
        raise DataError(f"{path}: the file is empty")
    header = 4 + 4 * dimensions
    magic = bytes([0, 0, _UNSIGNED_BYTE, dimensions])
    if content[:4] != magic:
        raise DataError(f"{path}: magic number {content[:4].hex()} where {magic.hex()} was expected")
    if len(content) < header:
        raise DataError(f"{path}: {len(content)} bytes: cut short within its header of {header} bytes")
    shape = tuple(np.frombuffer(content, dtype=">u4", count=dimensions, offset=4).tolist())
    if shape[0] == 0:
        raise DataError(f"{path}: it holds no examples")
    expected = header + math.prod(shape)
    if len(content) != expected:
        sizes = " x ".join(map(str, shape))
        raise DataError(f"{path}: {len(content)} bytes where {expected} were expected for {sizes} values")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def read_images(
    images: str | Path, labels: str | Path, *, features: int, signs: Mapping[float, float]
) -> ExampleSet:
    """Read images with their labels, which ``signs`` maps to -1 or +1.

    The examples are a CSR matrix (n, features) of pixels divided by 255, each image flattened row by row. A
    fault raises a DataError that names the file.
    """
    pixels = read_idx(images, 3)
    n, height, width = pixels.shape
    if height * width != features:
        raise DataError(f"{images}: images of {height} x {width} where {features} pixels were expected")
    given = read_idx(labels, 1)
    if len(given) != n:
        raise DataError(f"{labels}: {len(given)} labels for the {n} images of {images}")
    for label in signs:
        if not (0.0 <= label <= 255.0 and label.is_integer()):
            raise DataError(f"{labels}: {brief(label)} cannot be a label in a file of bytes")
    y = map_labels(given, signs, f"{labels}: example ")
    refuse_one_class(y, str(labels), f"sign {y[0]:+g}")
    return ExampleSet(X=_scaled(pixels.reshape(n, features)), y=y)


def _scaled(pixels: npt.NDArray[np.uint8]) -> sparse.csr_matrix:
    # In blocks: the coordinates of the whole matrix would need twice the memory of the result.
    blocks = [sparse.csr_matrix(pixels[i : i + _ROWS]) for i in range(0, len(pixels), _ROWS)]
    X = sparse.vstack(blocks, format="csr")
    return sorted_csr((X.data.astype(np.float64) / BRIGHTEST, X.indices, X.indptr), X.shape)
