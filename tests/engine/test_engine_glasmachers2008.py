"""The experiments of the PA-SMO paper as they are configured: its own problems, asked for by its name."""

import csv
from pathlib import Path
from typing import Any

import pytest
from engine_support import PROJECT, snakemake
from svmrepro.workflow.configuration import jobs
from svmrepro.workflow.configuration.model import Config, load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.measurement.forecast import Forecast

PAPER = "glasmachers2008"
with (PROJECT / "config" / "papers" / f"{PAPER}_table1.csv").open() as stream:
    TABLE = {row["experiment"]: row for row in csv.DictReader(stream)}
FIGURE = (
    *("banana", "flare-solar", "german", "image", "ringnorm", "splice", "titanic", "twonorm", "waveform"),
    *("chess-board-1000", "chess-board-10000", "chess-board-100000"),
    *("connect-4", "king-rook-vs-king", "internet-ads", "spambase"),
)
#: Sets of the same file as others, which the smoke scale does without.
ALIKE = ("breast-cancer", "diabetis", "flare-solar", "german", "splice", "thyroid", "twonorm")
UCI = ("connect-4", "king-rook-vs-king", "tic-tac-toe", "internet-ads", "ionosphere", "spambase")


def load(scale: str, **settings: Any) -> Config:
    return load_config({"scale": scale, "papers": [PAPER], **settings})


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)


@pytest.mark.parametrize("scale", ["smoke", "default", "paper"])
def test_problems_are_those_of_table_1(scale: str) -> None:
    experiments = load(scale).papers[PAPER].experiments
    missing = {"default": {"chess-board-100000"}, "smoke": {"chess-board-100000", *ALIKE}, "paper": set()}
    assert set(TABLE) - set(experiments) == missing[scale]
    for name, experiment in experiments.items():
        printed = TABLE[name]
        assert experiment.dataset == printed["dataset"]
        assert experiment.kernel == {"name": "gaussian", "gamma": float(printed["gamma"])}
        assert (experiment.C, experiment.eps, experiment.repeats) == (float(printed["C"]), 1e-3, 1)
        assert {"smo", "pasmo", "pasmo-as-printed"} <= set(experiment.contenders)
        assert ("pasmo-2" in experiment.contenders) == (name in FIGURE)
        encoded = {contender.encoding for contender in experiment.contenders.values()} - {None}
        assert len(encoded) == (2 if name in UCI else 0)


def test_sizes_and_permutations_of_the_scales() -> None:
    paper, default, smoke = (load(scale).papers[PAPER].experiments for scale in ("paper", "default", "smoke"))
    printed = {name: int(row["n"]) for name, row in TABLE.items()}
    assert {name: experiment.paper_sizes for name, experiment in paper.items()} == {
        name: {(2359 if name == "internet-ads" else n): n} for name, n in printed.items()
    }
    smaller = {name: experiment.sizes for name, experiment in default.items() if not experiment.paper_sizes}
    assert smaller == {
        "chess-board-10000": (1500,), "connect-4": (4000,), "king-rook-vs-king": (4000,),
    }  # fmt: skip
    assert all(max(experiment.sizes) <= 300 for experiment in smoke.values())
    for experiments, permutations in ((paper, 100), (default, 10), (smoke, 3)):
        assert {experiment.permutations for experiment in experiments.values()} == {permutations}


def test_papers_do_not_change_each_other() -> None:
    every = load_config({}).papers
    assert {"platt1998", PAPER} <= set(every)
    for name, paper in every.items():
        assert load_config({"papers": [name]}).papers == {name: paper}


def test_only_the_first_permutations_have_every_contender() -> None:
    experiment = load("paper").experiment(PAPER, "heart")
    assert len(jobs.rows(experiment)) == 100
    banana = jobs.rows(load("default").experiment(PAPER, "banana"))
    assert [len(row.contenders) for row in banana] == [12] * 5 + [7] * 5
    more = load("default", experiments={PAPER: {"banana": {"permutations": 12}}})
    assert len(jobs.rows(more.experiment(PAPER, "banana"))) == 12
    assert len(jobs.rows(load("default", most_permutations=2).experiment(PAPER, "banana"))) == 2


def test_what_is_left_is_counted_beforehand() -> None:
    config = load("paper")
    runs, _ = Forecast(config, config.experiment(PAPER, "banana")).left()
    assert runs == 22 * 100 * 6 + len(FIGURE) * 5 * 5 + 6 * 10 + len(UCI) * 2 * 3


def test_a_contender_cannot_take_part_in_permutations_that_there_are_not() -> None:
    contenders = {"smo": {"permutations": 2}}
    with pytest.raises(StepError, match=r"adult-linear\.contenders\.smo\.permutations: the experiment has"):
        load_config({"experiments": {"platt1998": {"adult-linear": {"contenders": contenders}}}})


def test_a_problem_at_paper_scale_is_cut_into_blocks() -> None:
    plan = Plan({"scale": "paper", "papers": [PAPER]})
    assert list(plan.jobs(PAPER, "banana"))[:3] == ["n5300-p0", "n5300-p10", "n5300-p20"]


def test_chess_board_is_measured_in_permutations(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "scale": "smoke",
        "papers": [PAPER],
        "experiments": {PAPER: {"chess-board-1000": {"contenders": {"pasmo-20": None}}}},
    }
    target = f"results/smoke/{PAPER}/chess-board-1000/measurements.csv"
    ended = snakemake(tmp_path, settings, target)
    assert ended.returncode == 0, ended.stderr
    with (tmp_path / target).open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == 3 * 11 and {row["status"] for row in found} == {"optimal"}
    assert {row["seed"] for row in found} == {"0", "1", "2"}
