"""Sets in one file: nested sizes from a seeded permutation, dense arrays, a second accepted form."""

import numpy as np
import pytest
from datasets_support import one_set, put, refused, sha, use_registry
from scipy import sparse
from scipy.io import savemat
from svmrepro import datasets
from svmrepro.datasets.permutations import subset_rows

ROWS = 60
# Sorted by class like the file of king-rook-vs-king, so that its first half has one class only.
VALUES = np.random.default_rng(3).standard_normal((ROWS, 2))
SIGNS = np.repeat([-1.0, 1.0], ROWS // 2)
CSV = "".join(f"{y:.0f},{a!r},{b!r}\n" for y, (a, b) in zip(SIGNS, VALUES.tolist(), strict=True)).encode()
ORDER = np.random.default_rng(4).permutation(ROWS) + 1

ENTRY = one_set("""
reader: delimited
columns: {label: first}
variable: toy
features: 2
dense: DENSE
labels: {-1: -1, 1: 1}
subsets: [toy]
subset_seed: SEED
aliases: {59: 60}
files:
  toy:
    rows: 60
    positives: 30
    forms:
      - {file: all.mat, max_bytes: 9999, sha256: MAT, reader: mat-splits}
      - {file: toy.csv, bytes: BYTES, sha256: CSV}
""")


def use(monkeypatch, mat=b"", dense=True):
    """Make ``toy`` the only set."""
    text = ENTRY
    given = {"MAT": sha(mat), "DENSE": str(dense).lower(), "SEED": 7, "BYTES": len(CSV), "CSV": sha(CSV)}
    for word, value in given.items():
        text = text.replace(word, str(value))
    use_registry(monkeypatch, text)


@pytest.fixture
def mirror(tmp_path):
    return put(tmp_path / "mirror" / "toy" / "toy.csv", CSV).parent.parent


def test_rows_of_a_permutation():
    whole = subset_rows(1000, 1000, 2008)
    assert sorted(whole) == list(range(1000))
    assert np.array_equal(subset_rows(300, 1000, 2008), whole[:300])
    assert not np.array_equal(subset_rows(1000, 1000, 2009), whole)
    # The numbers themselves are pinned: any NumPy must draw the same rows.
    assert subset_rows(6, 28056, 2008).tolist() == [19624, 24756, 8772, 16387, 7203, 50]


@pytest.mark.parametrize("dense", [True, False])
def test_sizes_are_nested(monkeypatch, mirror, tmp_path, dense):
    use(monkeypatch, dense=dense)
    whole = datasets.load("toy", mirror=mirror, data_dir=tmp_path)
    assert sparse.issparse(whole.X) != dense
    if not dense:
        assert whole.X.has_canonical_format

    def rows(data):
        return np.column_stack([data.y, data.X if dense else data.X.toarray()]).tolist()

    assert rows(whole) == np.column_stack([SIGNS, VALUES]).tolist(), "the whole set keeps the file's order"
    assert whole.provenance["rows"] == "all rows of toy"
    larger = rows(datasets.load("toy", 40, data_dir=tmp_path))
    for n in (40, 39, 12):
        data = datasets.load("toy", n, data_dir=tmp_path)
        assert rows(data) == larger[:n]
        assert data.provenance["rows"] == f"the first {n} rows of toy as permuted by seed 7"
        assert data.provenance["n_actual"] == n
        if not dense:
            assert data.X.has_canonical_format
    assert rows(datasets.load("toy", 60, data_dir=tmp_path)) == rows(whole)
    assert rows(datasets.load("toy", 59, data_dir=tmp_path)) == rows(whole), "a paper's size is the whole set"
    assert larger != rows(whole)[:40]
    assert len(set(map(tuple, larger))) == 40 and set(map(tuple, larger)) < set(map(tuple, rows(whole)))
    assert set(np.array(larger)[:12, 0]) == {-1.0, 1.0}
    said = "toy: n = 1: the first 1 rows of toy as permuted by seed 7: one class only"
    refused(lambda: datasets.load("toy", 1, data_dir=tmp_path), said)


def test_the_file_of_all_sets_is_as_good(monkeypatch, mirror, tmp_path):
    file = mirror / "toy" / "all.mat"
    fields = {"x": VALUES, "t": SIGNS[:, None], "train": ORDER[None, :20], "test": ORDER[None, 20:]}
    savemat(file, {"toy": fields})
    use(monkeypatch, mat=file.read_bytes())
    data = datasets.load("toy", mirror=mirror, data_dir=tmp_path)
    assert np.array_equal(data.X, VALUES[ORDER - 1]) and np.array_equal(data.y, SIGNS[ORDER - 1])
    assert (tmp_path / "raw" / "toy" / "all.mat").exists()
    assert not (tmp_path / "raw" / "toy" / "toy.csv").exists()


APART = one_set("""
reader: libsvm
features: 1
labels: {-1: -1, 1: 1}
subsets: [small, large]
subset_seed: 7
files:
  small: {rows: 20, positives: 5, bytes: BYTES_OF_SMALL, sha256: SHA_OF_SMALL}
  large: {rows: 200, positives: 50, bytes: BYTES_OF_LARGE, sha256: SHA_OF_LARGE}
""")


def test_a_size_between_two_files_is_a_sample_of_the_larger_one(monkeypatch, tmp_path):
    text = APART
    for name, rows in (("small", 20), ("large", 200)):
        content = "".join(f"{1 if k < rows // 4 else -1} 1:{k + 1}\n" for k in range(rows)).encode()
        put(tmp_path / "mirror" / "toy" / name, content)
        text = text.replace(f"BYTES_OF_{name.upper()}", str(len(content)))
        text = text.replace(f"SHA_OF_{name.upper()}", sha(content))
    use_registry(monkeypatch, text)
    data = datasets.load("toy", 100, mirror=tmp_path / "mirror", data_dir=tmp_path / "data")
    values = np.asarray(data.X.toarray()).ravel()
    assert (np.diff(values) > 0).all() and values.max() > 100  # in the file's order, and not its beginning
    assert 15 <= (data.y > 0).sum() <= 35  # all 50 positive examples come first in the file
    assert data.provenance["rows"] == "100 rows of large, drawn by seed 7, in the file's order"
    whole = datasets.load("toy", 20, mirror=tmp_path / "mirror", data_dir=tmp_path / "data")
    assert whole.provenance["rows"] == "all rows of small"
