"""A run's folder with four measurements, two claims, a table and figures, and a site of it."""

import json
import shutil

import pytest
from site_support import EXPERIMENT, PAPER, figure, lines, map_figure, noted_figure, table
from support import PROJECT, write_rows
from svmrepro.workflow.figures.style import write
from svmrepro.workflow.journal.journal_line import dump_lines
from svmrepro.workflow.site.pages import write_site
from svmrepro.workflow.tables.layout.writers import to_html


@pytest.fixture(scope="session")
def site(run, tmp_path_factory):
    """The site of the run and of the committed reference of the smoke scale."""
    out = tmp_path_factory.mktemp("site")
    write_site([run, PROJECT / "results" / "reference" / "smoke"], out)
    return out


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The folder of the run."""
    root = tmp_path_factory.mktemp("site-run")
    folder = root / "results" / "smoke"
    paper = folder / PAPER
    current = lines()
    jobs = paper / EXPERIMENT / "runs" / "all.jsonl"
    jobs.parent.mkdir(parents=True)
    jobs.write_bytes(dump_lines(current))
    journal = folder / "journal" / PAPER / f"{EXPERIMENT}.jsonl"
    journal.parent.mkdir(parents=True)
    older = [{**line, "run_id": "before", "iterations": 1} for line in current]
    journal.write_bytes(dump_lines([*older, *current]) + b'{"schema":1,"run_')
    claim = {
        "id": "smo-faster",
        "verdict": "holds",
        "quote": "SMO is faster </script>",
        "where": "page 1",
        "reading": "Ratio of seconds.",
        "rule": "at least 2x",
        "measured": f"{EXPERIMENT}: 100x",
        "counted": "yes",
        "on_paper": "holds",
    }
    open_claim = {**claim, "id": "smo-linear", "verdict": "not decided", "quote": "SMO scales as N."}
    write_rows(paper / "claims.csv", [claim, open_claim])
    finding = {"label": f"{EXPERIMENT}, n = 400", "experiment": EXPERIMENT, "n": 400, "contenders": ["smo"]}
    finding |= {"verdict": "holds", "value": 100.0, "low": 90.0, "high": 110.0, "paper": 80.0, "reason": ""}
    (paper / "claims.json").write_text(json.dumps({"claims": [{"id": "smo-faster", "findings": [finding]}]}))
    (paper / "timing-adult-linear.html").write_text(to_html(table()))
    (paper / "timing-adult-linear.csv").write_text("n\n1605\n")
    figures = root / "figures" / "smoke" / PAPER
    write(figure(), {form: figures / f"loglog-adult-linear.{form}" for form in ("svg", "png", "json")})
    write(map_figure(), {form: figures / f"loglog-adult-gaussian.{form}" for form in ("svg", "json")})
    write(noted_figure(), {form: figures / f"notes.{form}" for form in ("svg", "json")})
    shutil.copy(figures / "loglog-adult-linear.svg", figures / "overview.svg")
    return folder
