"""The judge's kernel values are worked out once for all contenders of a row, and change no verdict."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_support import EXPERIMENT, tiny
from svmrepro.workflow.configuration.model import Experiment, load_config
from svmrepro.workflow.measurement import contender_run

NAMES = ("pasmo", "smo2", "smo")


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.chdir(tmp_path)
    config = load_config(tiny({name: {"solver": name, "storage": "dense"} for name in NAMES}))
    return replace(
        config.experiment("platt1998", EXPERIMENT), kernel={"name": "gaussian", "gamma": 0.5}, C=2.0
    )


def verdicts(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> tuple[list[dict[str, Any]], int]:
    """Return what three contenders' runs were found to be, and how often kernel values were worked out."""
    count = 0
    real = contender_run.gram_matrix

    def counted(problem: Any) -> Any:
        nonlocal count
        count += 1
        return real(problem)

    monkeypatch.setattr(contender_run, "gram_matrix", counted)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    row = contender_run.Trials(experiment, X, y)
    return [row.run(experiment.contenders[name]) for name in NAMES], count


def test_kernel_values_are_shared(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, once = verdicts(experiment, monkeypatch)
    monkeypatch.setattr(contender_run, "GRAM_BYTES", 8 * 60**2 - 1)
    alone, never = verdicts(experiment, monkeypatch)
    assert (once, never) == (1, 0)
    for one, other in zip(shared, alone, strict=True):
        assert one["status"] == other["status"] == "optimal", one["reason"]
        found, expected = ({**line["certificate"], "promise": 0, "relaxed": 0} for line in (one, other))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_verdict_does_not_tell_who_was_judged_before(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that goes on after a kill begins in the midst of a row; its certificates are the same."""
    whole, _ = verdicts(experiment, monkeypatch)
    monkeypatch.setattr(sys.modules[__name__], "NAMES", NAMES[1:])
    rest, _ = verdicts(experiment, monkeypatch)
    assert [line["certificate"] for line in rest] == [line["certificate"] for line in whole[1:]]


def test_a_linear_kernel_needs_none(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    found, count = verdicts(replace(experiment, kernel={"name": "linear"}), monkeypatch)
    assert count == 0 and [line["status"] for line in found] == ["optimal"] * 3, found[-1]["reason"]


def test_dense_examples_may_be_kept_as_rows_of_entries(experiment: Experiment) -> None:
    """What warms a solver is dense, whatever the storage; few features are then kept as columns."""
    sparse = replace(experiment.contenders["smo2"], storage="csr")
    rng = np.random.default_rng(4)
    row = contender_run.Trials(experiment, rng.normal(size=(30, 3)), np.where(np.arange(30) % 2, 1.0, -1.0))
    assert row.run(sparse)["status"] == "optimal"


def test_a_run_that_meets_its_cap_says_so(experiment: Experiment) -> None:
    rng = np.random.default_rng(5)
    row = contender_run.Trials(
        experiment, rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    )
    for name in NAMES:
        line = row.run(replace(experiment.contenders[name], iteration_limit=7))
        assert (line["status"], line["iterations"]) == ("iteration_limit", 7)
        assert line["reason"] == "stopped at its cap of 7 steps" and line["certificate"] is None
        assert row.run(replace(experiment.contenders[name], iteration_limit=math.inf))["status"] == "optimal"


def test_what_the_harness_certifies_the_solver_does_not(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []
    real = contender_run.solve

    def noted(*arguments: Any, **options: Any) -> Any:
        given.append(options)
        return real(*arguments, **options)

    monkeypatch.setattr(contender_run, "solve", noted)
    verdicts(experiment, monkeypatch)
    assert [(options["verify"], options["iteration_limit"]) for options in given] == [(False, None)] * 3
