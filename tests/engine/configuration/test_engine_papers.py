"""The papers' experiments as configured: the problems that the papers print, at every scale."""

import pytest
from engine_support import PROJECT
from support import rows_of
from svmrepro.solvers import SOLVERS
from svmrepro.workflow.analysis.curves import KEYS
from svmrepro.workflow.configuration import jobs
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.judgement.claims import read_claims
from svmrepro.workflow.measurement.forecast import Forecast

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


def test_tables_of_platt1999_have_the_same_thirteen_rows():
    assert len(TABLE_1) == 13 and list(TABLE_1) == list(SECONDS) == list(EXPONENTS)
    for name, row in SECONDS.items():
        for solver in ("smo", "svmlight", "chunking"):
            printed = bool(EXPONENTS[name][f"{solver}_exponent"])
            assert printed == (bool(row[f"{solver}_seconds"]) and name != "MNIST"), (name, solver)


@pytest.mark.parametrize("scale", SCALES)
def test_problems_of_platt1999_are_those_of_table_1(scale):
    every = experiments("platt1999", scale)
    crossed = {"AdultLin-options", "WebLin-options", "AdultGauss-options", "WebGauss-options"}
    names = {*TABLE_1, *crossed, "AdultGauss-equal", "WebGauss-equal"}
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


def test_sizes_of_platt1999_are_nested_and_end_at_the_papers():
    paper, default, smoke = (experiments("platt1999", scale) for scale in ("paper", "default", "smoke"))
    for name, printed in TABLE_1.items():
        sizes = paper[name].sizes
        assert paper[name].paper_sizes[max(sizes)] == int(printed["n"])
        assert len(sizes) >= 5 and len(default[name].sizes) >= 3
        assert 1200 < max(default[name].sizes) <= max(sizes)
        if name in smoke:
            assert len(smoke[name].sizes) >= 3 and max(smoke[name].sizes) <= 1200
    for every in (paper, default, smoke):
        assert all(len(every[name].sizes) == 1 for name in every if name.endswith("-options"))


PROBLEMS = table("glasmachers2008", "table1")
WITH_PASMO_2 = (
    *("banana", "flare-solar", "german", "image", "ringnorm", "splice", "titanic", "twonorm", "waveform"),
    *("chess-board-1000", "chess-board-10000", "chess-board-100000"),
    *("connect-4", "king-rook-vs-king", "internet-ads", "spambase"),
)
#: Sets from the same file as others, which the smoke scale omits.
ALIKE = {"breast-cancer", "diabetis", "flare-solar", "german", "splice", "thyroid", "twonorm"}
#: Sets with fewer permutations, because a run takes long.
SLOW = {"chess-board-10000", "connect-4", "king-rook-vs-king"}
#: Sets of which ten permutations cost as many seconds as the default scale can spare.
COSTLY = {"chess-board-1000", "internet-ads", "ringnorm", "spambase", "twonorm", "waveform"}
LARGE = {"smoke": set(), "default": SLOW | COSTLY, "paper": SLOW | {"chess-board-100000"}}
UCI = ("connect-4", "king-rook-vs-king", "tic-tac-toe", "internet-ads", "ionosphere", "spambase")


@pytest.mark.parametrize(
    ("scale", "missing", "permutations"),
    [
        ("smoke", {"chess-board-100000", *ALIKE}, 3),
        ("default", {"chess-board-100000"}, 30),
        ("paper", set(), 100),
    ],
)
def test_problems_of_glasmachers2008_are_those_of_table_1(scale, missing, permutations):
    every = experiments("glasmachers2008", scale)
    assert set(PROBLEMS) - set(every) == missing
    for name, experiment in every.items():
        printed = PROBLEMS[name]
        assert experiment.dataset == printed["dataset"]
        assert experiment.kernel == {"name": "gaussian", "gamma": float(printed["gamma"])}
        assert (experiment.C, experiment.eps, experiment.repeats) == (float(printed["C"]), 1e-3, 1)
        least = {"smoke": permutations, "default": 10, "paper": 30}[scale]
        assert experiment.permutations == (least if name in LARGE[scale] else permutations)
        assert {"smo", "pasmo", "pasmo-as-printed"} <= set(experiment.contenders)
        assert ("pasmo-2" in experiment.contenders) == (name in WITH_PASMO_2)
        encoded = {contender.encoding for contender in experiment.contenders.values()} - {None}
        assert len(encoded) == (2 if name in UCI else 0)
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


def test_only_the_first_permutations_have_every_contender():
    def banana(**settings):
        return jobs.instances(experiments("glasmachers2008", "default", **settings)["banana"])

    assert [len(row.contenders) for row in banana()] == [15] * 5 + [10] * 5 + [3] * 20
    assert len(banana(experiments={"glasmachers2008": {"banana": {"permutations": 12}}})) == 12
    assert len(banana(most_permutations=2)) == 2
    contenders = {"smo": {"permutations": 2}}
    with pytest.raises(StepError, match=r"adult-linear\.contenders\.smo\.permutations: the experiment has"):
        load_config({"experiments": {"platt1998": {"adult-linear": {"contenders": contenders}}}})


def test_the_paper_scale_of_glasmachers2008_is_counted_beforehand_and_cut_into_blocks():
    settings = {"scale": "paper", "papers": ["glasmachers2008"]}
    config = load_config(settings)
    runs, _ = Forecast(config, config.experiment("glasmachers2008", "banana")).left()
    assert runs == (18 * 100 + 4 * 30) * 9 + len(WITH_PASMO_2) * 5 * 5 + 6 * 10 + 3 + len(UCI) * 2 * 3
    blocks = list(Plan(settings).jobs("glasmachers2008", "banana"))
    assert blocks[:3] == ["n5300-p0", "n5300-p10", "n5300-p20"]


#: Sets whose C does not grow with the number of examples.
WITH_C = (
    *(f"{name}-precision" for name in ("adult", "web", "mnist-8", "rcv1-like")),
    *("adult-methods", "adult-mfn", "web-methods"),
)


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
            assert set(artefact.settings.get("y", {})) | set(panel.get("y", {})) <= KEYS
            names = [name for name in artefact.experiments if name in paper.experiments]
            assert any(panel["contender"] in paper.experiments[name].contenders for name in names)
