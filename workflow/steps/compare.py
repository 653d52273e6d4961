"""Compare two runs: this one, and one from another machine, commit or scale.

    python -m svmrepro.workflow.steps.compare --config CONFIG

The configuration's ``against`` names the folder of the other run: ``results/<scale>`` of any run, or a
committed reference. Everything that both have is compared; what one lacks is listed. The step writes four
tables (claims, measurements, exponents, ratios) and one self-contained page into
``results/<scale>/compare/``, and one figure per paper into ``figures/<scale>/compare/``. Differences do not
affect its exit code; use ``check`` for that.
"""

from __future__ import annotations

import base64
from collections import Counter

from svmrepro.workflow.comparison import figure as figures
from svmrepro.workflow.comparison import tables
from svmrepro.workflow.comparison.compared_run import read_run
from svmrepro.workflow.comparison.paired_runs import PairedRuns, claim_change
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.configuration.of_folder import config_of
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.style import styled, write
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.judgement.claims import clocked_claims
from svmrepro.workflow.steps._command_line import run_step
from svmrepro.workflow.steps.tabulate import FORMS
from svmrepro.workflow.tables.layout.writers import render


def run(config: Config) -> None:
    """Compare the configuration's run with the folder in its setting ``against``."""
    against = paths.against(config)
    here = read_run(paths.results(config), config.papers).on_data_of(config)
    there = read_run(against, config.papers)
    if not there.papers:
        raise StepError(f"against: {against} has nothing of {', '.join(config.papers)}")
    there = there.on_data_of(config_of(against, there.scale, there.papers))
    pair = PairedRuns(here, there, clocked_claims(config))
    for name, build in tables.TABLES.items():
        table = build(pair, here.papers)
        for form, path in paths.table(config, paths.COMPARE, name).items():
            atomic_write(path, FORMS[form](table))
    for paper in config.papers.keys() - {*there.papers}:
        for old in paths.figure(config, paths.COMPARE, paper).values():  # of an earlier comparison
            old.unlink(missing_ok=True)
    with styled():
        for paper in there.papers:
            write(figures.build(pair, paper), paths.figure(config, paths.COMPARE, paper))
    atomic_write(paths.comparison(config), _page(config, pair))
    print(_closing(config, pair))


def _page(config: Config, pair: PairedRuns) -> str:
    """Return the page: both runs, the summary, then each paper with its figure and tables."""
    papers = []
    for paper in pair.there.papers:
        picture = paths.figure(config, paths.COMPARE, paper)["png"].read_bytes()
        papers.append(
            {
                "title": config.papers[paper].title,
                "picture": base64.b64encode(picture).decode("ascii"),
                "tables": [build(pair, [paper]) for build in tables.TABLES.values()],
            }
        )
    return render(
        "comparison.html.j2",
        title=f"Two runs side by side: {config.scale} scale and {pair.there.folder}",
        overview=(tables.about(pair), tables.summary(pair)),
        papers=papers,
    )


def _tally(counted: Counter[str]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counted.most_common()) or "none"


def _closing(config: Config, pair: PairedRuns) -> str:
    faults, changed = pair.outcome.faults, pair.changed
    words = {key: [verdict or "not listed" for verdict in both] for key, both in pair.claims.items()}
    rows = Counter(row.verdict for row in pair.rows)
    judged = Counter(claim_change(*both) for both in pair.claims.values())
    lines = [
        f"Compared with {pair.there.folder} ({pair.outcome.how}).",
        f"  rows in both: {_tally(rows)}",
        f"  verdicts: {_tally(judged)}",
        *([f"  note: {pair.other_protocol}"] if pair.other_protocol else []),
        *(f"  {paper}/{name}: {', other run: '.join(words[(paper, name)])}" for paper, name in changed[:10]),
        *(f"  {fault}" for fault in faults[:10]),
    ]
    if len(faults) > 10:
        lines.append(f"  ... and {len(faults) - 10} more faults")
    sides = (pair.here, pair.there)
    lines += [f"  not in {side.folder}: {missing}" for side in sides if (missing := pair.missing(side))]
    lines.append(f"Page: {paths.comparison(config)}")
    return "\n".join(lines)


if __name__ == "__main__":
    run_step(run, answers=True)
