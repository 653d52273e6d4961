"""The papers' experiments as configured: the problems that the papers print, at every scale."""

import pytest
from engine_support import PROJECT
from support import rows_of
from svmrepro.solvers import SOLVERS
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.judgement.claims import read_claims

SCALES = ("smoke", "default", "paper")


def experiments(paper, scale, **settings):
    return dict(load_config({"scale": scale, "papers": [paper], **settings}).papers[paper].experiments)


def table(paper, name):
    return {row["experiment"]: row for row in rows_of(PROJECT / "config" / "papers" / f"{paper}_{name}.csv")}


def test_papers_do_not_change_each_other():
    every = load_config({}).papers
    assert {"platt1998", "platt1999", "glasmachers2008", "joachims2006"} <= set(every)
    for name, paper in every.items():
        assert load_config({"papers": [name]}).papers == {name: paper}


@pytest.mark.parametrize("name", ["platt1998", "platt1999", "glasmachers2008", "joachims2006"])
@pytest.mark.parametrize("scale", SCALES)
def test_claims_ask_for_what_is_measured(name, scale):
    paper = load_config({"scale": scale, "papers": [name]}).papers[name]
    file = PROJECT / "config" / "claims" / f"{name}.yaml"
    found = read_claims(file, list(paper.experiments), paper.left_out)
    assert len(found) > 15 and all(0 < len(claim.quote.split()) <= 40 for claim in found)
    # Seconds are not judged at smoke scale, and tests need more than three permutations.
    assert sum(scale in claim.scales for claim in found) >= (1 if name == "glasmachers2008" else 6)
    for claim in found:
        # counted work never stands for seconds
        assert not (claim.counted and claim.quantity.get("of") == "work"), claim.id
        measured = [
            paper.experiments[each] for each in claim.quantity["experiments"] if each not in paper.left_out
        ]
        known = {label for experiment in measured for label in experiment.contenders}
        if not known:  # the scale has none of its experiments
            continue
        named = [claim.quantity.get(key) for key in ("above", "below", "contender", "minus")]
        assert {*filter(None, named), *claim.quantity.get("contenders", ())} <= known, claim.id


TABLE_1, SECONDS, EXPONENTS = (table("platt1999", name) for name in ("table1", "timings", "scaling"))


def options(contender):
    return {**SOLVERS[contender.solver].options, **contender.options}


@pytest.mark.parametrize("scale", SCALES)
def test_problems_of_platt1999_are_those_of_table_1(scale):
    every = experiments("platt1999", scale)
    added = {
        f"{each}-{arm}"
        for each in ("AdultLin", "WebLin", "AdultGauss", "WebGauss")
        for arm in ("options", "equal")
    }
    names = {*TABLE_1, *added}
    assert set(every) == names or (scale == "smoke" and set(every) < names)
    for name in set(TABLE_1) & set(every):
        found, printed = every[name], TABLE_1[name]
        assert (found.dataset, found.C, found.eps) == (printed["dataset"], float(printed["C"]), 1e-3)
        assert found.kernel["name"] == printed["kernel"]
        assert found.kernel.get("sigma2") == (10 if printed["kernel"] == "gaussian" else None)
        assert found.kernel.get("degree") == (5 if printed["kernel"] == "polynomial" else None)
        dense = {contender.storage == "dense" for contender in found.contenders.values()}
        assert dense == {printed["sparse_inputs"] == "N"}


def test_contenders_and_caches_of_platt1999_are_those_of_its_tables():
    every = experiments("platt1999", "paper")
    for name, printed in SECONDS.items():
        contenders = every[name].contenders
        known = {key.removesuffix("_seconds") for key, text in printed.items() if text and "seconds" in key}
        assert set(contenders) - {"svmlight-cached"} == known, name
        cached = TABLE_1[name]["kernel_caching"]
        assert options(contenders["smo"])["shrinking"]
        assert options(contenders["smo"])["cache_mb"] == (40 if cached == "Y" else 0)
        if "svmlight" in contenders:
            found = options(contenders["svmlight"])
            assert found["cache_mb"] == (0 if cached == "N" else 40)
            assert (found["q"], found["fold"]) == (10, False)


PROBLEMS = table("glasmachers2008", "table1")


