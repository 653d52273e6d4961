"""The LIBSVM reader: accepted files, error messages, and matrices built piece by piece."""

import bz2
import gzip
import lzma
import pickle

import numpy as np
import pytest
from datasets_support import put, refused, zipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from svmrepro.datasets import read_libsvm, sparse_builder, write_libsvm
from svmrepro.datasets.sparse_builder import GrowingRows


def test_a_small_file(tmp_path):
    data = read_libsvm(put(tmp_path / "file", "+1 1:1 3:-2.5e-1\n-1\n1 2:.5 4:7. \t\r\n-1.0 4:+3\n"))
    assert data.X.toarray().tolist() == [[1, 0, -0.25, 0], [0, 0, 0, 0], [0, 0.5, 0, 7], [0, 0, 0, 3]]
    assert data.y.tolist() == [1, -1, 1, -1]
    assert data.X.has_canonical_format
    marked = read_libsvm(put(tmp_path / "marked", b"\xef\xbb\xbf+1 1:1\n-1\n"))
    assert marked.y.tolist() == [1, -1]
    assert not (data.X.data == 1.0).all()


def test_comments_blank_ends_explicit_zeros_and_labels_of_ones_own(tmp_path):
    path = put(tmp_path / "file", "# made by hand\n2 1:1 # a page\n4 2:0 3:1\n\n\n")
    data = read_libsvm(path, features=5, labels={2: -1, 4: 1})
    assert data.X.shape == (2, 5)
    assert data.X.nnz == 2
    assert (data.X.data == 1.0).all()
    assert data.y.tolist() == [-1, 1]


GOOD = "+1 1:1\n-1 2:1\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (GOOD + "0 1:1\n", 3, "label 0"),
        (GOOD + "1:1 2:1\n", 3, "label '1:1'"),
        (GOOD + "+1 1:x\n", 3, "'x' of index 1 is not a number"),
        (GOOD + "+1 1:1_0\n", 3, "'1_0' of index 1 is not a number"),
        (GOOD + "+1 1:nan\n", 3, "'nan' of index 1 is not finite"),
        (GOOD + "+1 1:1e999\n", 3, "index 1 is not finite"),
        (GOOD + "+1 0:1\n", 3, "index 0"),
        (GOOD + "+1 -3:1\n", 3, "index '-3'"),
        (GOOD + "+1 99999999999:1\n", 3, "index '99999999999'"),
        (GOOD + "+1 123:1 124:1\n", 3, "index 124 is out of range 1 to 123"),
        (GOOD + "+1 2:1 2:1\n", 3, "index 2 is repeated"),
        (GOOD + "+1 1:1 3:1 2:1\n", 3, "index 2 after 3"),
        (GOOD + "+1 1:1 7\n", 3, "'7' is cut short"),
        (GOOD + "+1 7:-1e200\n", 3, "value -1e+200 of index 7 is beyond 1e+150: squares would overflow"),
        (GOOD + "\n-1 1:1\n", 3, "empty line"),
        ("+1 1:1\n-1 3:1 3:1\n+1 0:1\n-1 1:1e999\n", 2, "index 3 is repeated"),
        ("+1 1:1\n+1 2:1\n", 1, "one class only"),
        ("", 1, "empty"),
        ("+1 1:1\x0b2:1\n-1 1:1\n", 1, "white space"),
        (b"+1 1:\xff\xfe\n-1 1:1\n", 1, "'\ufffd\ufffd' of index 1"),
        ("+1 1:1\n-1 " + "1" * 100 + "x\n", 2, f"'{'1' * 37}...'"),
        ("+1 1:" + "1" * 1_000_000 + "x\n-1 1:" + "1.1" * 300_000 + "\n", 1, "is not a number"),
    ],
)
def test_what_is_refused(tmp_path, text, line, words):
    path = put(tmp_path / "file", text)
    refused(lambda: read_libsvm(path, features=123), f"{path}:{line}: ", words)


