"""The table that compares Adult's encodings, with the files and without."""

from types import SimpleNamespace

from svmrepro import datasets
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables import adult_encoding

ROW = {
    "part": "adult.data and a9a", "attribute": "age", "columns_ours": 5, "columns_a9a": 5, "rows": 32561,
    "rows_agreeing": 32560, "note": "quintiles",
}  # fmt: skip


def shown(monkeypatch, compare):
    """Return the first row of the table, from the files or from the reasons why they are not available."""
    monkeypatch.setattr(datasets, "compare_encoding", compare)
    results = SimpleNamespace(config=SimpleNamespace(data_dir="data", mirror="mirror"))
    table = adult_encoding.build(results, Artefact("encoding", "encoding", "table", (), "Encodings", ""))
    return table.sections[0].rows[0]


def test_a_line_for_each_attribute_or_why_there_is_none(monkeypatch):
    def absent(*_):
        raise datasets.DatasetUnavailable("adult (a9a)", ["no network\nhere"])

    cells = shown(monkeypatch, lambda *places: [ROW] if places == ("data", "mirror") else [])
    assert {key: cell.value for key, cell in cells.items()} == ROW
    assert "no network here" in shown(monkeypatch, absent)["part"].reason
