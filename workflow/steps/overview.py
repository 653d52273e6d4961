"""The first page of the report: how many claims hold, the main ones, and where to read on.

    python -m svmrepro.workflow.steps.overview --config CONFIG

Writes the verdicts, then the text of ``workflow/report/workflow.rst``, beside the report and under its name.
Snakemake reads this file when it makes the report.
"""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.configuration import ROOT, Config, paths
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.judgement.claims import HEADLINE
from svmrepro.workflow.site.pages import templates
from svmrepro.workflow.site.shown_run import ShownClaim, read_folder
from svmrepro.workflow.steps._command_line import run_step


def run(config: Config) -> None:
    """Run the step; see the module docstring."""
    words = (ROOT / "workflow" / "report" / "workflow.rst").read_text(encoding="utf-8")
    judged = [
        paper
        for paper in read_folder(paths.results(config)).papers
        if paper.claims and paper.name in config.papers
    ]
    block = ""
    if judged:
        main = {paper.name: _main(paper.claims) for paper in judged}
        shown = templates().get_template("verdicts.html").render(papers=judged, main=main)
        # Snakemake renders the whole text as a template; quotes must stay as they are.
        html = "\n".join(f"   {line}" for line in shown.splitlines() if line.strip())
        block = f"{{% raw %}}\n.. raw:: html\n\n{html}\n\n{{% endraw %}}\n\n"
    atomic_write(paths.report_text(config), block + words)


def _main(claims: Sequence[ShownClaim]) -> list[ShownClaim]:
    """Return the headlines; at a scale that judges none of them, the details that it does judge."""
    counted = [claim for claim in claims if claim.tallied]
    headlines = [claim for claim in counted if claim.kind == HEADLINE]
    if any(claim.mark != "none" for claim in headlines):
        return headlines
    # Several rules may test one sentence.
    details = {(claim.verdict, claim.quote): claim for claim in counted if claim.mark != "none"}
    return list(details.values()) or headlines


if __name__ == "__main__":
    run_step(run)
