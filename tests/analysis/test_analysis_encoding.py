"""The comparison of Adult's encodings in a table, with the files and without."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import analysis_support as synthetic
import pytest
from svmrepro import datasets
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables import adult_encoding
from svmrepro.workflow.tables.writers import to_csv

ARTEFACT = Artefact("encoding", "encoding", "table", (), "Encodings", "")


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Return a maker of the table's lines from what the files give, or from why they cannot be had."""
    config = synthetic.make_config(tmp_path)

    def make(outcome):
        def compare(data_dir, mirror):
            assert (data_dir, mirror) == (config.data_dir, config.mirror)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(datasets, "compare_encoding", compare)
        table = adult_encoding.build(SimpleNamespace(config=config), ARTEFACT)
        return list(csv.DictReader(to_csv(table).splitlines()))

    return make


def test_a_line_for_each_attribute(lines):
    row = {
        "part": "adult.data and a9a",
        "attribute": "age",
        "columns_ours": 5,
        "columns_a9a": 5,
        "rows": 32561,
        "rows_agreeing": 32560,
        "note": "quintiles",
    }
    (line,) = lines([row])
    assert {key: line[key] for key in row} == {key: str(value) for key, value in row.items()}


def test_files_that_cannot_be_had_are_told(lines):
    (line,) = lines(datasets.DatasetUnavailable("adult (a9a)", ["no network\nhere"]))
    assert "not run: " in " ".join(line.values()) and "no network here" in " ".join(line.values())
