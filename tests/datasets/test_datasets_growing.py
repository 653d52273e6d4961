"""Sparse matrices built piece by piece."""

import numpy as np
import pytest
from scipy import sparse
from svmrepro.datasets import sparse_builder
from svmrepro.datasets.sparse_builder import GrowingRows


@pytest.mark.parametrize("piece", [16, 40, 1 << 12, 1 << 26])
def test_rows_in_pieces_of_any_size(monkeypatch, piece):
    monkeypatch.setattr(sparse_builder, "_PIECE", piece)
    whole = sparse.random(200, 30, density=0.2, format="csr", random_state=1)
    whole.sort_indices()
    rows = GrowingRows()
    for begin, end in ((0, 1), (1, 1), (1, 90), (90, 200)):
        part = whole[begin:end]
        rows.append(np.diff(part.indptr), part.indices, part.data)
    X = rows.matrix(30)
    assert X.shape == (200, 30) and abs(X - whole).nnz == 0
    assert X.indices.dtype == np.int32 and X.has_canonical_format
    assert rows.matrix(30).shape == (0, 30), "what was taken is gone"
