"""One contender on one problem: its certificate and its limits."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from engine_support import measure, prepare, the_experiment
from svmrepro.solvers import solve
from svmrepro.workflow.journal.journal_line import decode, encode
from svmrepro.workflow.measurement import contender_run
from svmrepro.workflow.measurement.contender_run import ContenderRuns

NAMES = ("pasmo", "smo2", "smo")
PLANES = ("svmperf", "ocas", "svmperf-ordinal")


def examples(n=60, d=4, seed=3):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def test_a_run_that_meets_its_cap_says_so():
    config = prepare({name: {"solver": name, "storage": "dense"} for name in NAMES})
    experiment = replace(the_experiment(config), kernel={"name": "gaussian", "gamma": 0.5}, C=2.0)
    row = ContenderRuns(experiment, *examples())
    for name in NAMES:
        line = row.run(replace(experiment.contenders[name], iteration_limit=7))
        assert (line["status"], line["iterations"]) == ("iteration_limit", 7)
        assert line["reason"] == "stopped at its cap of 7 steps" and line["certificate"] is None
        assert row.run(replace(experiment.contenders[name], iteration_limit=math.inf))["status"] == "optimal"


def test_lines_of_cutting_planes():
    lines, _ = measure(prepare({name: {"solver": name, "bias": False} for name in PLANES}, [30], repeats=1))
    assert [line["contender"] for line in lines] == list(PLANES)
    for line in lines:
        assert line["status"] == "optimal", line["reason"]
        assert decode(encode(line)) == line
        found = line["certificate"]
        assert found["passed"]
        assert found["promise"] in ("gap", "relative gap")
        assert found["gap"] == pytest.approx(found["primal"] - found["dual"], abs=2 * found["rounding"])
        assert found["dual"] == pytest.approx(found["relaxed"], rel=1e-6)
        assert [found[name] for name in ("max_violation", "pair_gap")] == [None] * 2
        assert line["work"]["passes"] == line["iterations"] > 0
        assert line["info"]["bytes_a_pass"] > 0


def test_a_solver_of_somebody_cannot_add_what_the_program_does():
    own = {"solver": "engine_solvers:talkative"}
    experiment = the_experiment(prepare({"own": own, "negative": {**own, "options": {"passes": -3}}}))
    row = ContenderRuns(experiment, *examples(40, 3))
    line = row.run(experiment.contenders["own"])
    assert (line["status"], line["work"]) == ("optimal", {"passes": 3})
    assert line["info"] == {"chunks": 5, "bins": [1, 2], "share": 0.25, "long": 0.5, "8": 9}
    assert json.loads(json.dumps(line["info"])) == line["info"]
    line = row.run(experiment.contenders["negative"])
    assert line["status"] == "error" and line["reason"].endswith("returned work['passes']: -3 is not a count")


def test_a_promise_that_is_not_kept(monkeypatch):
    experiment = the_experiment(prepare({"one": {"solver": "svmperf", "bias": False}}))
    contender = experiment.contenders["one"]

    def hasty(problem, name, *, eps, **options):
        return solve(problem, name, eps=0.2)

    good = ContenderRuns(experiment, *examples(40, 3)).run(contender)
    monkeypatch.setattr(contender_run, "solve", hasty)
    bad = ContenderRuns(experiment, *examples(40, 3)).run(contender)
    assert (good["status"], bad["status"]) == ("optimal", "uncertified")
    assert bad["reason"].startswith("certificate failed at eps 0.001: gap ")
    assert not bad["certificate"]["passed"]
