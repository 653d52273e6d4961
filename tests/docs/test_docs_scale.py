"""The numbers of the page "Scale on paper" follow from its inputs by the formulae that it gives."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from docs_support import PROJECT
from sitekit import scale as page
from sitekit.parts import PartError, Texts
from sitekit.scale import Scale
from svmrepro.workflow.configuration.model import load_config

FITS = ("experiment", "contender", "quantity", "source", "exponent", "intercept", "n_min", "n_max")


def write(file: Path, head: tuple[str, ...], *rows: tuple[Any, ...]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as handle:
        csv.writer(handle).writerows([head, *rows])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a reference run of two papers: laws for one, means and ratios for the other."""
    for name in ("config", "docs"):
        (tmp_path / name).symlink_to(PROJECT / name)
    platt = tmp_path / "results" / "reference" / "default" / "platt1998"
    law = ("adult-linear", "smo", "cpu_seconds", "measured", 2.0, math.log(1e-6), 1605, 8000)
    work = ("adult-linear", "smo", "work", "measured", 1.0, 0.0, 1605, 8000)
    write(platt / "fits.csv", FITS, law, work)
    write(platt / "ratios.csv", ("experiment", "n", "numerator", "denominator", "quantity", "ratio"))
    sets = tmp_path / "results" / "reference" / "paper" / "glasmachers2008"
    write(sets / "fits.csv", FITS)
    write(
        sets / "smo-pasmo.csv",
        ("experiment", "n", "smo_seconds", "paper_smo_seconds"),
        ("heart", 270, 0.5, 9),
    )
    write(sets / "data-sets.csv", ("experiment", "n", "permutations"), ("heart", 270, 20))
    ratio = ("heart", 270, "pasmo", "smo", "cpu_seconds", 0.5)
    write(sets / "ratios.csv", ("experiment", "n", "numerator", "denominator", "quantity", "ratio"), ratio)
    return tmp_path


def of(root: Path) -> dict[str, page.Cost]:
    return {cost.paper: cost for cost in Scale(Texts(root, root / "docs", "scale")).costs}


def test_a_law_is_continued_to_the_sizes_of_the_paper(root: Path) -> None:
    cost = of(root)["platt1998"]
    sizes = (1605, 2265, 3185, 4781, 6414, 11220, 16100, 22696, 32561)
    wanted, runs = 0.0, 0
    for n in sizes:
        seconds = 1e-6 * n**2
        repeats = next(k for k in (1, 2, 3) if k == 3 or k * seconds >= 30)
        wanted, runs = wanted + repeats * seconds, runs + repeats
    assert cost.seconds == pytest.approx(wanted) and cost.runs == runs < 27
    assert cost.scale == "default" and cost.stretch == pytest.approx(32561 / 8000)
    assert cost.untold > 0


def test_what_was_not_measured_is_guessed_from_the_other_sets(root: Path) -> None:
    cost = of(root)["platt1998"]
    others = [
        (experiment, n)
        for experiment in load_config({"scale": "paper"}).papers["platt1998"].experiments.values()
        if experiment.name != "adult-linear" and "smo" in experiment.contenders
        for n in experiment.sizes
    ]
    wanted, runs = 0.0, 0
    for experiment, n in others:
        times = page.repeats(experiment, 1e-6 * n**2) * len(experiment.seeds_of(experiment.contenders["smo"]))
        wanted, runs = wanted + times * 1e-6 * n**2, runs + times
    assert (cost.guessed_runs, cost.guessed) == (runs, pytest.approx(wanted))


def test_means_and_ratios_stand_for_experiments_of_one_size(root: Path) -> None:
    cost = of(root)["glasmachers2008"]
    assert (cost.runs, cost.scale) == (200, "paper")
    assert cost.seconds == pytest.approx(100 * 0.5 + 100 * 0.25)
    assert cost.made == pytest.approx(cost.seconds / 5)


def test_a_paper_without_a_run_is_not_guessed_at(root: Path) -> None:
    cost = of(root)["joachims2006"]
    assert cost.scale is None and cost.runs == 0 and cost.jobs > 100 and cost.untold > 1000


def test_planning_is_the_line_through_what_was_measured(root: Path) -> None:
    found = Scale(Texts(root, root / "docs", "scale"))
    found.record["dag"]["runs"] = [
        {"jobs": jobs, "cpu_seconds": 2 + jobs / 500, "peak_bytes": 1e8 + 3e4 * jobs}
        for jobs in (100, 900, 20_000)
    ]
    assert found.planning(50_000) == pytest.approx(102)
    assert found.planning_bytes(50_000) == pytest.approx(1.6e9)


def test_a_missing_input_is_named(root: Path) -> None:
    (root / "docs").unlink()
    (root / "docs").mkdir()
    with pytest.raises(
        PartError, match=r"no docs/scale\.json; make it: \./run python docs/measure_scale\.py"
    ):
        Scale(Texts(root, root / "docs", "scale"))
    (root / "docs" / "scale.json").write_text(json.dumps({"dag": {}}))
    with pytest.raises(PartError, match=r"docs/scale\.json has no 'start'"):
        Scale(Texts(root, root / "docs", "scale"))


def test_the_bar_of_planning_is_held_by_what_was_measured() -> None:
    largest = json.loads((PROJECT / "docs" / "scale.json").read_text())["dag"]["runs"][-1]
    assert largest["jobs"] >= 20_000 and largest["peak_bytes"] < 2e9
