"""The LIBSVM reader: what it reads, and what it says of what it refuses."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from svmrepro.datasets import DataError, read_libsvm, write_libsvm
from svmrepro.datasets.readers.libsvm import is_binary


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_small_file(tmp_path: Path) -> None:
    data = read_libsvm(write(tmp_path, "+1 1:1 3:-2.5e-1\n-1\n1 2:.5 4:7. \t\r\n-1.0 4:+3\n"))
    assert data.X.toarray().tolist() == [[1, 0, -0.25, 0], [0, 0, 0, 0], [0, 0.5, 0, 7], [0, 0, 0, 3]]
    assert data.y.tolist() == [1, -1, 1, -1]
    assert data.X.has_canonical_format
    assert not is_binary(data.X)


def test_comments_blank_ends_and_explicit_zeros(tmp_path: Path) -> None:
    data = read_libsvm(write(tmp_path, "# made by hand\n+1 1:1 # a page\n-1 2:0 3:1\n\n\n"), features=5)
    assert data.X.shape == (2, 5)
    assert data.X.nnz == 2
    assert is_binary(data.X)


def test_labels_of_ones_own(tmp_path: Path) -> None:
    data = read_libsvm(write(tmp_path, "2 1:1\n4 1:2\n"), labels={2: -1, 4: 1})
    assert data.y.tolist() == [-1, 1]


GOOD = "+1 1:1\n-1 2:1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "0 1:1\n", "3: label 0 where -1 or 1 was expected"),
        (GOOD + "3.5 1:1\n", "3: label 3.5 where -1 or 1 was expected"),
        (GOOD + "yes 1:1\n", "3: label 'yes' is not a number"),
        (GOOD + "1:1 2:1\n", "3: label '1:1' is not a number"),
        (GOOD + "nan 1:1\n", "3: label 'nan' is not a number"),
        (GOOD + "+1 1:x\n", "3: value 'x' of index 1 is not a number"),
        (GOOD + "+1 1:1_0\n", "3: value '1_0' of index 1 is not a number"),
        (GOOD + "+1 1:0x10\n", "3: value '0x10' of index 1 is not a number"),
        (GOOD + "+1 1:1:2\n", "3: value '1:2' of index 1 is not a number"),
        (GOOD + "+1 1:nan\n", "3: value 'nan' of index 1 is not finite"),
        (GOOD + "+1 1:-Inf\n", "3: value '-Inf' of index 1 is not finite"),
        (GOOD + "+1 1:1e999\n", "3: value of index 1 is not finite"),
        (GOOD + "+1 0:1\n", "3: index 0: indices start at 1"),
        (GOOD + "+1 -3:1\n", "3: index '-3' in '-3:1' is not a positive integer"),
        (GOOD + "+1 a:1\n", "3: index 'a' in 'a:1' is not a positive integer"),
        (GOOD + "+1 1.0:1\n", "3: index '1.0' in '1.0:1' is not a positive integer"),
        (GOOD + "+1 99999999999:1\n", "3: index '99999999999' in '99999999999:1' is not a positive integer"),
        (GOOD + "+1 4000000000:1\n", "3: index 4000000000 is out of range 1 to 2147483647"),
        (GOOD + "+1 2:1 2:1\n", "3: index 2 is repeated"),
        (GOOD + "+1 1:1 3:1 2:1\n", "3: index 2 after 3: indices must rise"),
        (GOOD + "+1 1:1 7\n", "3: '7' is cut short: index:value expected"),
        (GOOD + "+1 1:1 7:", "3: '7:' is cut short: index:value expected"),
        (GOOD + "+1 1:1 :7\n", "3: index '' in ':7' is not a positive integer"),
        ("+1 1:1\n\n-1 1:1\n", "2: empty line"),
        ("+1 1:1\n# only a remark\n-1 0:1\n", "3: index 0: indices start at 1"),
        ("+1 1:1\n+1 2:1\n", "1: one class only: every example has the label 1"),
        ("", "1: the file is empty"),
        ("\n \n", "1: the file is empty"),
        ("# nothing\n", "1: the file is empty"),
        ("+1 1:1\x0b2:1\n-1 1:1\n", "1: '+1 1:1\\x0b2:1' has unexpected white space"),
        (b"+1 1:\xff\xfe\n-1 1:1\n", "1: value '\ufffd\ufffd' of index 1 is not a number"),
        ("+1 1:1\n-1 " + "1" * 100 + "x\n", f"2: '{'1' * 37}...' is cut short: index:value expected"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_libsvm(path)
    assert str(caught.value) == f"{path}:{message}"


def test_an_index_out_of_range(tmp_path: Path) -> None:
    path = write(tmp_path, "+1 1:1 123:1\n-1 124:1\n")
    with pytest.raises(DataError, match=r"file:2: index 124 is out of range 1 to 123$"):
        read_libsvm(path, features=123)


def test_the_first_fault_of_the_file_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "+1 1:1\n-1 3:1 3:1\n+1 0:1\n-1 1:1e999\n")
    with pytest.raises(DataError, match=r"file:2: index 3 is repeated"):
        read_libsvm(path)


def test_a_line_of_a_million_digits_is_refused_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, b"+1 1:" + b"1" * 1_000_000 + b"x\n-1 1:" + b"1.1" * 300_000 + b"\n")
    begun = time.perf_counter()
    with pytest.raises(DataError, match="file:1: value"):
        read_libsvm(path)
    assert time.perf_counter() - begun < 2.0


finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(
    st.dictionaries(st.integers(1, 400), finite.filter(lambda value: value != 0.0), max_size=6),
    min_size=2,
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows, seed=st.integers(0, 2**16))
def test_what_is_written_is_read_back_bit_for_bit(
    tmp_path: Path, rows: list[dict[int, float]], seed: int
) -> None:
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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.sampled_from(
            [
                b"+1",
                b"-1",
                b" ",
                b"\n",
                b"1:1",
                b"2:0",
                b"3:",
                b":",
                b"0:1",
                b"nan",
                b"#",
                b"\r",
                b"\x00",
                b"9" * 12,
            ]
        ),
        max_size=25,
    ).map(b"".join)
    | st.binary(max_size=60)
)
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, text)
    try:
        data = read_libsvm(path)
    except DataError as error:
        number = str(error).removeprefix(f"{path}:").partition(":")[0]
        assert number.isdigit() and 1 <= int(number) <= text.count(b"\n") + 1
        assert "\n" not in str(error)
    else:
        assert set(data.y) == {-1.0, 1.0}
        assert np.all(np.isfinite(data.X.data))


def test_more_lines_than_are_read_at_once(tmp_path: Path) -> None:
    value = "0.0497399253756197"
    lines = [f"{'+1' if i % 3 else '-1'} {1 + i % 50}:{value} 99:{i + 1} # {i}" for i in range(200_000)]
    path = write(tmp_path, "# of SVM-light\n" + "\n".join(lines) + "\n\n")
    assert path.stat().st_size > 2 * (1 << 22)
    data = read_libsvm(path)
    assert data.X.shape == (200_000, 99) and data.X.nnz == 400_000
    assert np.array_equal(data.X.data[1::2], np.arange(1.0, 200_001.0))
    assert np.all(data.X.data[::2] == float(value))
    lines[150_000] = "+1 1:1 0:1"
    with pytest.raises(DataError, match="file:150002: index 0: indices start at 1"):
        read_libsvm(write(tmp_path, "# of SVM-light\n" + "\n".join(lines)))


def test_fifty_thousand_rows_are_read_in_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"{'+1' if i % 9 == 0 else '-1'} " + " ".join(f"{j}:1" for j in range(1, 301) if rng.random() < 0.04)
        for i in range(1000)
    ]
    path = write(tmp_path, ("\n".join(lines) + "\n") * 50)
    begun = time.process_time()
    data = read_libsvm(path, features=300)
    assert time.process_time() - begun < 4.0
    assert data.X.nnz == 50 * "".join(lines).count(":")
