"""The registry: its content, and the messages about its faults."""

from typing import get_args

import pytest
from datasets_support import HEAD
from svmrepro.datasets.readers.by_name import READERS, READERS_APART
from svmrepro.datasets.registry import Columns, RegistryError, parse_registry, registry
from svmrepro.datasets.registry.model import APART, Reader

TOY = (
    HEAD.replace("SUBSETS", "[toy]")
    + "      toy:\n        rows: 10\n        bytes: 99\n        sha256: "
    + "f" * 64
    + "\n        sources: ['{host}/toy']\nhosts: {host: 'https://example.org/sets'}\n"
)


def test_a_registry_that_is_right():
    entry = parse_registry(TOY).downloaded["toy"]
    assert entry.rows == 10
    assert entry.mirror == "toy"
    assert entry.files["toy"].sources[0].url == "https://example.org/sets/toy"
    assert entry.files["toy"].sources[0].form is entry.files["toy"].forms[0]


FILE = "downloaded.toy.files.toy"
NEW = "generated: {new: {title: t, citation: c, generator: g, features: 2}}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    reader: libsvm\n", "", "downloaded.toy: key 'reader' is missing"),
        ("reader: libsvm", "raeder: libsvm", "downloaded.toy.raeder: unknown key; did you mean 'reader'?"),
        ("reader: libsvm", "reader: libsvn", "not 'libsvn'; did you mean 'libsvm'?"),
        ("rows: 10", "rows: ten", f"{FILE}.rows: must be a whole number or null, not 'ten'"),
        ("rows: 10", "positives: 10", "downloaded.toy.files: the rows of 'toy' are not given"),
        ("bytes: 99", "rows: 99", f"{FILE}.bytes: neither bytes nor max_bytes is given"),
        (
            "bytes: 99",
            "forms: [{bytes: 1}]",
            f"{FILE}: give either 'forms' or the keys of one form, not both",
        ),
        ("[toy]", "[toy, other]", "downloaded.toy: 'other' is not one of its files"),
        ("[toy]", "[../toy]", "downloaded.toy.subsets[0]: '../toy' is not a plain file name"),
        ("{host}/toy", "{hots}/toy", f"{FILE}.sources[0]: unknown host 'hots'; did you mean 'host'?"),
        ("['{host}/toy']", "[{url: 'http://h', form: x}]", f"{FILE}.sources[0].form: unknown form 'x'"),
        ("rows: 10", "compression: zip", "must be one of gzip, bzip2, xz, compress, not 'zip'"),
        ("rows: 10", "compression: gzip", "file: 'toy' lacks its wrapper's suffix"),
        ("rows: 10", f"wrapper_sha256: {'a' * 64}", "wrapper_sha256: the form has no wrapper"),
        ("rows: 10", "between: [toy]", f"{FILE}.between: must be of length 2: ['toy']"),
        ("version: 1", "version: !!python/object/apply:os.getcwd []", "not YAML"),
        ("generated: {}", NEW.replace("new", "toy"), "toy: both downloaded and generated"),
        ("generated: {}", NEW.replace("new", "a b"), "generated: 'a b' is not a plain file name"),
        ("binary: true", "binary: true\n    aliases: {12: 11}", "aliases: no subset has 11 rows"),
        ("{-1: -1,", "{-1: 1,", "toy.labels: {-1.0: 1.0, 1.0: 1.0} is not a mapping of labels to -1 and 1"),
        ("{-1: -1,", "{no: -1,", "toy.labels: key must be a number or text, not False"),
        ("1: 1}", "1: 1, 0: null}", "labels: texts and null are for the reader delimited"),
        ("binary: true", "binary: true\n    dense: true", "dense: binary data come as a CSR matrix"),
        ("binary: true", "columns: {}", "columns: only the reader delimited has them"),
        ("labels: {-1: -1, 1: 1}", "topic: CCAT", "topic: what the reader lyrl2004 needs, and only it"),
        ("binary: true", "standard: [[0, 1]]", "standard: only the reader delimited has it"),
        (
            "reader: libsvm\n    features: 13",
            "reader: delimited\n    standard: [[0, 1], [0, 1]]\n    features: 1",
            "toy.standard: more pairs than features",
        ),
        ("binary: true", "variable: toy", "variable: what the reader mat-splits needs, and only it"),
        *(
            ("reader: libsvm", f"reader: delimited\n    columns: {given}", f"toy.columns{message}")
            for given, message in (
                ("{label: middle}", ".label: must be one of first, last, not 'middle'"),
                ("{missing: ','}", ".missing: ',' is not a text without commas and outer blanks"),
                ("{values: [{x: one}]}", ".values[0].x: must be a number, not 'one'"),
                ("{values: {no: 1}}", ".values: key must be a whole number or text, not False"),
            )
        ),
    ],
)
def test_faults_are_named(old, new, message):
    assert old in TOY
    with pytest.raises(RegistryError) as caught:
        parse_registry(TOY.replace(old, new))
    assert message in str(caught.value)
    assert str(caught.value).startswith("registry: ")
    assert "\n" not in str(caught.value)


