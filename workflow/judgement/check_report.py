"""Texts of the check for continuous integration, JUnit XML and Markdown; `steps.check` writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from svmrepro.workflow.judgement.claims import UNMEASURED, VERDICTS
from svmrepro.workflow.judgement.reference_check import ReferenceCheck
from svmrepro.workflow.number_text import plural

Verdicts = Mapping[str, Sequence[Mapping[str, str]]]
"""Paper -> rows of its table of claims."""

_SUITE = "reference run"
_MOST = 40
# Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(scale: str, verdicts: Verdicts, outcome: ReferenceCheck | None) -> str:
    """Return the check as JUnit XML: a suite per paper with a case per claim, and one for the reference.

    A claim that does not hold is a result, not a failure. Failures are the faults of the comparison with the
    reference run; a claim that was not measured is skipped, as is the comparison if there was none.
    """
    suites = {
        paper: [_case(paper, row["id"], row["verdict"], row.get("measured", "")) for row in rows]
        for paper, rows in verdicts.items()
    }
    suites[_SUITE] = _compared(outcome)
    root = ElementTree.Element("testsuites", name=f"svmrepro check, {scale} scale")
    for name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        suite.extend(cases)
        counts = {"tests": len(cases), "failures": len(suite.findall("*/failure")), "errors": 0}
        counts["skipped"] = len(suite.findall("*/skipped"))
        suite.attrib.update({key: str(count) for key, count in counts.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def markdown(
    scale: str, titles: Mapping[str, str], verdicts: Verdicts, outcome: ReferenceCheck | None
) -> str:
    """Return a summary: the tally of verdicts by paper, and the comparison with the reference run."""
    lines = [f"## svmrepro check, {scale} scale", ""]
    lines += [f"| paper | {' | '.join(VERDICTS)} |", "| :-- " + "| --: " * len(VERDICTS) + "|"]
    for paper, rows in verdicts.items():
        tally = Counter(row["verdict"] for row in rows if row["counted"] == "yes")
        counts = " | ".join(str(tally[verdict]) for verdict in VERDICTS)
        lines.append(f"| {_cell(titles[paper])} | {counts} |")
    lines.append("")
    if outcome is None:
        return "\n".join([*lines, "Not compared: there is no reference run.", ""])
    state = f"Not reproduced: {plural(len(outcome.faults), 'fault')}" if outcome.faults else "Reproduced"
    lines.append(f"**{state}** ({outcome.rows:,} of {outcome.of:,} rows compared).")
    lines += ["", *(f"- {_cell(fault)}" for fault in outcome.faults[:_MOST])]
    if len(outcome.faults) > _MOST:
        lines.append(f"- ... and {len(outcome.faults) - _MOST} more, in check.json")
    return "\n".join([*lines, ""])


def _case(paper: str, name: str, verdict: str, measured: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_xml(paper), name=_xml(name))
    if verdict == UNMEASURED:
        ElementTree.SubElement(case, "skipped", message=_xml(verdict))
    ElementTree.SubElement(case, "system-out").text = _xml(f"{verdict}: {measured}")
    return case


def _compared(outcome: ReferenceCheck | None) -> list[ElementTree.Element]:
    case = ElementTree.Element("testcase", classname=_SUITE, name="comparison")
    if outcome is None:
        ElementTree.SubElement(case, "skipped", message="there is no reference run of this scale and paper")
        return [case]
    if not outcome.faults:
        text = "\n".join([f"{outcome.rows} of {outcome.of} rows", *outcome.remarks])
        ElementTree.SubElement(case, "system-out").text = _xml(text)
        return [case]
    cases = []
    for number, fault in enumerate(outcome.faults, start=1):
        case = ElementTree.Element("testcase", classname=_SUITE, name=f"fault {number}")
        ElementTree.SubElement(case, "failure", message=_xml(fault))
        cases.append(case)
    return cases


def _xml(text: str) -> str:
    return _FORBIDDEN.sub("?", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
