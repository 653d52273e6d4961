"""Synthetic runs of experiments over n, C or eps, and claims about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from svmrepro.workflow.analysis.fits import compare_contenders
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import MeasuredRun, Runs
from svmrepro.workflow.configuration.model import Contender, Experiment, Paper
from svmrepro.workflow.judgement.claims import Claim
from svmrepro.workflow.statistics import Interval

CONTENDERS = {name: Contender(name, name, bias=False) for name in ("svmperf", "svmlight", "exact")}


def experiment(name: str, axis: str | None = None, measures: tuple[str, ...] = ()) -> Experiment:
    return Experiment(
        name=name,
        paper="joachims2006",
        title=name.capitalize(),
        dataset=name,
        kernel={"name": "linear"},
        C=None,
        C_total=1000.0,
        eps=1e-3,
        sizes=(1000, 2000, 4000),
        paper_sizes={},
        seeds=(None,),
        repeats=2,
        repeat_budget=None,
        contenders=CONTENDERS,
        axis=axis,
        measures=measures,
    )


def run(name: str, contender: str, n: int, point: float | None = None, **fields: Any) -> MeasuredRun:
    """Return one line of measurements as text; the fields include `repeat` and `status`."""
    base = {"experiment": name, "contender": contender, "n": n, "point": "" if point is None else point}
    base |= {"seed": "", "repeat": 0, "run_id": "r", "status": "optimal", "reason": "", "flagged": "false"}
    base |= {"certificate.passed": "true"}
    return MeasuredRun({key: str(value) for key, value in {**base, **fields}.items()})


def results(runs: list[MeasuredRun], *experiments: Experiment) -> Results:
    paper = Paper("joachims2006", "Joachims", {entry.name: entry for entry in experiments}, {})
    numbers = PaperNumbers(Path("nowhere"), paper.name)
    return Results(SimpleNamespace(scale="default"), paper, Runs(tuple(runs)), {}, {}, numbers)


def with_ratios(found: Results, name: str) -> Results:
    """Return the results with the ratios between the contenders of an experiment."""
    keys = ("experiment", "n", "numerator", "denominator", "quantity")
    ratios = {
        tuple(line[key] for key in keys): Interval(line["ratio"], line["low"], line["high"])
        for line in compare_contenders(found.runs, found.experiment(name))
    }
    return replace(found, ratios=ratios)


def claim(**changes: Any) -> Claim:
    fields = {
        "id": "c",
        "kind": "detail",
        "where": "p. 1",
        "quote": "q",
        "reading": "r",
        "quantity": {},
        "scales": ("paper",),
    }
    return Claim(**fields | {"rule": {"at-least": 1.0}} | changes)
