"""Writes the pages of the site; its navigation is in ``templates/_base.html``.

index.html                                    all runs, with the tally of each paper
history.html                                  verdicts and exponents over time
compare.html, compare/<run>--<run>.html       two runs beside each other
graph.html                                    from data to verdicts: the rules and their graph
glossary.html                                 the glossary of the documentation
<run>/index.html                              one run
<run>/machine.html                            its machine, and what was recorded of noise
<run>/solvers_and_data.html                   solvers and data sets: what was measured
<run>/<paper>/index.html                      claims, figures, tables and experiments of a paper
<run>/<paper>/claims/<claim>.html             words, rule, findings with links to their measurements
<run>/<paper>/figures/<figure>.html           the figure with its numbers
<run>/<paper>/tables/<table>.html             a table
<run>/<paper>/experiments/<experiment>.html   measurements, each with its line of JSON
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup, escape
from svmrepro.workflow.comparison import tables
from svmrepro.workflow.comparison.compared_run import ComparedRun, read_run
from svmrepro.workflow.comparison.paired_runs import PairedRuns
from svmrepro.workflow.configuration import as_called, home
from svmrepro.workflow.errors import StepError, writing
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.judgement.claims import UNASKED, UNMEASURED, after_number
from svmrepro.workflow.number_text import plural, signed, significant
from svmrepro.workflow.site.glossary import read_glossary
from svmrepro.workflow.site.records import script
from svmrepro.workflow.site.rule_graph import HEIGHT, WIDTH, drawing, read_graph
from svmrepro.workflow.site.run_folders import expand, find_folders, unfinished, whole_papers
from svmrepro.workflow.site.runs_over_time import by_date, claim_histories, exponent_histories
from svmrepro.workflow.site.shown_run import ShownPaper, ShownRun, mark, read_folder
from svmrepro.workflow.site.timing_record import MANY_FLAGGED, load, machine_facts, noise_facts, timed_records
from svmrepro.workflow.surroundings import flagged_runs
from svmrepro.workflow.tables.layout.cells import BLANK, Cell
from svmrepro.workflow.tables.layout.model import Column, TableSection
from svmrepro.workflow.tables.layout.writers import classes_of, html_environment

HERE = Path(__file__).resolve().parent
MOST_PAIRS = 10
"""Most pairs of runs that get a page each; of more runs, the latest is compared with each of the others."""

ICONS = {"good": "✓", "stand": "✓", "bad": "✗", "bad-stand": "✗", "open": "?", "none": "–"}
"""Signs of the verdicts: colour is never the only difference."""


_NEAR_ONE = re.compile(r"1 ([+\u2212]) (\d+\.?\d*(?:e[-+]?\d+)?)")
"""A ratio near 1 in the tables of a comparison: 1 + 4.2e-05."""

_NUMBER = re.compile(r"[-+\u2212]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)


def write_site(folders: Sequence[Path], out: Path) -> str:
    """Write the site of some runs' folders (none: all of this project) into `out`; say what was written.

    A StepError is raised if there is no run, or if `out` holds anything but such a site. The list of tabs is
    in `templates/_base.html`.
    """
    with TemporaryDirectory() as unpacked:
        return _write_site(folders, out, Path(unpacked))


def _write_site(folders: Sequence[Path], out: Path, unpacked: Path) -> str:
    found = [run for folder in folders for run in expand(folder.resolve(), unpacked)]
    if not folders:
        found = [(folder, "") for folder in find_folders(home())]
    if not found:
        raise StepError(as_called("site: no results yet; `./run` makes them"))
    for line in (line for folder in folders or [home() / "results"] for line in unfinished(folder.resolve())):
        print(line)
    # What is no longer part of the site is removed, so the folder must be the site's own. A full disk may
    # have left folders without a file.
    filled = any(not path.is_dir() for path in out.rglob("*"))
    if out.is_file() or (filled and not (out / "assets" / "site.css").is_file()):
        raise StepError(f"--out: {out} is not empty and not a site; name another folder")
    runs: dict[str, ShownRun] = {}
    for folder, slug in dict.fromkeys(found):
        run = read_folder(folder, slug)
        while run.slug in runs:
            run.slug += "-2"
        runs[run.slug] = run
    # All is read before the earlier site goes.
    titles = Counter(run.title for run in runs.values() if run.papers)
    for run in runs.values():
        run.name = run.slug if titles[run.title] > 1 else ""
    site = Site(list(runs.values()), out)
    site.write()
    return f"{plural(site.pages, 'page')} of {plural(len(runs), 'run')}: {out / 'index.html'}"


class Site:
    """The pages of some runs, to be written into a folder."""

    def __init__(self, runs: Sequence[ShownRun], folder: Path) -> None:
        self.runs = list(runs)
        self.folder = folder
        self.pages = 0

    def write(self) -> None:
        """Write all pages. Files of an earlier site that are no longer made are removed."""
        (self.folder / "index.html").unlink(missing_ok=True)
        earlier = [path.parent.name for path in self.folder.glob("*/machine.html")]
        for each in (*earlier, *(run.slug for run in self.runs), "compare", "vendor"):
            shutil.rmtree(self.folder / each, ignore_errors=True)
        files = [path for each in ("assets", "vendor") for path in (HERE / each).rglob("*")]
        # The style sheet first: by it a later call knows the folder, even if this one is killed.
        for path in sorted(files, key=lambda path: path.name != "site.css"):
            self._copy(path, str(path.relative_to(HERE)))
        for run in self.runs:
            self._write_run(run)
        pairs = self._write_pairs()
        runs = by_date(self.runs)
        histories = claim_histories(runs)
        papers = {paper.name: paper.short for run in runs for paper in run.papers}
        exponents = exponent_histories(runs)
        self._page(
            "history.html", "history.html", runs=runs, claims=histories, exponents=exponents, papers=papers
        )
        self._page("compare.html", "compare.html", pairs=pairs)
        steps = read_graph()
        self._page("graph.html", "graph.html", steps=steps, drawing=drawing(steps), box=(WIDTH, HEIGHT))
        self._page("glossary.html", "glossary.html", sections=read_glossary())
        # Last: if this page exists, all others do.
        self._page("index.html", "index.html", runs=self.runs)

    # -- one run ------------------------------------------------------------------------------------

    def _write_run(self, run: ShownRun) -> None:
        noise = noise_facts(run.records)
        self._page(f"{run.slug}/index.html", "run.html", run=run, noise=noise)
        loads = [
            (paper, experiment, load(found))
            for paper in run.papers
            for experiment in paper.experiments.values()
            if (found := timed_records(experiment.records))
        ]
        facts = machine_facts(run.records)
        known = {"run": run, "facts": facts, "noise": noise, "loads": loads, "limits": flagged_runs}
        self._page(f"{run.slug}/machine.html", "machine.html", MANY_FLAGGED=MANY_FLAGGED, **known)
        self._page(f"{run.slug}/solvers_and_data.html", "solvers_and_data.html", run=run)
        for paper in run.papers:
            self._write_paper(run, paper)

    def _write_paper(self, run: ShownRun, paper: ShownPaper) -> None:
        here = f"{run.slug}/{paper.name}"
        known: dict[str, Any] = {"run": run, "paper": paper}
        self._page(f"{here}/index.html", "paper.html", **known)
        for place, claim in enumerate(paper.claims):
            beside = {
                "before": paper.claims[place - 1] if place else None,
                "after": paper.claims[place + 1] if place + 1 < len(paper.claims) else None,
            }
            self._page(f"{here}/claims/{claim.id}.html", "claim.html", claim=claim, **beside, **known)
        for table in paper.tables:
            self._page(f"{here}/tables/{table.name}.html", "table.html", table=table, **known)
            self._copy(table.csv, f"{here}/tables/{table.name}.csv")
        for figure in paper.figures:
            self._copy(figure.picture, f"{here}/figures/{figure.picture.name}")
            self._page(f"{here}/figures/{figure.name}.html", "figure.html", figure=figure, **known)
        for experiment in paper.experiments.values():
            where = f"{here}/experiments/{experiment.name}"
            self._page(f"{where}.html", "experiment.html", experiment=experiment, **known)
            atomic_write(self.folder / f"{where}.js", script(experiment.records, experiment.axis))

    # -- two runs -----------------------------------------------------------------------------------

    def _write_pairs(self) -> list[dict[str, Any]]:
        """Write a page for each pair of runs that share a paper; return what the overview needs."""
        runs = list(reversed(by_date(self.runs)))
        pairs = list(combinations(runs, 2))
        if len(pairs) > MOST_PAIRS:
            pairs = [(runs[0], other) for other in runs[1:]]
        found = []
        for here, there in pairs:
            whole = {*whole_papers(here.folder)}.intersection(whole_papers(there.folder))
            shared = [
                (paper, other)
                for paper in here.papers
                for other in there.papers
                if paper.name == other.name and paper.name in whole
            ]
            if not shared:
                continue
            name = f"compare/{here.slug}--{there.slug}.html"
            names = [paper.name for paper, _ in shared]
            pair = PairedRuns(_named(here, names), _named(there, names))
            self._page(
                name,
                "pair.html",
                here=here,
                there=there,
                overview=[tables.about(pair), tables.summary(pair)],
                papers=[
                    {
                        "paper": paper,
                        "tables": [build(pair, [paper.name]) for build in tables.TABLES.values()],
                        "figures": _both(paper, other),
                    }
                    for paper, other in shared
                ],
            )
            judged = [both for both in pair.claims.values() if not {*both} & {"", UNMEASURED}]
            found.append(
                {
                    "here": here,
                    "there": there,
                    "page": name,
                    "papers": [paper for paper, _ in shared],
                    "judged": len(judged),
                    "changed": len(pair.changed),
                    "rows": len(pair.rows),
                }
            )
        return sorted(found, key=lambda each: each["rows"], reverse=True)

    # -- files --------------------------------------------------------------------------------------

    def _page(self, name: str, template: str, **values: Any) -> None:
        root = "../" * name.count("/")
        text = templates().get_template(template).render(root=root, page=name, site=self, **values)
        atomic_write(self.folder / name, text)
        self.pages += 1

    def _copy(self, source: Path, name: str) -> None:
        if source.is_file():
            target = self.folder / name
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


@cache
def templates() -> Environment:
    """Return the templates of the site; text is escaped."""
    environment = html_environment(HERE / "templates")
    environment.filters |= {"data": _data, "fragment": _fragment, "number": _number, "plural": plural}
    environment.filters |= {"of": after_number, "signed": signed, "linked": _linked, "exponent": _exponent}
    environment.filters |= {"rows": _rows, "order": _order}
    environment.globals |= {"ICONS": ICONS, "mark": mark, "UNASKED": UNASKED}
    return environment


def _named(run: ShownRun, papers: Sequence[str]) -> ComparedRun:
    """Read a run for a comparison, named as on the site: pages tell no paths of the machine."""
    return replace(read_run(run.folder, papers).on_data_of(run.config), folder=Path(run.slug))


def _both(paper: ShownPaper, other: ShownPaper) -> list[tuple[Any, Any]]:
    """Return the figures that both runs have."""
    theirs = {figure.name: figure for figure in other.figures}
    return [(figure, theirs[figure.name]) for figure in paper.figures if figure.name in theirs]


def _rows(section: TableSection) -> Iterator[list[tuple[Column, Cell, str]]]:
    """Yield the cells of each row with columns and CSS classes: all of them, since the rows can be sorted."""
    above = ""
    for row in section.rows:
        cells = [(column, row.get(column.key, BLANK)) for column in section.shown]
        classes = [classes_of(*both, first=place == 0) for place, both in enumerate(cells)]
        column, first = cells[0]
        if column.prose and first.text == above and not first.detail:
            classes[0] += " repeated"
        above = first.text
        yield [(*both, names) for both, names in zip(cells, classes, strict=True)]


def _order(text: str) -> str:
    """Return the number by which a cell is sorted; "" if it has none."""
    if text == "below clock":
        return "0"
    if off := _NEAR_ONE.fullmatch(text):
        return repr(1 + float(off[1].replace("\N{MINUS SIGN}", "-") + off[2]))
    bound, number = (text[0], text[1:].lstrip()) if text[:1] in ("<", ">") else ("", text)
    found = _NUMBER.match(number)
    if not found:
        return ""
    plain = found[0].replace(",", "").replace("\N{MINUS SIGN}", "-")
    # A bound comes before or after the same number, but not beyond the next one.
    beyond = {"<": -1e-6, ">": 1e-6}.get(bound)
    return plain if beyond is None else repr(float(plain) + beyond * abs(float(plain)))


def _data(value: Any) -> Markup:
    """Return a value as JSON within a script element, where nothing may look like the element's end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Markup(re.sub(r"<(?=[/!])", r"\\u003c", text))


