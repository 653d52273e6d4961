"""Looking up in registers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.vector_code.table_lookup import reaching


@compiled()
def reached(table, index, values, size, scale, shift):
    return reaching(table, index, values, size, scale, shift)


@pytest.mark.parametrize("size", [0, 16, 48, 1024])
@pytest.mark.parametrize("largest", [5, 31, 255])
def test_reaching_equals_numpy(largest: int, size: int) -> None:
    rng = np.random.default_rng(size + largest)
    table = np.linspace(0.0, 2.0, 32, dtype=np.float32)
    index = rng.integers(0, largest + 1, size).astype(np.uint8)
    values = rng.normal(2.0, 0.5, size).astype(np.float32)
    values[::7] = np.inf
    found = int(reached(table, index, values, size, 1.5, 3.0))
    slopes = np.maximum(np.float32(3.0) - np.float32(1.5) * values, 0.0)
    margins = slopes * slopes - table[np.minimum(index, 31)]
    for block in range(size // 16):
        highest = margins[16 * block : 16 * block + 16].max()
        if abs(highest) > 1e-5:  # a fused product rounds differently
            assert (found >> block & 1) == (highest > 0.0)
    assert found >> (size // 16) == 0