def test_what_the_delimited_reader_is_told():
    text = TOY.replace(
        "reader: libsvm",
        "reader: delimited\n    columns: {label: first, missing: '?', values: [{x: 1, 2: 2}, {o: -1}]}",
    ).replace("{-1: -1, 1: 1}", "{win: 1, 3: -1, draw: null}")
    entry = parse_registry(text).downloaded["toy"]
    assert entry.columns == Columns(label="first", values=({"x": 1.0, "2": 2.0}, {"o": -1.0}), missing="?")
    assert entry.labels == {"win": 1.0, 3.0: -1.0, "draw": None}
    plain = parse_registry(TOY.replace("reader: libsvm", "reader: delimited")).downloaded["toy"]
    assert plain.columns == Columns()
    # These keys determine the arrays made from a file; for a LIBSVM file only its labels do.
    rules = {plain.rules, entry.rules}
    for scale in ("[[0, 1]]", "[[0, 2]]", "[[0, 2], [1, 1]]"):
        scaled = TOY.replace("reader: libsvm", f"reader: delimited\n    standard: {scale}")
        rules.add(parse_registry(scaled).downloaded["toy"].rules)
    assert len(rules) == 5 and "" not in rules
    assert parse_registry(TOY).downloaded["toy"].rules == ""


def test_labels_determine_the_arrays_of_a_libsvm_file():
    given = ("{-1: -1, 1: 1}", "{0: -1, 1: 1}", "{-1: 1, 1: -1}", "{1: -1, 2: 1}", "{1: -1, 2: 1, 3: 1}")
    texts = [TOY.replace(given[0], labels) for labels in given]
    rules = [parse_registry(text).downloaded["toy"].rules for text in texts]
    assert rules[:2] == ["", ""], "one file cannot be read by both"
    assert len(set(rules)) == 4


def test_every_reader_has_one_name():
    assert set(get_args(Reader)) == {*READERS, *READERS_APART}
    assert set(READERS_APART) == APART


def test_every_entry_can_be_fetched_and_read():
    for entry in registry().downloaded.values():
        for file in entry.files.values():
            assert file.sources or entry.obtain, f"{entry.name}/{file.name} has no source"
            for form in file.forms:
                assert (form.reader or entry.reader) in {**READERS, **READERS_APART}
                known = form.sha256 or file.between or file.rows
                assert known, f"{entry.name}/{file.name}: nothing to judge it by"


def test_the_sizes_that_train_on_test_rows_are_known():
    joined = {entry.name: entry for entry in registry().downloaded.values() if entry.test}
    found = {
        (name, part)
        for name, entry in joined.items()
        for part in entry.subsets
        if entry.trains_on_test_rows(entry.parts[part].rows)
    }
    assert found == {(name, "whole") for name in ("rcv1-ccat", "rcv1-c11", "arxiv-astro-ph", "kdd04-physics")}
    assert joined["kdd04-physics"].trains_on_test_rows(40_001)
