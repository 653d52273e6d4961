"""Contenders with another encoding of the same examples: a different problem, the same permutations."""

import numpy as np
import pytest
from engine_solvers import quick
from engine_support import EXPERIMENT, measure, prepare, rows, solver, the_experiment
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.judgement import reference_check
from svmrepro.workflow.result_files.result_rows import read_rows
from svmrepro.workflow.steps import analyse

QUICK, HOT = solver("quick"), solver("quick", encoding="one-hot")
N = 30


def cards(contenders, **of):
    """Return an experiment on a set of small integers, with two permutations."""
    values = np.random.default_rng(3).integers(1, 4, size=(2 * N, 5)).astype(float)
    datasets.write_libsvm("cards.libsvm", values, 1.0 - 2.0 * (np.arange(2 * N) % 2))
    of = {"dataset": "cards", "permutations": 2, **of}
    return prepare(contenders, [N], of, repeats=1, datasets={"cards": {"path": "cards.libsvm"}})


def test_contenders_solve_the_same_permutation_in_their_encodings():
    config = cards({"plain": QUICK, "hot": HOT})
    lines, _ = measure(config)
    assert [(line["seed"], line["contender"], line["encoding"], line["status"]) for line in lines] == [
        (k, label, encoding, "optimal")
        for k in (0, 1)
        for label, encoding in (("plain", None), ("hot", "one-hot"))
    ]  # fmt: skip
    C = the_experiment(config).bound(N)
    for line in lines:
        data = datasets.permute(datasets.load("cards", N, encoding=line["encoding"]), line["seed"])
        alone = quick(Problem(data.X, data.y, C, Kernel.linear()), line["eps"], None)
        assert line["iterations"] == alone.iterations
        vectors = line["certificate"]["n_bound"] + line["certificate"]["n_nonbound"]
        assert vectors == np.count_nonzero(alone.alpha > 0)
    duals = {line["contender"]: line["certificate"]["dual"] for line in lines}
    assert duals["plain"] != pytest.approx(duals["hot"], rel=0.01)


def test_the_key_of_a_row_follows_the_encodings_of_its_contenders(monkeypatch):
    def keys(encoding):
        return {row.fingerprint for row in rows(cards({"a": QUICK, "b": {**QUICK, "encoding": encoding}}))}

    plain, hot, unit = (keys(encoding) for encoding in (None, "one-hot", "unit-interval"))
    assert not plain & hot and not hot & unit
    assert plain == {row.fingerprint for row in rows(cards({"a": QUICK, "b": QUICK}))}
    # An encoding that returns different arrays is measured again, and nothing else.
    monkeypatch.setattr(datasets, "ENCODING_VERSION", datasets.ENCODING_VERSION + 1)
    assert not keys("one-hot") & hot and keys(None) == plain


def test_ratios_are_formed_on_the_same_problem_only():
    config = cards({"plain": QUICK, "again": QUICK, "hot": HOT, "hot-again": HOT})
    measure(config)
    analyse.run(config, "platt1998", EXPERIMENT)
    ratios = read_rows(paths.ratios(config, "platt1998", EXPERIMENT))
    assert {(row["numerator"], row["denominator"]) for row in ratios} == {
        ("again", "plain"), ("hot-again", "hot"),
    }  # fmt: skip
    entries = reference_check.summarise(read_runs([paths.measurements(config, "platt1998", EXPERIMENT)]))
    said = {entry["contender"]: entry["setting"].get("encoding", "none") for entry in entries}
    # Rows without an encoding match references from before there were encodings.
    assert said == {"plain": "none", "again": "none", "hot": "one-hot", "hot-again": "one-hot"}