@pytest.mark.parametrize("scale", SCALES)
def test_problems_of_glasmachers2008_are_those_of_table_1(scale):
    every = experiments("glasmachers2008", scale)
    assert scale != "paper" or set(PROBLEMS) == set(every)
    for name, experiment in every.items():
        printed = PROBLEMS[name]
        assert experiment.dataset == printed["dataset"]
        assert experiment.kernel == {"name": "gaussian", "gamma": float(printed["gamma"])}
        assert (experiment.C, experiment.eps, experiment.repeats) == (float(printed["C"]), 1e-3, 1)
        assert experiment.permutations >= {"smoke": 3, "default": 10, "paper": 30}[scale]
        assert {"smo", "pasmo", "pasmo-as-printed"} <= set(experiment.contenders)
        assert scale != "smoke" or max(experiment.sizes) <= 300


def test_sizes_of_glasmachers2008():
    printed = {name: int(row["n"]) for name, row in PROBLEMS.items()}
    paper = experiments("glasmachers2008", "paper")
    assert {name: experiment.paper_sizes for name, experiment in paper.items()} == {
        name: {(2359 if name == "internet-ads" else n): n} for name, n in printed.items()
    }
    default = experiments("glasmachers2008", "default")
    smaller = {name: experiment.sizes for name, experiment in default.items() if not experiment.paper_sizes}
    assert smaller == {"chess-board-10000": (1500,), "connect-4": (3000,), "king-rook-vs-king": (3000,)}


#: Sets whose C does not grow with the number of examples.
WITH_C = (
    *(f"{name}-precision" for name in ("adult", "web", "mnist-8", "rcv1-like")),
    *("adult-methods", "adult-mfn", "web-methods"),
)


def test_the_paper_scale_of_glasmachers2008_has_all_permutations_where_tests_are_made():
    few = {f"pasmo-{sets}" for sets in (2, 3, 5, 10, 20)}  # compared without tests
    for experiment in experiments("glasmachers2008", "paper").values():
        for contender in experiment.contenders.values():
            counted = contender.label.endswith("lengths") or contender.encoding is not None
            if contender.label not in few and not counted:
                assert experiment.seeds_of(contender) == experiment.seeds, contender.label


def test_the_paper_scale_of_joachims2006_has_the_sets_of_table_1():
    printed, every = table("joachims2006", "timings"), experiments("joachims2006", "paper")
    bounds = {"reuters-ccat": 1e4, "reuters-c11": 5e4, "arxiv-astro-ph": 2e4, "covertype-1": 1e6}
    bounds["kdd04-physics"] = 2e4
    assert list(printed) == [*bounds, "adult-methods", "adult-mfn", "web-methods"]  # section 4.1
    for name, C in bounds.items():
        assert every[name].C_total == C
        # Only the labels of 50,000 examples of KDD04 physics are public.
        assert every[name].sizes[-1] == (50_000 if name == "kdd04-physics" else int(printed[name]["n"]))


@pytest.mark.parametrize("scale", SCALES)
def test_problems_of_joachims2006_have_no_bias_and_C_is_n_times_a_bound(scale):
    for name, experiment in experiments("joachims2006", scale).items():
        assert experiment.kernel == {"name": "linear"} and experiment.eps == 1e-3
        assert not any(contender.bias for contender in experiment.contenders.values())
        assert (experiment.C is None) == (name not in WITH_C)
        assert bool(experiment.points) == name.endswith(("-C", "-eps", "-best", "-precision"))
        if experiment.test is not None and experiment.test.rows is not None:
            assert experiment.test.skip >= experiment.sizes[-1]  # no training on generated test rows


@pytest.mark.parametrize("scale", SCALES)
def test_figures_of_joachims2006_ask_for_what_is_measured(scale):
    paper = load_config({"scale": scale, "papers": ["joachims2006"]}).papers["joachims2006"]
    assert {f"figure{k}" for k in (1, 2, 3, 4, 5, 6, "7a", "7b", 8, 9)} <= set(paper.artefacts)
    for artefact in paper.artefacts.values():
        for panel in artefact.settings.get("panels", ()):
            names = [name for name in artefact.experiments if name in paper.experiments]
            assert any(panel["contender"] in paper.experiments[name].contenders for name in names)


def test_planning_ahead_has_all_permutations_of_the_paper_at_the_paper_scale():
    for experiment in experiments("glasmachers2008", "paper").values():
        of_paper = {name: each for name, each in experiment.contenders.items() if name.startswith("pasmo")}
        assert {each.permutations for each in of_paper.values()} <= {None, 100}, experiment.name