def _fragment(values: Mapping[str, Any]) -> str:
    """Return a link's part after #, which selects measurements: ``#n=1605&contender=smo,chunking``."""
    shown = {
        key: [value] if isinstance(value, (int, str)) else value for key, value in values.items() if value
    }
    return (
        Markup("#" + urlencode({key: ",".join(map(str, each)) for key, each in shown.items()}))
        if shown
        else ""
    )


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else significant(float(value), digits)


def _exponent(value: float | None) -> str:
    return "–" if value is None else signed(f"{value:z.2f}")


def _linked(text: str, paper: ShownPaper, to: str) -> Markup:
    """Return what was measured; an experiment that it names, with its size, is a link to the measurements."""
    names = sorted(paper.experiments, key=len, reverse=True)
    if not names:
        return escape(signed(text))
    named = re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])((?:, [^\d:;,()]+)?, n = ([\d,]+\d))?"
    )
    parts, end = [], 0
    for found in named.finditer(text):
        shown = {"n": int(found[3].replace(",", ""))} if found[3] else {}
        link = f"{to}{found[1]}.html{_fragment(shown)}"
        parts += [
            escape(signed(text[end : found.start()])),
            Markup('<a href="{}">{}</a>').format(link, found[0]),
        ]
        end = found.end()
    return Markup("").join([*parts, escape(signed(text[end:]))])
