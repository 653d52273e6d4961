"""Sets of Joachims 2006: the reader of physics; Covertype, with scaled columns and parts of a file."""

import numpy as np
import pytest
from datasets_support import put, refused
from msgspec.structs import replace
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets import loading
from svmrepro.datasets.readers._physics import NOT_AVAILABLE, read_physics
from svmrepro.datasets.registry import Registry, registry

SIGNS = {0.0: -1.0, 1.0: 1.0}
FEATURES = 78
RNG = np.random.default_rng(5)
VALUES = np.round(RNG.standard_normal((30, FEATURES)) * 10.0, 4)
VALUES[:, 7] = 3.25
VALUES[::3, 19] = VALUES[1::4, 45] = 999.0
VALUES[::5, 28] = 9999.0
VALUES[3, 0] = 999.0  # here it is a value
TARGETS = np.arange(30) % 3 == 1


def line(i, target=None, blank=" "):
    target = str(int(TARGETS[i])) if target is None else target
    return blank.join([str(7 + 2 * i), target, *(f"{value:g}" for value in VALUES[i])]) + "\n"


TEXT = "".join(line(i, blank=" " if i % 2 else "\t") for i in range(30))


def test_values_are_standardised_and_missing_ones_are_the_mean(tmp_path):
    data = read_physics(put(tmp_path / "phy_train.dat", TEXT), features=FEATURES, labels=SIGNS)
    assert data.X.shape == (30, FEATURES) and np.array_equal(data.y, np.where(TARGETS, 1.0, -1.0))
    for j in range(FEATURES):
        known = VALUES[:, j] != NOT_AVAILABLE.get(j + 1, np.inf)
        assert np.all(data.X[~known, j] == 0.0)
        if j == 7:
            assert np.all(data.X[:, j] == 0.0), "a constant says nothing"
            continue
        column = VALUES[known, j]
        assert np.allclose(data.X[known, j], (column - column.mean()) / column.std())
    assert not (data.X[::3, 19].any() or data.X[1::4, 45].any() or data.X[::5, 28].any())
    assert data.X[3, 0] > 3.0


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        (TEXT + line(0)[:-1] + " 1\n", 31, "81 fields where 80"),
        (TEXT + "\n" + line(0), 31, "empty line"),
        (TEXT.replace("3.25", "x", 1), 1, "field 10: 'x' is not a number"),
        (TEXT.replace("3.25", "1e999", 1), 1, "field 10 is not finite"),
        (TEXT.replace("7\t", "7a\t", 1), 1, "'7a'"),
        (TEXT + line(0), 31, "example 7 is repeated"),
        (line(0) + line(1, "2"), 2, "target 2"),
        (line(0) + line(3), 1, "one class only"),
    ],
)
def test_what_is_refused(tmp_path, text, line, words):
    path = put(tmp_path / "file", text)
    refused(lambda: read_physics(path, features=FEATURES, labels=SIGNS), f"{path}:{line}: ", words)


def smaller(entry, sizes):
    """Return a registry entry for files of other sizes, without hosts."""
    files = {
        name: replace(file, rows=sizes[file.rows or 0], positives=None, sources=())
        for name, file in entry.files.items()
    }
    parts = {
        name: replace(
            part, rows=sizes[part.rows], skip=sizes.get(part.skip, 0), whole=sizes[part.whole], positives=None
        )
        for name, part in entry.parts.items()
    }
    return replace(entry, files=files, parts=parts)


MEASURES = np.random.default_rng(2).integers(0, 3000, (60, 10))
TYPES = np.arange(60) % 7 + 1


def cover(i):
    areas, soils = np.zeros(4, int), np.zeros(40, int)
    areas[i % 4] = soils[i % 40] = 1
    return ",".join(map(str, [*MEASURES[i], *areas, *soils, TYPES[i]])) + "\n"


COVER = "".join(map(cover, range(60)))


@pytest.fixture
def covertype(tmp_path, monkeypatch):
    known = registry().downloaded
    assert known["covertype-1"].rows == 522_911 and known["covertype-1"].parts["test"].rows == 58_101
    full = smaller(known["covertype-1"], {581_012: 60, 522_911: 54, 58_101: 6})
    entries = {entry.name: entry for entry in (full, known["covertype-sample"])}
    monkeypatch.setattr(loading, "registry", lambda: Registry(entries, {}))
    return put(tmp_path / "mirror" / "covertype" / "covtype.data", COVER)


def test_the_registrys_covertype(covertype, tmp_path):
    train, test = (
        datasets.load("covertype-1", part=part, mirror=tmp_path / "mirror", data_dir=tmp_path)
        for part in ("train", "test")
    )
    assert train.X.shape == (54, 54) and test.X.shape == (6, 54) and sparse.issparse(train.X)
    X = np.vstack([train.X.toarray(), test.X.toarray()])
    scale = np.array(registry().downloaded["covertype-1"].standard)
    assert scale.shape == (10, 2)
    assert np.allclose(X[:, :10] * scale[:, 1] + scale[:, 0], MEASURES)
    assert np.all(X[:, 10:14].sum(axis=1) == 1.0) and np.all(X[:, 14:].sum(axis=1) == 1.0)
    assert np.array_equal(np.concatenate([train.y, test.y]), np.where(TYPES == 1, 1.0, -1.0))
    assert np.all(np.diff(train.X.indptr) == 12)
    part = datasets.load("covertype-1", 30, data_dir=tmp_path, download=False)
    assert set(map(tuple, part.X.toarray())) < set(map(tuple, train.X.toarray()))
    # The sample has its own file: neither it nor Covertype's file is used for the other.
    with pytest.raises(datasets.DatasetUnavailable, match="the first 20,000 lines of UCI's covtype"):
        datasets.load("covertype-sample", mirror=tmp_path / "mirror", data_dir=tmp_path)
