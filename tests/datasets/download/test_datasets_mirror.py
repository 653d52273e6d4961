"""The real sets, if a mirror has them: set SVMREPRO_MIRROR to a folder or an http(s) prefix."""

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets import DatasetUnavailable
from svmrepro.datasets.download._verification import is_ordered_subsequence
from svmrepro.datasets.registry import registry

MIRROR = os.environ.get("SVMREPRO_MIRROR", "")
pytestmark = pytest.mark.skipif(not MIRROR, reason="SVMREPRO_MIRROR is not set: the real data are not here")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def only_the_mirror(monkeypatch):
    """Keep the tests away from the hosts: what the mirror lacks is not available."""
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")


def load(entry, file, data_dir):
    try:
        if file == entry.test:
            return datasets.load(entry.name, part="test", data_dir=data_dir, mirror=MIRROR)
        return datasets.load(entry.name, entry.parts[file].rows, data_dir=data_dir, mirror=MIRROR)
    except DatasetUnavailable as error:
        pytest.skip(f"the mirror has no {entry.name}/{file}: {error}")


def held(entry, part):
    """Return whether the mirror may have a part's files; for a folder this is certain."""
    return "://" in MIRROR or all(
        any((Path(MIRROR) / entry.mirror / form.file).is_file() for form in entry.files[file].forms)
        for file in entry.parts[part].files
    )


FILES = [
    (name, part)
    for name, entry in registry().downloaded.items()
    for part in (*entry.subsets, *([entry.test] if entry.test else []))
    if MIRROR and held(entry, part)
]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_shapes_and_classes(name, file, data_dir):
    entry = registry().downloaded[name]
    data = load(entry, file, data_dir)
    assert data.X.shape == (entry.parts[file].rows, entry.features)
    assert sparse.issparse(data.X) != entry.dense
    if entry.dense:
        assert np.isfinite(data.X).all() and data.X.flags.c_contiguous
    else:
        assert np.all(data.X.data == 1.0) or not entry.binary
        assert data.X.has_canonical_format
    assert data.name == name and set(np.unique(data.y)) == {-1.0, 1.0}
    if entry.parts[file].positives is not None:
        assert int((data.y > 0).sum()) == entry.parts[file].positives
    # A complete census row has 14 bits set, an incomplete one at least 11.
    if name == "adult":
        assert set(np.diff(data.X.indptr)) <= {11, 12, 13, 14}


def as_rows(data):
    if not sparse.issparse(data.X):
        return [row.tobytes() for row in np.column_stack([data.y, data.X])]
    bounds, X = data.X.indptr.tolist(), data.X
    cuts = [slice(*pair) for pair in pairwise(bounds)]
    labels = [sign.tobytes() for sign in data.y]
    return [a + X.indices[cut].tobytes() + X.data[cut].tobytes() for a, cut in zip(labels, cuts, strict=True)]


def sets_with_a_file(in_files):
    """Return sets whose largest file is available, with a file per size or one file."""
    known = registry().downloaded.items()
    return [
        name
        for name, entry in known
        if entry.subsets_apart == in_files and (name, entry.subsets[-1]) in FILES
    ]


@pytest.mark.parametrize("name", sets_with_a_file(in_files=True))
def test_subsets_in_files_are_nested(name, data_dir):
    entry = registry().downloaded[name]
    files = [file for file in entry.subsets if (name, file) in FILES]
    rows = [as_rows(load(entry, file, data_dir)) for file in files]
    assert len(rows) > 1
    for small, large in pairwise(rows):
        assert is_ordered_subsequence(small, large)


@pytest.mark.parametrize("name", sets_with_a_file(in_files=True))
def test_sizes_between_files_are_fair_samples(name, data_dir):
    entry = registry().downloaded[name]
    whole = load(entry, entry.subsets[-1], data_dir)
    n = (entry.parts[entry.subsets[-2]].rows + entry.rows) // 2
    part = datasets.load(name, n, data_dir=data_dir, download=False)
    assert is_ordered_subsequence(as_rows(part), as_rows(whole))
    share = (whole.y > 0).mean()
    assert abs((part.y > 0).mean() - share) < 5.0 * np.sqrt(share * (1.0 - share) / n)


@pytest.mark.parametrize("name", sets_with_a_file(in_files=False))
def test_subsets_by_a_seed_are_nested(name, data_dir):
    entry = registry().downloaded[name]
    whole = load(entry, entry.subsets[-1], data_dir)
    sizes = [n for n in (150, 1000, 4000) if n < entry.rows]
    parts = [datasets.load(name, n, data_dir=data_dir, download=False) for n in sizes]
    rows = [as_rows(part) for part in parts]
    for small, large in pairwise(rows):
        assert large[: len(small)] == small
    assert Counter(rows[-1]) <= Counter(as_rows(whole))
    # A fair sample of a possibly sorted file: within five standard deviations of the share of positives.
    share = (whole.y > 0).mean()
    for part in parts:
        assert abs((part.y > 0).mean() - share) < 5.0 * np.sqrt(share * (1.0 - share) / len(part.y))


def test_the_texts_of_the_games_are_numbers(data_dir):
    expected = {
        "connect-4": {-1.0, 0.0, 1.0},
        "tic-tac-toe": {-1.0, 0.0, 1.0},
        "king-rook-vs-king": set(np.arange(1.0, 9.0)),
    }
    for name, values in expected.items():
        entry = registry().downloaded[name]
        assert set(np.unique(load(entry, entry.subsets[-1], data_dir).X)) == values
    # Eight plies: four men each, and the side to move is the first.
    entry = registry().downloaded["connect-4"]
    board = load(entry, entry.subsets[-1], data_dir).X
    assert np.all((board == 1.0).sum(axis=1) == 4) and np.all((board == -1.0).sum(axis=1) == 4)


def test_a_paper_counts_one_complete_row_less(data_dir):
    entry = registry().downloaded["internet-ads"]
    load(entry, entry.subsets[-1], data_dir)
    data = datasets.load("internet-ads", 2358, data_dir=data_dir, download=False)
    assert data.X.shape == (2359, 1558)
    assert data.provenance["n_requested"] == 2358 and data.provenance["n_actual"] == 2359


def test_our_encoding_of_the_census_is_a9a_and_may_stand_in_for_it(data_dir, tmp_path):
    try:
        table = datasets.compare_encoding(data_dir, MIRROR)
    except DatasetUnavailable as error:
        pytest.skip(str(error))
    assert len(table) == 2 * 15
    assert all(row["rows_agreeing"] == row["rows"] for row in table)
    assert [row["rows"] for row in table if row["attribute"] == "all, and the label"] == [32561, 16281]
    assert sum(int(row["columns_ours"]) for row in table[:14]) == 123

    place = tmp_path / "raw" / "adult"
    place.mkdir(parents=True)
    (place / "adult.data").symlink_to(data_dir / "raw" / "adult" / "adult.data")
    ours = datasets.load("adult", data_dir=tmp_path, download=False)
    theirs = datasets.load("adult", data_dir=data_dir, download=False)
    assert ours.provenance["sha256"] != theirs.provenance["sha256"]
    assert (ours.X != theirs.X).nnz == 0
    assert np.array_equal(ours.y, theirs.y)
