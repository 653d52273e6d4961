"""IDX files: images and labels in two files, and error messages."""

import gzip
import struct

import numpy as np
import pytest
from datasets_support import one_set, put, refused, sha, use_registry
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets.readers._idx import read_images
from svmrepro.datasets.registry import RegistryError, parse_registry

SIGNS = {float(digit): 1.0 if digit == 8 else -1.0 for digit in range(10)}
ROWS = 40
PIXELS = np.random.default_rng(0).integers(0, 256, (ROWS, 2, 3)).astype(np.uint8)
PIXELS[PIXELS < 100] = 0
DIGITS = (np.arange(ROWS) * 7 % 10).astype(np.uint8)


def images(pixels=PIXELS, magic=b"\0\0\x08\x03"):
    return magic + struct.pack(">3I", *pixels.shape) + pixels.tobytes()


def labels(digits=DIGITS, magic=b"\0\0\x08\x01"):
    return magic + struct.pack(">I", len(digits)) + digits.astype(np.uint8).tobytes()


def write(folder, first, second):
    return put(folder / "images", first), put(folder / "labels", second)


def test_pixels_are_scaled_and_one_digit_stands_against_the_rest(tmp_path):
    data = read_images(*write(tmp_path, images(), labels()), features=6, signs=SIGNS)
    assert sparse.issparse(data.X) and data.X.has_canonical_format and data.X.indices.dtype == np.int32
    assert np.array_equal(data.X.toarray(), PIXELS.reshape(ROWS, 6) / 255.0)
    assert data.X.nnz == np.count_nonzero(PIXELS), "zeros are not stored"
    assert np.array_equal(data.y, np.where(DIGITS == 8, 1.0, -1.0))


@pytest.mark.parametrize(
    ("first", "second", "start", "words"),
    [
        (b"", labels(), "images: ", "empty"),
        (images(PIXELS[:0]), labels(DIGITS[:0]), "images: ", "no examples"),
        (images()[:9], labels(), "images: ", "9 bytes: cut short"),
        (images() + b"\0", labels(), "images: ", "257 bytes where 256"),
        (images(), labels()[:-1], "labels: ", "47 bytes where 48"),
        (labels(), labels(), "images: ", "magic number 00000801 where 00000803"),
        (images(magic=b"\0\0\x0d\x03"), labels(), "images: ", "magic number 00000d03"),
        (images(PIXELS.reshape(ROWS, 1, 6)[:, :, :5]), labels(), "images: ", "1 x 5 where 6 pixels"),
        (images(), labels(DIGITS[:-1]), "labels: ", "39 labels for the 40 images"),
        (images(), labels(np.where(np.arange(ROWS) == 6, 10, DIGITS)), "labels: ", "example 7: label 10"),
        (images(), labels(np.full(ROWS, 3)), "labels: ", "one class only"),
    ],
)
def test_what_is_refused(tmp_path, first, second, start, words):
    files = write(tmp_path, first, second)
    refused(lambda: read_images(*files, features=6, signs=SIGNS), f"{tmp_path}/{start}", words)


ENTRY = one_set(f"""
reader: idx
features: 6
labels: {{0: -1, 1: -1, 2: -1, 3: -1, 4: -1, 5: -1, 6: -1, 7: -1, 8: 1, 9: -1}}
subsets: [train]
test: test
subset_seed: 5
parts:
  train: {{examples: x, labels: y, positives: 4}}
  test: {{examples: xt, labels: yt}}
files:
  x:
    rows: 40
    forms: [{{file: x.gz, compression: gzip, bytes: {len(images())}, sha256: {sha(images())}}}]
  y:
    rows: 40
    forms: [{{file: y.gz, compression: gzip, bytes: {len(labels())}, sha256: {sha(labels())}}}]
  xt: {{rows: 20, bytes: {len(images(PIXELS[:20]))}, sha256: {sha(images(PIXELS[:20]))}}}
  yt: {{rows: 20, bytes: {len(labels(DIGITS[:20]))}, sha256: {sha(labels(DIGITS[:20]))}}}
""")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    use_registry(monkeypatch, ENTRY)
    folder = tmp_path / "mirror" / "toy"
    # A different compressed file is accepted, because the content decides.
    put(folder / "x.gz", gzip.compress(images(), compresslevel=1, mtime=7))
    put(folder / "y.gz", gzip.compress(labels(), compresslevel=9, mtime=8))
    put(folder / "xt", images(PIXELS[:20]))
    put(folder / "yt", labels(DIGITS[:20]))
    return folder.parent


def test_two_files_make_a_set(mirror, tmp_path):
    whole = datasets.load("toy", mirror=mirror, data_dir=tmp_path)
    assert np.array_equal(whole.X.toarray(), PIXELS.reshape(ROWS, 6) / 255.0)
    assert whole.provenance["files"] == ["x", "y"]
    assert whole.provenance["sha256"] == [sha(images()), sha(labels())]
    assert whole.provenance["origin"] == ["mirror", "mirror"]
    test = datasets.load("toy", part="test", mirror=mirror, data_dir=tmp_path)
    assert test.X.shape == (20, 6) and np.array_equal(test.y, whole.y[:20])
    larger = datasets.load("toy", 30, data_dir=tmp_path, download=False)
    smaller = datasets.load("toy", 12, data_dir=tmp_path, download=False)
    assert (larger.X[:12] != smaller.X).nnz == 0 and np.array_equal(larger.y[:12], smaller.y)


def test_prepared_arrays_belong_to_both_files(mirror, tmp_path):
    for part in ("train", "test", "train"):
        data = datasets.load("toy", part=part, mirror=mirror, data_dir=tmp_path)
    [kept] = (tmp_path / "prepared").glob("toy-x-*.npz")
    assert len(list((tmp_path / "prepared").glob("*.npz"))) == 2
    kept.write_bytes(b"spoilt")
    again = datasets.load("toy", data_dir=tmp_path, download=False)
    assert (again.X != data.X).nnz == 0
    (mirror / "toy" / "y.gz").unlink()
    with pytest.raises(datasets.DatasetUnavailable, match=r"data set toy \(y\) is not available"):
        datasets.load("toy", mirror=mirror, data_dir=tmp_path / "other")


def test_keys_name_both_files(mirror, monkeypatch):
    key = datasets.content_key("toy", 30)
    assert sha(images()) in key and sha(labels()) in key and "subset_seed=5" in key
    # Another digit against the rest is a different problem.
    use_registry(monkeypatch, ENTRY.replace("0: -1", "0: 1"))
    assert datasets.content_key("toy", 30) != key


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("examples: x, labels: y,", "examples: x,", "labels"),
        ("labels: y,", "labels: z,", "'z'"),
        ("examples: x,", "examples: [],", "examples"),
        ("positives: 4", "positives: 4, skip: 40", "rows"),
        ("positives: 4", "positives: 4, last: 3", "last"),
        ("      x:\n        rows: 40\n", "      x:\n", "'x'"),
        ("subsets: [train]", "subsets: [train, more]", "'more'"),
        ("reader: idx", "reader: libsvm", "labels"),
    ],
)
def test_faults_of_parts_are_named(old, new, word):
    assert old in ENTRY
    with pytest.raises(RegistryError) as caught:
        parse_registry(ENTRY.replace(old, new))
    said = str(caught.value)
    assert "toy" in said and word in said and "\n" not in said
