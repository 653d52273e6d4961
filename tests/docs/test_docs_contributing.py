"""The diffs of CONTRIBUTING.md do what its text says."""

import os
import sys

import pytest
from docs_support import Tree, run, the_block
from svmrepro.solvers import fingerprint

PAGE = "CONTRIBUTING.md"


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_adding_a_solver(tree):
    tree.apply("Adding a solver")
    out = tree.check("""
from itertools import product

import numpy as np
import pytest
from svmrepro.solvers import SOLVERS, Kernel, Problem, certify, fingerprint, solve
from svmrepro.workflow.configuration import load_config

rng = np.random.default_rng(0)
X = (rng.random((60, 8)) < 0.4).astype(float)
y = np.where(X @ rng.normal(size=8) + rng.normal(size=60) > 0, 1.0, -1.0)
kernels = Kernel.linear(), Kernel.gaussian(0.3), Kernel.polynomial(2)
for kernel, storage in product(kernels, ("dense", "csr", "index", "bits")):
    problem = Problem(X, y, 1.0, kernel, storage=storage)
    solution = solve(problem, "violating-pair")
    certificate = certify(problem, solution)
    assert solution.status == "optimal"
    assert certificate.passes(1e-3, SOLVERS["violating-pair"].tolerance_factor)
    assert certificate.gap <= 1e-3 * certificate.primal
limited = solve(problem, "violating-pair", iteration_limit=1)
assert (limited.status, limited.iterations) == ("iteration_limit", 1)
with pytest.raises(ValueError, match="solver 'violating-pair' needs bias=True"):
    solve(Problem([[0.0], [1.0]], [-1, 1], bias=False), "violating-pair")
contenders = {"pair": {"solver": "violating-pair"}}
load_config({"experiments": {"platt1998": {"noise-linear": {"contenders": contenders}}}})
for name in ("smo", "smo-fixed-threshold", "chunking", "violating-pair"):
    print(fingerprint(name))
""")
    *others, new = out.splitlines()
    # The measurements of the other solvers stay valid.
    assert others == [fingerprint(name) for name in ("smo", "smo-fixed-threshold", "chunking")]
    assert new not in others


def test_adding_a_data_set(tree):
    section = "Adding a data set"
    tree.apply(section)
    tree.check(the_block(PAGE, "python", section))
    tree.check("""
from hashlib import sha256
from pathlib import Path

from svmrepro import datasets

data = datasets.load("monks-1", mirror="mirror")
assert data.X.shape == (432, 17) and data.y.sum() == 0
assert (data.X.sum(axis=1) == 6).all() and (data.X.data == 1).all()
part = datasets.load("monks-1", n=100)
assert (part.X != data.X[:100]).nnz == 0 and part.provenance["n_actual"] == 100
entry = datasets.describe("monks-1").files["monks-1"]
assert entry.forms[0].sha256 == sha256(Path("mirror/monks-1/monks-1").read_bytes()).hexdigest()
""")


def test_adding_an_experiment(tree):
    tree.apply("Adding an experiment")
    tree.check("""
from pathlib import Path

from svmrepro.workflow.graph.plan import Plan

for scale, sizes in {"smoke": (125, 250, 500), "paper": (500, 1000, 2000, 5000)}.items():
    plan = Plan({"scale": scale})
    experiment = plan.config.papers["platt1998"].experiments["separable-gaussian"]
    assert experiment.sizes == sizes and list(experiment.contenders) == ["smo", "chunking"]
    assert plan.jobs("platt1998", "separable-gaussian")
    assert plan.target("platt1998", "separable-gaussian") == "separable-gaussian"
    files = {Path(file).name for file in plan.experiment_files("platt1998", "separable-gaussian")}
    assert {"timing-separable-gaussian.md", "loglog-separable-gaussian.svg"} <= files
""")


def test_adding_a_claim(tree, tmp_path):
    tree.apply("Adding a claim")
    # Synthetic measurements: chunking's exponent exceeds SMO's by 1.3 here and by less on Adult.
    out = tree.check(f"""
from dataclasses import replace
from pathlib import Path

import analysis_support as synthetic
from msgspec import structs
from svmrepro.workflow.analysis import results
from svmrepro.workflow.judgement.claims import read_claims
from svmrepro.workflow.judgement.verdicts import judge
from svmrepro.workflow.configuration import config_dir, load_config

names = ("noise-gaussian", "adult-linear")
config = synthetic.analyse(synthetic.make_config(Path({str(tmp_path)!r}), names))
found = results.load(config, synthetic.PAPER, names)
every = list(load_config().papers[synthetic.PAPER].experiments)
claims = read_claims(config_dir() / "claims" / "platt1998.yaml", every)
(claim,) = [claim for claim in claims if claim.id == "noise-gaussian-difference"]
elsewhere = structs.replace(claim, quantity={{**claim.quantity, "experiments": ["adult-linear"]}})
print(judge(claim, found).verdict)
print(judge(elsewhere, found).verdict)
print(judge(claim, replace(found, config=replace(config, scale="smoke"))).verdict)
""")
    assert out.splitlines()[-3:] == ["holds", "does not hold", "not measured here"]


def test_a_solver_of_ones_own(tmp_path):
    section = "A solver of your own, without touching this repository"
    (tmp_path / "my_solvers.py").write_text(the_block(PAGE, "python", section))
    (tmp_path / "my_solvers.yaml").write_text(the_block(PAGE, "yaml", section))
    code = """
from pathlib import Path

from svmrepro import datasets
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.measurement.contender_run import ContenderRuns

config = load_config(read_yaml(Path("my_solvers.yaml")))
experiment = config.papers["platt1998"].experiments["noise-gaussian"]
data = datasets.generate("noise", n=200)
line = ContenderRuns(experiment, data.X, data.y).run(experiment.contenders["libsvm"])
assert line["status"] == "optimal" and line["iterations"] > 0, line
"""
    run(sys.executable, "-c", code, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
