"""Solvers whose certificate is a gap, through the engine: lines of the journal, and verdicts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_support import EXPERIMENT, tiny
from svmrepro.solvers import Problem, solve
from svmrepro.workflow.configuration import jobs, paths
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.measurement.contender_run import Trials
from svmrepro.workflow.measurement.progress import Progress
from svmrepro.workflow.measurement.record import decode, encode, read_lines
from svmrepro.workflow.steps.measure import measure_job

OWN = ("svmperf", "ocas", "svmperf-ordinal")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_lines_of_cutting_planes() -> None:
    contenders: dict[str, Any] = {name: {"solver": name, "bias": False} for name in OWN}
    config = load_config(tiny(contenders, sizes=(30,), repeats=1))
    experiment = config.experiment("platt1998", EXPERIMENT)
    part = jobs.job(config, experiment, "all")
    with Progress(config, experiment, part, Path("log.txt"), io.StringIO()) as progress:
        measure_job(config, experiment, part, progress)
    lines = read_lines(paths.job_file(config, "platt1998", EXPERIMENT, "all"))
    assert [line["contender"] for line in lines] == list(OWN)
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


def test_a_solver_is_refused_where_it_does_not_fit() -> None:
    with pytest.raises(StepError, match="solver 'svmperf' needs bias=False"):
        load_config(tiny({"one": {"solver": "svmperf", "bias": True}}))


def test_a_promise_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(tiny({"one": {"solver": "svmperf", "bias": False}}))
    experiment = config.experiment("platt1998", EXPERIMENT)
    contender = experiment.contenders["one"]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)

    def hasty(problem: Problem, name: str, *, eps: float, **options: Any) -> Any:
        return solve(problem, name, eps=0.2)

    good = Trials(experiment, X, y).run(contender)
    monkeypatch.setattr("svmrepro.workflow.measurement.contender_run.solve", hasty)
    bad = Trials(experiment, X, y).run(contender)
    assert (good["status"], bad["status"]) == ("optimal", "uncertified")
    assert bad["reason"].startswith("certificate failed at eps 0.001: gap ")
    assert not bad["certificate"]["passed"]
