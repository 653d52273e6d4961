"""CITATION.cff and CHANGELOG.md are machine-readable."""

import re
import tomllib

import yaml
from docs_support import PROJECT, papers

CITATION = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
# Keys of the Citation File Format 1.2.0 that are used here.
TOP = "cff-version message type title abstract version license authors keywords references"
REFERENCE = "type title authors year month number institution conference collection-title"


def test_software():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert set(CITATION) <= set(TOP.split())
    assert CITATION["cff-version"] == "1.2.0" and CITATION["type"] == "software" and CITATION["message"]
    for key in ("version", "license", "authors"):
        assert CITATION[key] == project[key]
    assert CITATION["title"] == project["name"]


def test_the_papers():
    assert [
        f"{reference['authors'][0]['family-names'].lower()}{reference['year']}"
        for reference in CITATION["references"]
    ] == papers()
    for reference in CITATION["references"]:
        assert set(reference) <= set(REFERENCE.split()) and reference["title"]
        assert reference["type"] in {"conference-paper", "report"}
        assert reference.get("month", 1) in range(1, 13)
        assert all(set(person) == {"family-names", "given-names"} for person in reference["authors"])
        assert all(set(reference.get(key, {"name": ""})) == {"name"} for key in ("institution", "conference"))


def test_changelog():
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *released = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in released)
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
