"""The experiments of the NIPS paper as they are configured: its own problems, asked for by its name."""

import csv
from pathlib import Path
from typing import Any

import pytest
from engine_support import PROJECT
from svmrepro.solvers import SOLVERS
from svmrepro.workflow.configuration.model import Config, Contender, load_config
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.judgement.claims import read_claims

PAPER = "platt1999"
SCALES = ("smoke", "default", "paper")


def table(name: str) -> dict[str, dict[str, str]]:
    with (PROJECT / "config" / "papers" / f"{PAPER}_{name}.csv").open() as stream:
        return {row["experiment"]: row for row in csv.DictReader(stream)}


TABLE_1, SECONDS, EXPONENTS = table("table1"), table("timings"), table("scaling")


def load(scale: str, **settings: Any) -> Config:
    return load_config({"scale": scale, "papers": [PAPER], **settings})


def options(contender: Contender) -> dict[str, Any]:
    return {**SOLVERS[contender.solver].options, **contender.options}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)


def test_tables_have_the_same_thirteen_rows() -> None:
    assert len(TABLE_1) == 13 and list(TABLE_1) == list(SECONDS) == list(EXPONENTS)
    for name, row in SECONDS.items():
        for solver in ("smo", "svmlight", "chunking"):
            printed = bool(EXPONENTS[name][f"{solver}_exponent"])
            assert printed == (bool(row[f"{solver}_seconds"]) and name != "MNIST"), (name, solver)


@pytest.mark.parametrize("scale", SCALES)
def test_problems_are_those_of_table_1(scale: str) -> None:
    experiments = load(scale).papers[PAPER].experiments
    every = {*TABLE_1, "AdultLin-options", "WebLin-options", "AdultGauss-options", "WebGauss-options"}
    assert set(experiments) == every or (scale == "smoke" and set(experiments) < every)
    for name in set(TABLE_1) & set(experiments):
        found, printed = experiments[name], TABLE_1[name]
        assert (found.dataset, found.C, found.eps) == (printed["dataset"], float(printed["C"]), 1e-3)
        assert found.kernel["name"] == printed["kernel"]
        assert found.kernel.get("sigma2") == (10 if printed["kernel"] == "gaussian" else None)
        assert found.kernel.get("degree") == (5 if printed["kernel"] == "polynomial" else None)
        dense = {contender.storage == "dense" for contender in found.contenders.values()}
        assert dense == {printed["sparse_inputs"] == "N"}


def test_who_takes_part_is_what_table_2_has() -> None:
    experiments = load("paper").papers[PAPER].experiments
    for name, printed in SECONDS.items():
        known = {key.removesuffix("_seconds") for key, text in printed.items() if text and "seconds" in key}
        assert set(experiments[name].contenders) - {"svmlight-cached"} == known, name


@pytest.mark.parametrize("name", TABLE_1)
def test_caches_are_those_of_table_1(name: str) -> None:
    contenders = load("paper").experiment(PAPER, name).contenders
    cached = TABLE_1[name]["kernel_caching"]
    assert options(contenders["smo"])["shrinking"]
    assert options(contenders["smo"])["cache_mb"] == (40 if cached == "Y" else 0)
    if "svmlight" in contenders:
        found = options(contenders["svmlight"])
        assert found["cache_mb"] == (0 if cached == "N" else 40)
        assert (found["q"], found["fold"]) == (10, False)


def test_sizes_are_nested_and_end_at_the_papers() -> None:
    paper, default, smoke = (load(scale).papers[PAPER].experiments for scale in ("paper", "default", "smoke"))
    for name, printed in TABLE_1.items():
        sizes = paper[name].sizes
        assert paper[name].paper_sizes[max(sizes)] == int(printed["n"])
        assert len(sizes) >= 5 and len(default[name].sizes) >= 3
        assert 1200 < max(default[name].sizes) <= max(sizes)
        if name in smoke:
            assert len(smoke[name].sizes) >= 3 and max(smoke[name].sizes) <= 1200
    for experiments in (paper, default, smoke):
        assert all(len(experiments[name].sizes) == 1 for name in experiments if name.endswith("-options"))


@pytest.mark.parametrize(("name", "variants"), [("Lin", (12, 8)), ("Gauss", (8, 4))])
@pytest.mark.parametrize("dataset", ["Adult", "Web"])
def test_options_are_crossed(dataset: str, name: str, variants: tuple[int, int]) -> None:
    contenders = load("default").experiment(PAPER, f"{dataset}{name}-options").contenders
    for solver, count in zip(("smo", "svmlight"), variants, strict=True):
        mine = [contender for contender in contenders.values() if contender.solver == solver]
        settings = {(found.storage, *sorted(options(found).items())) for found in mine}
        assert len(mine) == len(settings) == count
        for contender in mine:
            found, words = options(contender), contender.label
            assert found["shrinking"] == ("no-shrinking" not in words)
            assert (contender.storage == "dense") == words.endswith("dense")
            if not (found["fold"] and name == "Lin"):
                assert found["cache_mb"] == (0 if "no-cache" in words else 40)


def test_it_is_part_of_the_main_job() -> None:
    assert PAPER in load_config({}).papers
    plan = Plan({"scale": "smoke", "papers": [PAPER]})
    assert {plan.target(PAPER, name) for name in ("AdultLin", "benchmarks")} == {"AdultLin", "benchmarks"}


@pytest.mark.parametrize("scale", SCALES)
def test_claims_are_well_formed(scale: str) -> None:
    paper = load(scale).papers[PAPER]
    file = PROJECT / "config" / "claims" / f"{PAPER}.yaml"
    found = read_claims(file, list(paper.experiments), paper.left_out)
    assert len(found) >= 20 and all(len(claim.quote.split()) <= 40 for claim in found)
    assert sum(scale in claim.scales for claim in found) >= 6
    for claim in found:
        known = {
            label for name in claim.quantity["experiments"] for label in paper.experiments[name].contenders
        }
        if not known:  # the scale has none of its experiments
            continue
        named = [claim.quantity.get(key) for key in ("above", "below", "contender", "minus")]
        assert {*filter(None, named), *claim.quantity.get("contenders", ())} <= known, claim.id
