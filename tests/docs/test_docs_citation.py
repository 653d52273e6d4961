"""CITATION.cff agrees with the project, and CHANGELOG.md has its form."""

import re
import tomllib

import yaml
from docs_support import PROJECT, papers

CITATION = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))


def test_software():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert CITATION["cff-version"] == "1.2.0" and CITATION["type"] == "software" and CITATION["message"]
    for key in ("version", "license", "authors"):
        assert CITATION[key] == project[key]
    assert CITATION["title"] == project["name"]


def test_the_papers():
    assert [
        f"{reference['authors'][0]['family-names'].lower()}{reference['year']}"
        for reference in CITATION["references"]
    ] == papers()


def test_changelog():
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *released = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in released)
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
