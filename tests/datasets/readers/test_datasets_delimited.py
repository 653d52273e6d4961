"""The reader of comma-separated files: the formats of the UCI sets, and error messages."""

import numpy as np
import pytest
from datasets_support import put, refused
from svmrepro.datasets.readers._delimited import read_delimited
from svmrepro.datasets.registry import Columns

SIGNS = {1.0: 1.0, -1.0: -1.0}
NUMBERS = Columns(label="first")
GAME = Columns(values=({"x": 1.0, "o": -1.0, "b": 0.0},))
OUTCOMES = {"win": 1.0, "loss": -1.0, "draw": None}
#: File and rank of a chess board, alternating.
PLACES = Columns(
    values=(
        {text: float(i + 1) for i, text in enumerate("abcdefgh")},
        {str(i): float(i) for i in range(1, 9)},
    )
)


def read(path, columns=NUMBERS, labels=SIGNS, features=2):
    return read_delimited(path, features=features, labels=labels, columns=columns)


def test_numbers_with_the_label_first(tmp_path):
    data = read(put(tmp_path / "file", "1,0.5,-2e-3\n-1, 7. ,+.5\r\n1.0,0,-0\n"))
    assert data.X.tolist() == [[0.5, -0.002], [7.0, 0.5], [0.0, 0.0]]
    assert data.y.tolist() == [1.0, -1.0, 1.0]
    assert data.X.dtype == data.y.dtype == np.float64 and data.X.flags.c_contiguous


def test_a_board_of_texts_whose_draws_are_left_out(tmp_path):
    path = put(tmp_path / "file", "x,o,b,win\nb,b,o,draw\no,o,x,loss\n\n")
    data = read(path, GAME, OUTCOMES, features=3)
    assert data.X.tolist() == [[1, -1, 0], [-1, -1, 1]]
    assert data.y.tolist() == [1, -1]


def test_columns_that_take_turns(tmp_path):
    labels = {"draw": -1.0, "zero": 1.0}
    path = put(tmp_path / "file", "a,1,h,8,c,2,draw\nb,3,b,4,g,7,zero\n")
    assert read(path, PLACES, labels, features=6).X.tolist() == [[1, 1, 8, 8, 3, 2], [2, 3, 2, 4, 7, 7]]
    put(path, "a,b,h,8,c,2,draw\n")
    refused(lambda: read(path, PLACES, labels, features=6), f"{path}:1: ", "column 2: 'b'", "1, 2, 3, 4, 5")


def test_rows_that_lack_a_value_are_left_out(tmp_path):
    path = put(tmp_path / "file", " 125, 468,ad.\n   ?, ?,ad.\n  60,?,nonad.\n  60, 12,nonad.\n")
    data = read(path, Columns(missing="?"), {"ad.": 1.0, "nonad.": -1.0})
    assert data.X.tolist() == [[125, 468], [60, 12]]
    assert data.y.tolist() == [1, -1]
    data = read(put(path, "x,?,win\nx,o,win\no,b,loss\n"), Columns(values=GAME.values, missing="?"), OUTCOMES)
    assert data.X.tolist() == [[1, -1], [-1, 0]]


GOOD = "1,0.5,1\n-1,0.25,1\n"
PLAIN, BOARD, GAPS = (), (GAME, OUTCOMES), (Columns(missing="?"),)


@pytest.mark.parametrize(
    ("rules", "text", "line", "words"),
    [
        (PLAIN, GOOD + "0,1,1\n", 3, "label '0' where 1 or -1 was expected"),
        (PLAIN, GOOD + "yes,1,1\n", 3, "label 'yes'"),
        (PLAIN, GOOD + "1,x,1\n", 3, "column 2: 'x' is not a number"),
        (PLAIN, GOOD + "1,1_0,1\n", 3, "column 2: '1_0' is not a number"),
        (PLAIN, GOOD + "1,\u0661,1\n", 3, "column 2: '\u0661' is not a number"),
        (PLAIN, GOOD + "1,nan,1\n", 3, "column 2: 'nan' is not finite"),
        (PLAIN, GOOD + "1,1,1e999\n", 3, "column 3: '1e999' is not finite"),
        (PLAIN, GOOD + "1,1,1,\n", 3, "4 fields where 3"),
        (PLAIN, "1,1,1\n\n-1,1,1\n", 2, "empty line"),
        (PLAIN, "1,1,1\n1,2,2\n", 1, "one class only"),
        (PLAIN, "\n \r\n", 1, "the file is empty"),
        (PLAIN, b"1,\xff\xfe,1\n", 1, "column 2: '\ufffd\ufffd'"),
        (PLAIN, b"1,1\x002,1\n", 1, "column 2: '1\\x002'"),
        (PLAIN, "1," + "9" * 1_000_000 + "x,1\n", 1, f"column 2: '{'9' * 37}...'"),
        (BOARD, "x,o,win\nx,1,loss\n", 2, "column 2: '1' is not one of x, o, b"),
        (BOARD, "x,o,win\nx,o,won\n", 2, "label 'won' where win or loss or draw"),
        (BOARD, "x,o,draw\nx,o,draw\n", 1, "no row is left"),
        (BOARD, "x,o,win\nx,o,draw\n", 1, "one class only"),
        (GAPS, "1,?,1\n?,a,1\n", 2, "column 2: 'a' is not a number"),  # also in a line that lacks a value
        (GAPS, "1,?,1\n1,1,?\n", 2, "label '?'"),
        (GAPS, "1,?,1\n?,?,-1\n", 1, "no row is left"),
    ],
)
def test_what_is_refused(tmp_path, rules, text, line, words):
    path = put(tmp_path / "file", text)
    refused(lambda: read(path, *rules), f"{path}:{line}: ", words)
