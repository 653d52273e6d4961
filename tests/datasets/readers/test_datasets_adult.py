"""The census reader, its encoder, and the comparison with another encoding."""

import json

import numpy as np
import pytest
from datasets_support import make_entry, put, refused, sha, toy_file
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import sparse
from svmrepro.datasets import adult_against_a9a, write_libsvm
from svmrepro.datasets.adult_against_a9a import compare_columns, compare_encoding
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.readers.adult import (
    MISSING,
    VALUES,
    AdultEncoder,
    describe_bins,
    quintile_edges,
    read_adult,
)
from svmrepro.datasets.registry import Registry


def line(age=30, country="Peru", label="<=50K", **other):
    usual = (
        f"{age}, Private, {1000 * age}, HS-grad, 9, Divorced, Sales, Wife, White, Female, 0, 0, 40, {country}"
    )
    fields = dict(zip(VALUES, usual.split(", "), strict=True))
    fields |= {name.replace("_", "-"): value for name, value in other.items()}
    return ", ".join([*fields.values(), label]) + "\n"


def test_reading(tmp_path):
    text = "|1x3 Cross validator\n" + line(25) + line(61, "?", ">50K.", workclass="?") + "\n"
    records = read_adult(put(tmp_path / "adult.data", text))
    assert records.y.tolist() == [-1, 1]
    assert records.columns["age"].tolist() == [25, 61]
    assert records.columns["workclass"].tolist() == [0, MISSING]
    assert records.columns["native-country"].tolist() == [38, MISSING]
    assert list(records.columns) == list(VALUES)


GOOD = line() + line(label=">50K")


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        (GOOD + line().replace(", Sales", ""), 3, "14 fields where 15"),
        (GOOD + line(label=">=50K"), 3, "label '>=50K'"),
        (GOOD + line(race="Green"), 3, "race 'Green'"),
        (GOOD + line(fnlwgt="12x"), 3, "fnlwgt '12x'"),
        (GOOD + line(capital_gain="-1"), 3, "capital-gain '-1'"),
        (GOOD + line(hours_per_week="?"), 3, "hours-per-week '?'"),
        (GOOD + line(hours_per_week="9" * 30), 3, "is not a whole number"),
        ("|header\n\n", 1, "empty"),
        (line() + line(), 1, "one class only"),
    ],
)
def test_what_is_refused(tmp_path, text, number, words):
    path = put(tmp_path / "adult.data", text)
    refused(lambda: read_adult(path), f"{path}:{number}: ", words)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (range(10), "<1, 1-2, 3-4, 5-6, >=7"),
        ([0] * 90 + list(range(100, 110)), "<100, >=100"),
        ([5] * 4 + [9] * 40 + [10] * 30 + [11, 12] * 2 + [13] * 22, "<9, 9, 10, 11-12, >=13"),
        ([30] * 20 + [40] * 60 + [45] * 20, "<40, 40-44, >=45"),
    ],
)
def test_the_rule_for_ties(values, bins):
    assert describe_bins(quintile_edges(np.array(values))) == bins


def test_a_constant_column_is_one_bin():
    assert quintile_edges(np.array([3, 3, 3])) == ()
    assert describe_bins(()) == "one bin"


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=200))
def test_edges_rise_and_no_bin_is_empty(values):
    column = np.array(values)
    edges = quintile_edges(column)
    assert list(edges) == sorted(set(edges))
    assert len(edges) <= 4
    counts = np.bincount(np.searchsorted(edges, column, side="right"), minlength=len(edges) + 1)
    assert np.all(counts > 0)


def records_of(tmp_path):
    text = "".join(
        line(20 + i, "?" if i == 3 else "Cuba", ">50K" if i % 3 else "<=50K", capital_gain=str(i // 9 * 500))
        for i in range(10)
    )
    return read_adult(put(tmp_path / "adult.data", text))


def test_encoding(tmp_path):
    records = records_of(tmp_path)
    encoder = AdultEncoder.fit(records)
    X = encoder.encode(records)
    widths = encoder.widths()
    assert X.shape == (10, sum(widths.values()))
    assert widths["native-country"] == 41 and widths["education"] == 16 and widths["capital-gain"] == 2
    assert widths["age"] == 5 and widths["hours-per-week"] == 1
    assert np.diff(X.indptr).tolist() == [14, 14, 14, 13, 14, 14, 14, 14, 14, 14]
    assert X.has_canonical_format and np.all(X.data == 1.0)
    ages = X[:, :5].toarray()
    assert ages.argmax(axis=1).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    first = 0
    for name, width in widths.items():
        if name == "native-country":
            assert X[0, first + 12] == 1.0, "the position of Cuba in adult.names"
        first += width


def test_the_comparison_finds_a_flipped_bit_and_a_flipped_label(tmp_path):
    records = records_of(tmp_path)
    encoder = AdultEncoder.fit(records)
    X = encoder.encode(records).toarray()
    same = compare_columns(encoder, records, ExampleSet(sparse.csr_matrix(X), records.y), "twins")
    assert all(row["rows_agreeing"] == row["rows"] == 10 for row in same)
    assert [row["attribute"] for row in same] == [*VALUES, "all, and the label"]
    assert same[-1]["note"] == "bits and labels are the same"

    X[0, 0], X[0, 1] = 0.0, 1.0
    y = records.y.copy()
    y[5] *= -1.0
    table = compare_columns(encoder, records, ExampleSet(sparse.csr_matrix(X), y), "twins")
    agreeing = {str(row["attribute"]): row["rows_agreeing"] for row in table}
    assert agreeing.pop("age") == 9
    assert agreeing.pop("all, and the label") == 8
    assert set(agreeing.values()) == {10}
    assert table[-1]["note"] == "2 rows differ"
    with pytest.raises(ValueError, match="10 rows against 9"):
        compare_columns(encoder, records, ExampleSet(sparse.csr_matrix(X[:9]), y[:9]), "twins")


def test_the_comparison_needs_a9a_itself_although_our_encoding_may_stand_in_for_it(tmp_path, monkeypatch):
    records = records_of(tmp_path)
    raw = (tmp_path / "adult.data").read_bytes()
    X = AdultEncoder.fit(records).encode(records)
    write_libsvm(tmp_path / "a9a", X, records.y)
    encoded = (tmp_path / "a9a").read_bytes()
    mirror, host = tmp_path / "mirror", "http://127.0.0.1:9"
    contents = {"adult.data": raw, "adult.test": raw, "a9a": encoded, "a9a.t": encoded}
    for name, content in contents.items():
        put(mirror / "toy" / name, content)
    files = [toy_file(content, f"{host}/{name}", name=name) for name, content in contents.items()]
    stand_in = {"file": "adult.data", "bytes": len(raw), "sha256": sha(raw), "reader": "uci-adult"}
    forms = [{"bytes": len(encoded), "sha256": sha(encoded)}, stand_in]
    files[2] = f"a9a: {json.dumps({'rows': 10, 'forms': forms, 'sources': [f'{host}/adult.data']})}"
    entry = replace(make_entry("\n".join(files), subsets="[a9a]\n    test: a9a.t"), features=X.shape[1])
    monkeypatch.setattr(adult_against_a9a, "registry", lambda: Registry({"adult": entry}, {}))
    table = compare_encoding(tmp_path / "data", mirror)
    assert len(table) == 2 * 15 and all(row["rows_agreeing"] == row["rows"] == 10 for row in table)
