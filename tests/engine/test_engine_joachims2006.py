"""The experiments of the SVM-perf paper as they are configured."""

import csv
from pathlib import Path
from typing import Any

import pytest
from engine_support import PROJECT
from svmrepro.workflow.analysis.curves import KEYS
from svmrepro.workflow.configuration.model import Config, load_config
from svmrepro.workflow.judgement.claims import read_claims

PAPER = "joachims2006"
SCALES = ("smoke", "default", "paper")
WITH_C = (
    *(f"{name}-precision" for name in ("adult", "web", "mnist-8", "rcv1-like")),
    "adult-methods",
    "adult-mfn",
    "web-methods",
)
OWN = ("reuters-ccat", "reuters-c11", "arxiv-astro-ph", "covertype-1", "kdd04-physics")


def load(scale: str, **settings: Any) -> Config:
    return load_config({"scale": scale, "papers": [PAPER], **settings})


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)


def test_the_paper_scale_has_the_sets_of_table_1() -> None:
    with (PROJECT / "config" / "papers" / f"{PAPER}_timings.csv").open() as stream:
        printed = {row["experiment"]: row for row in csv.DictReader(stream)}
    experiments = load("paper").papers[PAPER].experiments
    assert tuple(printed) == OWN
    bounds = {"reuters-ccat": 1e4, "reuters-c11": 5e4, "arxiv-astro-ph": 2e4, "covertype-1": 1e6}
    for name, C in {**bounds, "kdd04-physics": 2e4}.items():
        assert experiments[name].C_total == C
        largest = experiments[name].sizes[-1]
        # Of KDD04 physics, the labels of 50,000 are public.
        assert largest == (50_000 if name == "kdd04-physics" else int(printed[name]["n"]))


@pytest.mark.parametrize("scale", SCALES)
def test_no_problem_has_a_bias_and_C_is_n_times_a_bound(scale: str) -> None:
    for name, experiment in load(scale).papers[PAPER].experiments.items():
        assert experiment.kernel == {"name": "linear"} and experiment.eps == 1e-3
        assert not any(contender.bias for contender in experiment.contenders.values())
        assert (experiment.C is None) == (name not in WITH_C)
        assert bool(experiment.points) == name.endswith(("-C", "-eps", "-best", "-precision"))


@pytest.mark.parametrize("scale", SCALES)
def test_claims_and_figures_ask_for_what_is_measured(scale: str) -> None:
    config = load(scale)
    paper = config.papers[PAPER]
    path = PROJECT / "config" / "claims" / f"{PAPER}.yaml"
    claims = read_claims(path, list(paper.experiments), paper.left_out)
    assert len(claims) > 15
    assert {f"figure{k}" for k in (1, 2, 3, 4, 5, 6, "7a", "7b", 8, 9)} <= set(paper.artefacts)
    for artefact in paper.artefacts.values():
        for panel in artefact.settings.get("panels", ()):
            assert set(artefact.settings.get("y", {})) | set(panel.get("y", {})) <= KEYS
            names = [name for name in artefact.experiments if name in paper.experiments]
            assert any(panel["contender"] in paper.experiments[name].contenders for name in names)


def test_generated_test_sets_are_no_training_sets() -> None:
    for scale in SCALES:
        for experiment in load(scale).papers[PAPER].experiments.values():
            if experiment.test is not None and experiment.test.rows is not None:
                assert experiment.test.skip >= experiment.sizes[-1]
