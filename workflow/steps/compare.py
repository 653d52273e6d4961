"""Two runs side by side: this one, and another machine's, commit's or scale's.

    python -m svmrepro.workflow.steps.compare --config CONFIG

The other run is the folder that the configuration's ``against`` names: ``results/<scale>`` of any run, or a
committed reference. Compared is what both have, and what one lacks is said. Written are four tables (claims,
measurements, exponents, ratios) and one self-contained page into ``results/<scale>/compare/``, and a figure
for each paper into ``figures/<scale>/compare/``. Its exit code judges nothing: that is what ``check`` is for.
"""

from __future__ import annotations

import base64
import html
from pathlib import Path

from svmrepro.workflow.analysis.results import plural
from svmrepro.workflow.comparison import figure as figures
from svmrepro.workflow.comparison import tables
from svmrepro.workflow.comparison.paired_runs import PairedRuns
from svmrepro.workflow.comparison.sides import read_side
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.style import save, styled
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.judgement.claims import clocked_claims
from svmrepro.workflow.steps.command_line import run_step
from svmrepro.workflow.steps.tabulate import FORMS
from svmrepro.workflow.tables.model import Table, html_body, html_page

STYLE = """
figure { margin: .6rem 0 1rem; }
figure img { width: 100%; max-width: 62rem; height: auto; }
figcaption { color: #3d444d; font-size: .88em; max-width: 62rem; }
h2.paper { font-size: 1.15rem; margin-top: 2.2rem; border-top: 2px solid #1b1f24; padding-top: .6rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
"""

CAPTION = (
    "Left: two contenders on a problem, the ratio of their seconds in the other run and in this one, each "
    "formed within one process, with 95 % intervals; on the diagonal both runs say the same. Right: counts "
    "of each contender, this run over the other; the mark is the median over its rows, the thick line its "
    "95 % interval, the thin one reaches to the extremes."
)

OPEN = "claims"
"""The table that the page shows unfolded."""


def run(config: Config) -> None:
    """Compare the configuration's run with the folder that it names.

    Raises
    ------
    StepError
        If it names none, one without results, or one that has nothing of this run's papers.
    """
    if config.against is None:
        raise StepError(
            "compare: with what? name the folder of another run: "
            f"--config against=results/reference/{config.scale}"
        )
    here = read_side(paths.results(config), config.papers)
    there = read_side(Path(config.against), config.papers)
    if not there.papers:
        raise StepError(f"against: {config.against} has nothing of {', '.join(config.papers)}")
    pair = PairedRuns(here, there, clocked_claims(config))
    for name, build in tables.TABLES.items():
        table = build(pair, here.papers)
        for form, path in paths.table(config, paths.COMPARE, name).items():
            atomic_write(path, FORMS[form](table))
    with styled():
        for paper in there.papers:
            figure = figures.build(pair, paper)
            for form, path in paths.figure(config, paths.COMPARE, paper).items():
                with atomic_path(path) as temporary:
                    save(figure, temporary, form)
    page = _page(config, pair)
    atomic_write(paths.comparison(config), page)
    print(_closing(config, pair))


def _page(config: Config, pair: PairedRuns) -> str:
    """Return the page: what is compared, the summary, then each paper with its figure and tables."""
    title = f"Two runs side by side: {config.scale} scale and {pair.there.folder}"
    parts = [f"<h1>{html.escape(title)}</h1>"]
    for table in (tables.about(pair), tables.summary(pair)):
        parts += [f"<h2>{table.title}</h2>", *html_body(table)]
    for paper in pair.there.papers:
        picture = paths.figure(config, paths.COMPARE, paper)["png"].read_bytes()
        code = base64.b64encode(picture).decode("ascii")
        described = html.escape(
            f"{config.papers[paper].title}: ratios and counts of the two runs", quote=True
        )
        parts += [
            f'<h2 class="paper">{html.escape(config.papers[paper].title)}</h2>',
            f'<figure><img alt="{described}" src="data:image/png;base64,{code}">',
            f"<figcaption>{html.escape(CAPTION)}</figcaption></figure>",
        ]
        for name, build in tables.TABLES.items():
            parts += _folded(build(pair, [paper]), unfolded=name == OPEN)
    return html_page(title, parts, STYLE)


def _folded(table: Table, *, unfolded: bool) -> list[str]:
    """Return a table behind its title; its parts alone where it has no rows."""
    rows = len(table.sections[0].rows)
    if not rows:
        return [f"<p><b>{html.escape(table.title)}</b>: nothing that both runs have.</p>"]
    opening = "<details open>" if unfolded else "<details>"
    said = html.escape(f"{table.title} ({plural(rows, 'line')})")
    return [opening, f"<summary>{said}</summary>", *html_body(table), "</details>"]


def _closing(config: Config, pair: PairedRuns) -> str:
    faults, changed = pair.outcome.faults, pair.changed
    kind = (
        "the same machine and libraries"
        if pair.same_machine
        else "another machine or libraries, or unknown ones"
    )
    words = {key: [verdict or "not listed" for verdict in both] for key, both in pair.claims.items()}
    lines = [
        f"Compared with {pair.there.folder} ({kind}): {plural(len(pair.rows), 'row')} in both, "
        f"{plural(len(pair.claims), 'claim')}, {len(changed)} with another verdict.",
        *(f"  {paper}/{name}: {', against: '.join(words[(paper, name)])}" for paper, name in changed[:10]),
        *(f"  {fault}" for fault in faults[:10]),
    ]
    if len(faults) > 10:
        lines.append(f"  ... and {len(faults) - 10} more beyond what is allowed")
    lines += [
        f"  not in {side.folder}: {'; '.join(side.lacking)}"
        for side in (pair.here, pair.there)
        if side.lacking
    ]
    lines.append(f"Page: {paths.comparison(config)}")
    return "\n".join(lines)


if __name__ == "__main__":
    run_step(run)
