"""The reader of comma-separated files: the formats of the UCI sets, and what it says of what it refuses."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from svmrepro.datasets import DataError
from svmrepro.datasets.readers.delimited import read_delimited
from svmrepro.datasets.registry.model import Columns, Label

SIGNS: dict[Label, float | None] = {1.0: 1.0, -1.0: -1.0}
GAME = Columns(values=({"x": 1.0, "o": -1.0, "b": 0.0},))
FILES_AND_RANKS = Columns(
    values=(
        {text: float(i + 1) for i, text in enumerate("abcdefgh")},
        {str(i): float(i) for i in range(1, 9)},
    )
)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_numbers_with_the_label_first(tmp_path: Path) -> None:
    path = write(tmp_path, "1,0.5,-2e-3\n-1, 7. ,+.5\r\n1.0,0,-0\n")
    data = read_delimited(path, features=2, labels=SIGNS, columns=Columns(label="first"))
    assert data.X.tolist() == [[0.5, -0.002], [7.0, 0.5], [0.0, 0.0]]
    assert data.y.tolist() == [1.0, -1.0, 1.0]
    assert data.X.dtype == data.y.dtype == np.float64 and data.X.flags.c_contiguous


def test_numbers_are_read_bit_for_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((50, 3)) * 10.0 ** np.arange(-200, 400, 250)
    signs = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)
    lines = [f"{y:.0f}," + ",".join(f"{v:.17g}" for v in row) for y, row in zip(signs, values, strict=True)]
    path = write(tmp_path, "\n".join(lines) + "\n")
    data = read_delimited(path, features=3, labels=SIGNS, columns=Columns(label="first"))
    assert np.array_equal(data.X, values) and np.array_equal(data.y, signs)


def test_a_board_of_texts_whose_draws_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "x,o,b,win\nb,b,o,draw\no,o,x,loss\n\n")
    data = read_delimited(path, features=3, labels={"win": 1.0, "loss": -1.0, "draw": None}, columns=GAME)
    assert data.X.tolist() == [[1, -1, 0], [-1, -1, 1]]
    assert data.y.tolist() == [1, -1]


def test_columns_that_take_turns(tmp_path: Path) -> None:
    path = write(tmp_path, "a,1,h,8,c,2,draw\nb,3,b,4,g,7,zero\n")
    labels: dict[Label, float | None] = {"draw": -1.0, "zero": 1.0}
    data = read_delimited(path, features=6, labels=labels, columns=FILES_AND_RANKS)
    assert data.X.tolist() == [[1, 1, 8, 8, 3, 2], [2, 3, 2, 4, 7, 7]]
    with pytest.raises(DataError, match=r"file:1: column 2: 'b' is none of 1, 2, 3, 4, 5, 6, 7, 8$"):
        read_delimited(
            write(tmp_path, "a,b,h,8,c,2,draw\n"), features=6, labels=labels, columns=FILES_AND_RANKS
        )


def test_rows_that_lack_a_value_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, " 125, 468, 1.0,ad.\n   ?, ?,  ?,ad.\n  60, 12,?,nonad.\n  60, 12,0,nonad.\n")
    labels: dict[Label, float | None] = {"ad.": 1.0, "nonad.": -1.0}
    data = read_delimited(path, features=3, labels=labels, columns=Columns(missing="?"))
    assert data.X.tolist() == [[125, 468, 1], [60, 12, 0]]
    assert data.y.tolist() == [1, -1]
    boards = Columns(values=GAME.values, missing="?")
    path = write(tmp_path, "x,?,win\nx,o,win\no,b,loss\n")
    data = read_delimited(path, features=2, labels={"win": 1.0, "loss": -1.0}, columns=boards)
    assert data.X.tolist() == [[1, -1], [-1, 0]]


GOOD = "1,0.5,1\n-1,0.25,1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "0,1,1\n", "3: label '0' where one of 1, -1 was expected"),
        (GOOD + "1.5,1,1\n", "3: label '1.5' where one of 1, -1 was expected"),
        (GOOD + "yes,1,1\n", "3: label 'yes' where one of 1, -1 was expected"),
        (GOOD + "nan,1,1\n", "3: label 'nan' where one of 1, -1 was expected"),
        (GOOD + ",1,1\n", "3: label '' where one of 1, -1 was expected"),
        (GOOD + "1,x,1\n", "3: column 2: 'x' is not a number"),
        (GOOD + "1,1,\n", "3: column 3: '' is not a number"),
        (GOOD + "1,1_0,1\n", "3: column 2: '1_0' is not a number"),
        (GOOD + "1,0x10,1\n", "3: column 2: '0x10' is not a number"),
        (GOOD + "1,1 2,1\n", "3: column 2: '1 2' is not a number"),
        (GOOD + "1,1,?\n", "3: column 3: '?' is not a number"),
        (GOOD + "1,\u0661,1\n", "3: column 2: '\u0661' is not a number"),
        (GOOD + '1,"1",1\n', "3: column 2: '\"1\"' is not a number"),
        (GOOD + "1,nan,1\n", "3: column 2: 'nan' is not finite"),
        (GOOD + "1,1,-Inf\n", "3: column 3: '-Inf' is not finite"),
        (GOOD + "1,1,1e999\n", "3: column 3: '1e999' is not finite"),
        (GOOD + "1,1\n", "3: 2 fields where 3 were expected"),
        (GOOD + "1,1,1,\n", "3: 4 fields where 3 were expected"),
        (GOOD + "1,1,1,1\n", "3: 4 fields where 3 were expected"),
        (GOOD + "1;1;1\n", "3: 1 fields where 3 were expected"),
        ("1,1,1\n\n-1,1,1\n", "2: empty line"),
        ("1,1,1\n1,2,2\n", "1: one class only: every row that is kept has the label +1"),
        ("", "1: the file is empty"),
        ("\n \r\n", "1: the file is empty"),
        (b"1,\xff\xfe,1\n", "1: column 2: '\ufffd\ufffd' is not a number"),
        (b"1,1\x002,1\n", "1: column 2: '1\\x002' is not a number"),
        ("1," + "9" * 100 + "x,1\n", f"1: column 2: '{'9' * 37}...' is not a number"),
        ("y,x1,x2\n1,1,1\n", "1: label 'y' where one of 1, -1 was expected"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_delimited(path, features=2, labels=SIGNS, columns=Columns(label="first"))
    assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,o,win\nx,y,loss\n", "2: column 2: 'y' is none of x, o, b"),
        ("x,o,win\nx,1,loss\n", "2: column 2: '1' is none of x, o, b"),
        ("x,o,win\nx,X,loss\n", "2: column 2: 'X' is none of x, o, b"),
        ("x,o,win\nx,o,won\n", "2: label 'won' where one of win, loss, draw was expected"),
        ("x,o,win\nx,q,draw\n", "2: column 2: 'q' is none of x, o, b"),
        ("x,o,draw\nx,o,draw\n", "1: no row is left: each lacks a value or has a label that is left out"),
        ("x,o,win\nx,o,draw\n", "1: one class only: every row that is kept has the label +1"),
    ],
)
def test_boards_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_delimited(path, features=2, labels={"win": 1.0, "loss": -1.0, "draw": None}, columns=GAME)
    assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,?,1\n?,a,1\n", "2: column 2: 'a' is not a number"),
        ("1,?,1\n?,inf,-1\n", "2: column 2: 'inf' is not finite"),
        ("1,1,1\n?,1e999,-1\n", "2: column 2: '1e999' is not finite"),
        ("1,?,1\n1,1,?\n", "2: label '?' where one of 1, -1 was expected"),
        ("1,?,1\n?,?,-1\n", "1: no row is left: each lacks a value or has a label that is left out"),
        ("1,??,1\n", "1: column 2: '??' is not a number"),
    ],
)
def test_lines_that_lack_a_value_and_are_wrong_besides(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_delimited(path, features=2, labels=SIGNS, columns=Columns(missing="?"))
    assert str(caught.value) == f"{path}:{message}"


def test_a_line_of_a_million_digits_is_refused_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, b"1," + b"1" * 1_000_000 + b"x,1\n")
    begun = time.perf_counter()
    with pytest.raises(DataError, match="file:1: column 2"):
        read_delimited(path, features=2, labels=SIGNS, columns=Columns(label="first"))
    assert time.perf_counter() - begun < 2.0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.sampled_from(
            [b"1", b"-1", b"?", b",", b",", b"\n", b" ", b"nan", b"\r", b"\x00", b"1e999", b".5"]
        ),
        max_size=25,
    ).map(b"".join)
    | st.binary(max_size=60)
)
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, text)
    try:
        data = read_delimited(path, features=1, labels=SIGNS, columns=Columns(missing="?"))
    except DataError as error:
        number = str(error).removeprefix(f"{path}:").partition(":")[0]
        assert number.isdigit() and 1 <= int(number) <= text.count(b"\n") + 1
        assert "\n" not in str(error)
    else:
        assert set(data.y) == {-1.0, 1.0}
        assert np.all(np.isfinite(data.X))
