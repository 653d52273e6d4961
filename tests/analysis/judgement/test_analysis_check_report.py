"""The check as JUnit XML and as a summary."""

from xml.etree import ElementTree

import pytest
from analysis_support import checked
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.judgement import claims
from svmrepro.workflow.judgement.check_report import junit, markdown
from svmrepro.workflow.judgement.reference_check import ReferenceCheck

VERDICTS = {
    "one": [
        {"id": "a", "verdict": "holds", "measured": "2 < 3 & \x00", "counted": "yes"},
        {"id": "b", "verdict": "does not hold", "measured": "4", "counted": "yes"},
        {"id": "c", "verdict": "not measured here", "measured": "", "counted": "yes"},
    ]
}


def suites(outcome):
    return {suite.get("name"): suite for suite in ElementTree.fromstring(junit("smoke", VERDICTS, outcome))}


def test_a_claim_that_does_not_hold_is_no_failure():
    suite = suites(ReferenceCheck(True, rows=3, of=3))["one"]
    assert [case.get("name") for case in suite] == ["a", "b", "c"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "0", "1")
    assert suite[0].findtext("system-out") == "holds: 2 < 3 & ?"


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (None, ("1", "0", "1")),
        (ReferenceCheck(True, rows=3, of=3), ("1", "0", "0")),
        (ReferenceCheck(True, ["x | <y>", "z"], rows=2, of=3), ("2", "2", "0")),
    ],
)
def test_faults_are_failures(outcome, counts):
    suite = suites(outcome)["reference run"]
    assert tuple(suite.get(key) for key in ("tests", "failures", "skipped")) == counts
    said = markdown("smoke", {"one": "One"}, VERDICTS, outcome)
    counts = [sum(row["verdict"] == verdict for row in VERDICTS["one"]) for verdict in claims.VERDICTS]
    assert sum(counts) == 3 and f"| One | {' | '.join(map(str, counts))} |" in said
    if outcome and outcome.faults:
        assert "**Not reproduced: 2 faults**" in said and "- x \\| &lt;y>" in said


def test_the_step_writes_both(full, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    checked(full)
    assert summary.read_text().startswith("## svmrepro check")
    assert ElementTree.parse(paths.check(full).with_suffix(".xml")).getroot().tag == "testsuites"
