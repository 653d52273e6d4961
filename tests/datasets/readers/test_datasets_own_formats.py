"""A user's own tables and NPZ files: what is read, and the message about what cannot be."""

import numpy as np
import pytest
from datasets_support import put, refused
from scipy import sparse
from svmrepro.datasets.readers.npz import read_npz
from svmrepro.datasets.readers.own_table import read_table

SIGNS = {0.0: -1.0, 1.0: 1.0}
TABLE = "age,name,sick\n31,0.5,0\n42,-1e3,1\n"


def table(tmp_path, text, **settings):
    return read_table(put(tmp_path / "mine.csv", text), **{"labels": SIGNS, **settings})


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (TABLE, {}),
        (TABLE, {"label": "sick"}),
        ("31,0.5,0\n\n42,-1000,1", {}),
        ("  \n31,0.5,0\n \t \n42,-1000,1\n   \n", {}),
        ('\n 31; "0.5";0\n42;-1000;1', {}),
        ("0,1,2\n31,0.5,0\n42,-1000,1", {"label": "2"}),
        ("0,31,.5\r\n1.0,42,-1000\r\n", {"label": "first"}),
        ('"sick"\t"age"\t"x, y"\n0\t31\t"0.5"\n+1\t42\t-1000.\n', {"label": "sick"}),
        ("﻿age; x; y\n31; 0.5; no\n42; -1000; yes\n", {"labels": {"no": -1.0, "yes": 1.0}}),
    ],
)
def test_a_table_is_read_with_and_without_a_header(tmp_path, text, settings):
    data = table(tmp_path, text, **settings)
    assert data.X.tolist() == [[31.0, 0.5], [42.0, -1000.0]] and data.X.dtype == np.float64
    assert data.y.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, ":1: the file is empty"),
        (" \n", {}, ":1: the file is empty"),
        ("age,sick\n", {}, ":1: no example follows the header"),
        (
            ",a,y\n0,1,2\n",
            {},
            ":1: the first column has no name (the index of pandas?): write it with index=F",
        ),
        (",a,y\n0,1,2\n", {"label": "y"}, ":1: the first column has no name"),
        (",y\n0,1\n", {"label": "y"}, ":1: the first column has no name"),
        (",a,b\n0,1,2\n", {"label": "first"}, ":1: the first column has no name"),
        ("a,,y\n1,2,0\n", {}, ":1: column 2 has no name"),
        (",1,0\n2,3,1\n", {}, ":1: column '1' has no value"),
        (
            "0,1,2\n1,2,3\n",
            {"label": "first"},
            ":1: numbers the columns (by pandas?): write names",
        ),
        ("NA,?,1\n1,2,0\n2,3,1\n", {}, ":1: column '1': 'NA' is not a number"),
        ("a,b,a\n1,2,0\n", {"label": "a"}, ":1: 2 columns are called 'a'; rename all but one"),
        (TABLE, {"label": "ill"}, ":1: no column 'ill'; there are: age, name, sick"),
        (TABLE, {"features": 3}, ":1: 3 fields where a label and 3 values were expected"),
        (TABLE + "1,2\n", {}, ":4: 2 fields where 3 were expected"),
        (TABLE + "1,2,3\n", {}, ":4: label '3' where 0 or 1 was expected"),
        (TABLE + "1,x,1\n", {}, ":4: column 'name': 'x' is not a number"),
        ("1;2;0\n2;1,5;1\n", {}, ":2: column '2': '1,5' is not a number; write it with a decimal point"),
        (TABLE + "1,,1\n", {}, ":4: column 'name' has no value"),
        (TABLE + "1,nan,1\n", {}, ":4: column 'name': 'nan' is not finite"),
        (TABLE + "1,-1e160,1\n", {}, ":4: column 'name': '-1e160' is beyond 1e+150: squares would overflow"),
        (TABLE + '1,"2\n3",1\n', {}, ":5: column 'name': '2\\n3' is not a number"),
        ("1,,0\n2,3,1\n", {}, ":1: column '2' has no value"),
        ("1,2,0\n2,3,0\n", {}, ":1: one class only: every example has the sign -1"),
        (TABLE + '1,"2,1\n', {}, "is not a text table"),
        (b"1,2,0\n\xff,2,1\n", {}, ":2: is not UTF-8 text: store it as UTF-8"),
        ("1,\ufffd,0\n2,3,0\n".encode() + b"\xff,2,1\n", {}, ":3: is not UTF-8 text"),
        (b"\x1f\x8b\x08", {}, ": is compressed (gzip): unpack it"),
        ("1 2 0\n3 4 1\n", {}, ":1: one field where a label and values were expected, separated by commas"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(tmp_path, text, settings, message):
    refused(lambda: table(tmp_path, text, **settings), f"{tmp_path}/mine.csv", message)


def saved(tmp_path, **arrays):
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    return path


X, Y = np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([0, 1])
CSR = {"data": [1.0], "indices": [1], "indptr": [0, 1, 1], "shape": [2, 2], "y": Y}


def test_arrays_dense_and_sparse(tmp_path):
    dense = read_npz(saved(tmp_path, X=X.astype(np.float32), y=Y), labels=SIGNS)
    assert dense.X.tolist() == X.tolist() and dense.X.dtype == np.float64
    assert dense.y.tolist() == [-1.0, 1.0]
    rows = sparse.csr_array(X)
    parts = {name: getattr(rows, name) for name in ("data", "indices", "indptr")}
    path = saved(tmp_path, **parts, shape=rows.shape, y=Y)
    loose = read_npz(path, labels=SIGNS)
    assert loose.X.format == "csr" and loose.X.toarray().tolist() == X.tolist()
    assert read_npz(path, labels=SIGNS, features=5).X.shape == (2, 5)
    path = saved(tmp_path, **parts, shape=rows.shape, y=Y, format=np.array(b"csr"))  # as save_npz does
    assert read_npz(path, labels=SIGNS).X.toarray().tolist() == X.tolist()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": X, "target": Y}, "were expected; there are: data, target"),
        ({"X": X}, "X and y, or y and the arrays of a CSR matrix"),
        ({"X": X, "y": np.array(["a", "b"])}, "y: 1-dimensional numbers expected"),
        ({"X": X[0], "y": Y}, "X: 2-dimensional numbers expected, not float64 of shape (2,)"),
        ({"X": X, "y": Y[:1]}, "y has 1 labels, X has 2 rows"),
        ({"X": X + np.inf, "y": Y}, "X[0, 0] is not finite"),
        ({"X": X + 1e160, "y": Y}, "X[0, 0] is beyond 1e+150: squares would overflow"),
        (
            CSR | {"data": [9e149, 9e149], "indices": [0, 0], "indptr": [0, 2, 2]},
            "a sum of repeated entries is beyond 1e+150",
        ),
        ({"X": X, "y": Y + 1}, "row 2: label 2 where 0 or 1 was expected"),
        ({"X": X, "y": Y * 0}, "one class only"),
        ({"X": np.array([[object()]]), "y": Y}, "cannot be loaded when allow_pickle=False"),
        (CSR | {"indices": [5]}, "is not a CSR matrix"),
        (CSR | {"indptr": [0, 9, 1]}, "is not a CSR matrix"),
        (CSR | {"format": np.array(b"csc")}, "format: b'csc' is not CSR: store X.tocsr()"),
        (CSR | {"indices": [0.5], "indptr": [0, 1], "shape": [1, 2]}, "indices: whole numbers"),
    ],
)
def test_arrays_that_are_no_examples_are_refused(tmp_path, arrays, message):
    refused(lambda: read_npz(saved(tmp_path, **arrays), labels=SIGNS), f"{tmp_path}/mine.npz: ", message)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"0 1:2\n"])
def test_what_is_no_npz_file_is_refused(tmp_path, content):
    said = "" if content[:2] == b"PK" else "is not an NPZ file (no zip archive)"
    path = put(tmp_path / "mine.npz", content)
    refused(lambda: read_npz(path, labels=SIGNS), f"{path}: {said}")
