"""The verdicts of a run as a piece of HTML, which needs no other file: for the first page of the report."""

from __future__ import annotations

from collections.abc import Container

from svmrepro.workflow.judgement.claims import HEADLINE
from svmrepro.workflow.site.pages import templates
from svmrepro.workflow.site.shown_run import ShownRun


def verdict_html(run: ShownRun, wanted: Container[str]) -> str:
    """Return the tally and the main claims of each of the `wanted` papers; "" if none is judged."""
    papers = [paper for paper in run.papers if paper.claims and paper.name in wanted]
    if not papers:
        return ""
    main = {
        paper.name: [claim for claim in paper.claims if claim.kind == HEADLINE and claim.tallied]
        for paper in papers
    }
    return templates().get_template("verdicts.html").render(papers=papers, main=main)