@pytest.mark.parametrize("features", [None, 3_000_000_000])
def test_an_index_beyond_32_bits_is_refused(tmp_path, features):
    path = put(tmp_path / "file", GOOD + "+1 1:1 2500000000:1\n")
    said = "index 2500000000 is out of range 1 to 2147483647"
    refused(lambda: read_libsvm(path, features=features), f"{path}:3: ", said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"+1 1:1\n"), ": is compressed (gzip): unpack it"),
        (lzma.compress(b"+1 1:1\n"), ": is compressed (xz): unpack it"),
        (bz2.compress(b"+1 1:1\n"), ": is compressed (bzip2): unpack it"),
        (zipped({"a": b"+1 1:1\n"}), ": is a zip archive: unpack it"),
        (b"PAR1\x15\x04", ": is a Parquet file: write it as CSV or NPZ"),
        (b"\x93NUMPY\x01\x00v\x00", ": is a single array of NumPy: write X and y into one NPZ file"),
        (pickle.dumps([1.0]), ": is a pickle: write it as CSV or NPZ"),
        ("a,b,y\n1,2,1\n", ":1: looks like a table; give it the suffix .csv"),
        ("1;2;1\n", ":1: looks like a table; give it the suffix .csv"),
        ("1\t2\t1\n", ":1: looks like a table; give it the suffix .csv"),
        ("+1 1:0,5 2:1\n", ":1: value '0,5' of index 1 is not a number"),
        ("+1\t1:1\n-1\t2\n", ":2: '2' is cut short: index:value expected"),
        ("# a, b\n+1 1:1\nx 2:1\n", ":3: label 'x' is not a number"),
        ("-1\n+1\n", ":1: no example has a value; 'label index:value ...' was expected"),
    ],
)
def test_files_of_another_format_are_told(tmp_path, content, said):
    path = put(tmp_path / "file", content)
    refused(lambda: read_libsvm(path), f"{path}{said}")


finite = st.floats(-1e150, 1e150)
rows = st.lists(
    st.dictionaries(st.integers(1, 400), finite.filter(lambda value: value != 0.0), max_size=6),
    min_size=2,
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows, seed=st.integers(0, 2**16))
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, rows, seed):
    X = np.zeros((len(rows), 400))
    for i, row in enumerate(rows):
        for j, value in row.items():
            X[i, j - 1] = value
    y = np.where(np.random.default_rng(seed).random(len(rows)) < 0.5, -1.0, 1.0)
    y[0], y[-1] = -1.0, 1.0
    path = tmp_path / "round"
    for given_X in (X, sparse.csr_matrix(X)):
        write_libsvm(path, given_X, y)
        data = read_libsvm(path, features=400)
        assert np.array_equal(data.X.toarray(), X)
        assert np.array_equal(data.y, y)


@pytest.mark.parametrize("value", [1e200, -np.inf, np.nan])
def test_values_that_cannot_be_read_back_are_not_written(tmp_path, value):
    path = tmp_path / "file"
    refused(lambda: write_libsvm(path, np.array([[0.0, value]]), np.array([1.0])), f"{path}: ", "1e+150")
    assert not path.exists()


def test_labels_are_written_exactly_or_refused(tmp_path):
    path = tmp_path / "file"
    X, one_third = np.eye(2), 1 / 3
    for y, said in (([1.0], "1 labels for 2 examples"), ([1.0, np.nan], "a label is not finite")):
        refused(lambda y=y: write_libsvm(path, X, np.array(y)), f"{path}: {said}")
        assert not path.exists()
    write_libsvm(path, X, np.array([one_third, -12345678.0]))
    data = read_libsvm(path, labels={one_third: 1.0, -12345678.0: -1.0})
    assert np.array_equal(data.y, [1.0, -1.0])


def test_more_lines_than_are_read_at_once(tmp_path):
    value = "0.0497399253756197"
    lines = [f"{'+1' if i % 3 else '-1'} {1 + i % 50}:{value} 99:{i + 1} # {i}" for i in range(120_000)]
    path = put(tmp_path / "file", "# of SVM-light\n" + "\n".join(lines) + "\n\n")
    assert path.stat().st_size > 1 << 22
    data = read_libsvm(path)
    assert data.X.shape == (120_000, 99) and data.X.nnz == 240_000
    assert np.array_equal(data.X.data[1::2], np.arange(1.0, 120_001.0))
    assert np.all(data.X.data[::2] == float(value))
    lines[110_000] = "+1 1:1 0:1"
    put(path, "# of SVM-light\n" + "\n".join(lines))
    refused(lambda: read_libsvm(path), f"{path}:110002: ", "index 0")


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
