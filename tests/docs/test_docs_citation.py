"""CITATION.cff and CHANGELOG.md keep the form that tools read."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml
from docs_support import PROJECT

PAPERS = {
    "Sequential minimal optimization": ("Platt", 1998),
    "Using analytic QP and sparseness": ("Platt", 1999),
    "The planning-ahead SMO algorithm": ("Glasmachers", 2008),
    "Training linear SVMs in linear time": ("Joachims", 2006),
}
# Keys and types of the Citation File Format 1.2.0, as far as they occur here.
TOP = {
    "cff-version", "message", "type", "title", "abstract", "version", "license", "authors", "keywords",
    "references", "date-released", "repository-code", "url",
}  # fmt: skip
REFERENCE = {
    "type", "title", "authors", "year", "month", "number", "institution", "conference", "collection-title",
    "journal", "volume", "issue", "start", "end", "doi", "url", "notes",
}  # fmt: skip
TYPES = {"conference-paper", "report"}


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    content = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def project() -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return content


def test_software(citation: dict[str, Any]) -> None:
    assert set(citation) <= TOP
    assert citation["cff-version"] == "1.2.0" and isinstance(citation["cff-version"], str)
    assert citation["type"] == "software"
    assert citation["message"] and citation["authors"]
    described = project()
    assert citation["title"] == described["name"]
    assert citation["version"] == described["version"]
    assert citation["license"] == described["license"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in described["authors"]
    ]


def test_the_four_papers(citation: dict[str, Any]) -> None:
    assert len(citation["references"]) == len(PAPERS)
    for reference, (title, (author, year)) in zip(citation["references"], PAPERS.items(), strict=True):
        assert set(reference) <= REFERENCE
        assert reference["type"] in TYPES
        assert reference["title"].startswith(title)
        assert [set(person) for person in reference["authors"]] == [{"family-names", "given-names"}]
        assert reference["authors"][0]["family-names"] == author
        assert reference["year"] == year
        assert reference.get("month", 1) in range(1, 13)
        for entity in ("institution", "conference"):
            assert set(reference.get(entity, {"name": ""})) == {"name"}


def test_changelog() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    unreleased = text.partition("## [Unreleased]")[2].partition("\n## [")[0]
    assert len(re.findall(r"^- ", unreleased, re.MULTILINE)) >= 1
