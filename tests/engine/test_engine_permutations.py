"""Experiments over random orders of the rows: the same for every contender, resumable at any permutation."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from engine_support import journal, measure, prepare, refusal, rows, solver, the_experiment, tiny
from svmrepro import datasets
from svmrepro.datasets.permutations import permuted_rows
from svmrepro.workflow.configuration import jobs
from svmrepro.workflow.measurement import data_sets
from svmrepro.workflow.measurement.forecast import Forecast
from svmrepro.workflow.steps import generate


def permuted(permutations=3, contenders=None, sizes=(20, 40), **settings):
    own = contenders or {"a": solver("quick"), "b": solver("quick")}
    return prepare(own, sizes, {"permutations": permutations, "repeats": 1}, **settings)


def test_a_permutation_is_an_order_of_its_own_that_stays_the_same():
    assert permuted_rows(8, 0).tolist() == [7, 4, 5, 1, 6, 2, 0, 3]
    orders = [permuted_rows(50, k).tolist() for k in range(20)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len({tuple(order) for order in orders}) == 20
    assert orders[3] == permuted_rows(50, 3).tolist()


def test_examples_keep_their_labels():
    whole = datasets.generate("noise", n=60)
    moved = datasets.permute(whole, 4)
    order = permuted_rows(60, 4)
    assert abs(moved.X - whole.X[order]).sum() == 0 and (moved.y == whole.y[order]).all()
    assert moved.provenance["permutation"] == 4 and "permutation" not in whole.provenance
    board = datasets.generate("chess-board", n=60)
    assert np.array_equal(datasets.permute(board, 4).X, board.X[order])


def test_rows_are_the_same_sample_in_other_orders():
    config = permuted()
    found = rows(config)
    assert the_experiment(config).permutations == 3
    assert [(row.n, row.permutation, row.sample) for row in found] == [
        (n, k, 0) for n in (20, 40) for k in range(3)
    ]
    sets = [data_sets.load_instance(config, row) for row in found[:3]]
    whole = datasets.generate("noise", n=20)
    for k, one in enumerate(sets):
        assert (one.y == whole.y[permuted_rows(20, k)]).all()
    assert len({row.fingerprint for row in found}) == 6
    assert generate.generate(config, "noise").complete


def test_permutations_can_be_of_samples_of_their_own():
    of = {"permutations": 3, "resample": True, "repeats": 1}
    config = prepare({"a": solver("quick")}, (20,), of)
    found = rows(config)
    assert [(row.permutation, row.sample) for row in found] == [(k, k) for k in range(3)]
    for k, row in enumerate(found):
        whole = datasets.generate("noise", n=20, seed=k)
        assert (whole.X[permuted_rows(20, k)] != data_sets.load_instance(config, row).X).nnz == 0
    of_one_sample = {
        row.fingerprint for row in rows(permuted(sizes=(20,), contenders={"a": solver("quick")}))
    }
    assert found[0].fingerprint in of_one_sample and found[1].fingerprint not in of_one_sample
    measure(config)
    assert [line["status"] for line in journal(config).valid_lines()] == ["optimal"] * 3


def test_contenders_of_a_permutation_run_side_by_side_and_none_is_always_first():
    config = permuted()
    lines, told = measure(config)
    order = [(line["n"], line["seed"], line["contender"]) for line in journal(config).valid_lines()]
    assert order[:6] == [(20, 0, "a"), (20, 0, "b"), (20, 1, "b"), (20, 1, "a"), (20, 2, "a"), (20, 2, "b")]
    assert Counter(line["status"] for line in lines) == {"optimal": 12}
    assert len({line["run_id"] for line in lines}) == 1
    assert "12 runs to make, " in told
    assert "permutation 2/3" in Path("log.txt").read_text()
    # The same problem in any order: the optimum is the same, the path is not.
    duals = {round(line["certificate"]["dual"], 6) for line in lines if line["n"] == 40}
    assert max(duals) - min(duals) < 1e-2 * max(duals)
    assert len({line["iterations"] for line in lines if line["n"] == 40}) > 1


@pytest.mark.parametrize(
    ("permutations", "job", "count"),
    [
        (10, "size", 1), (95, "size", 10), (1_001, "size", 91),
        (10, "experiment", 1), (11, "experiment", 2), (100, "experiment", 4),
    ],
)  # fmt: skip
def test_permutations_are_measured_in_several_processes_but_not_too_many(permutations, job, count):
    config = permuted(permutations, sizes=[20], job=job)
    found = jobs.jobs(config, the_experiment(config))
    assert len(found) == len({job.name for job in found}) == count
    assert [row.permutation for job in found for row in job.instances] == list(range(permutations))
    assert [job.after for job in found] == [None, *(job.name for job in found[:-1])]


@pytest.mark.parametrize("kept", [1, 8])
def test_a_killed_run_goes_on_at_any_permutation(kept):
    config = permuted()
    measure(config)
    path = journal(config).path
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:kept]) + whole[kept][:30])
    assert Forecast(config, the_experiment(config)).left()[0] == 12 - kept
    lines, _ = measure(config)
    keys = [(line["row"], line["contender"]) for line in journal(config).valid_lines()]
    assert len(keys) == len(set(keys)) == len(lines) == 12
    assert path.read_bytes().startswith(b"".join(whole[:kept]))


def test_more_permutations_add_to_what_is_there():
    few, more = permuted(2), permuted(4)
    assert {row.fingerprint for row in rows(few)} < {row.fingerprint for row in rows(more)}
    plain = prepare({"a": solver("quick"), "b": solver("quick")})
    assert rows(plain)[0].permutation is None and rows(plain)[0].fingerprint != rows(few)[0].fingerprint
    measure(few)
    before = journal(few).valid_lines()
    lines, told = measure(more)
    assert journal(more).valid_lines()[:8] == before and len(lines) == 16
    assert "8 runs to make" in told


def test_a_limit_passed_in_one_permutation_spares_the_others():
    limited = solver("limited", options={"above": 40}, time_limit=5)
    config = permuted(3, {"a": solver("quick"), "slow": limited}, [20, 40, 60])
    lines, _ = measure(config)
    reason = "passed a limit of its own (time_limit)"
    found = [(line["n"], line["status"], line["reason"]) for line in lines if line["contender"] == "slow"]
    assert found == [
        *[(20, "optimal", None)] * 3,
        (40, "time_limit", reason),
        *[(40, "not_run", f"{reason} in permutation 1")] * 2,
        *[(60, "not_run", f"{reason} at n = 40")] * 3,
    ]
    assert Counter(line["status"] for line in lines if line["contender"] == "a") == {"optimal": 9}
    assert Forecast(config, the_experiment(config)).left()[0] == 0


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"permutations": 0}, "permutations: "),
        ({"resample": True}, "resample: needs permutations of a generated data set"),
        ({"permutations": 2, "seeds": [1]}, "seeds: an experiment has seeds or permutations"),
    ],
)
def test_wrong_permutations(of, words):
    assert words in refusal(tiny(of=of))
