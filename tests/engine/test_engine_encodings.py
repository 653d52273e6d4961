"""Contenders that get the same examples in another encoding: another problem, the same permutations."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_solvers import quick
from engine_support import EXPERIMENT, tiny
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem
from svmrepro.workflow.analysis.runs import read_rows, read_runs
from svmrepro.workflow.configuration import jobs, paths
from svmrepro.workflow.configuration.model import Config, load_config
from svmrepro.workflow.judgement import run_summary
from svmrepro.workflow.measurement.data_sets import register
from svmrepro.workflow.measurement.journal import Journal
from svmrepro.workflow.measurement.progress import Progress
from svmrepro.workflow.measurement.record import read_lines
from svmrepro.workflow.steps import analyse
from svmrepro.workflow.steps.measure import measure_job

QUICK = {"solver": "engine_solvers:quick"}
HOT = {**QUICK, "encoding": "one-hot"}
N = 30


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)
    rng = np.random.default_rng(3)
    values = rng.integers(1, 4, size=(2 * N, 5))
    lines = [
        f"{1 - 2 * (k % 2):+d} " + " ".join(f"{j}:{value}" for j, value in enumerate(row, 1))
        for k, row in enumerate(values)
    ]
    (tmp_path / "cards.libsvm").write_text("".join(f"{line}\n" for line in lines))


def prepare(contenders: dict[str, Any], **settings: Any) -> Config:
    overrides = tiny(contenders, sizes=[N], datasets={"cards": {"path": "cards.libsvm"}})
    own = {"dataset": "cards", "permutations": 2, "repeats": 1, **settings}
    overrides["experiments"]["platt1998"][EXPERIMENT] |= own
    config = load_config(overrides)
    register(config)
    return config


def measure(config: Config) -> list[dict[str, Any]]:
    experiment = config.experiment("platt1998", EXPERIMENT)
    part = jobs.job(config, experiment, "all")
    with Progress(config, experiment, part, None, io.StringIO()) as progress:
        measure_job(config, experiment, part, progress)
    return read_lines(paths.job_file(config, "platt1998", EXPERIMENT, "all"))


def rows(config: Config) -> tuple[jobs.Row, ...]:
    return jobs.rows(config.experiment("platt1998", EXPERIMENT))


def test_contenders_solve_the_same_permutation_in_their_encodings() -> None:
    config = prepare({"plain": QUICK, "hot": HOT})
    lines = measure(config)
    assert [(line["seed"], line["contender"], line["encoding"], line["status"]) for line in lines] == [
        (k, label, encoding, "optimal")
        for k in (0, 1)
        for label, encoding in (("plain", None), ("hot", "one-hot"))
    ]  # fmt: skip
    C = config.experiment("platt1998", EXPERIMENT).bound(N)
    for line in lines:
        data = datasets.permute(datasets.load("cards", N, encoding=line["encoding"]), line["seed"])
        alone = quick(Problem(data.X, data.y, C, Kernel.linear()), line["eps"], None)
        assert line["iterations"] == alone.iterations
        vectors = line["certificate"]["n_bound"] + line["certificate"]["n_nonbound"]
        assert vectors == np.count_nonzero(alone.alpha > 0)
    duals = {line["contender"]: line["certificate"]["dual"] for line in lines}
    assert duals["plain"] != pytest.approx(duals["hot"], rel=0.01)


def test_a_row_knows_the_encodings_of_its_contenders() -> None:
    plain, hot, unit = (
        prepare({"a": QUICK, "b": {**QUICK, "encoding": name}}) for name in (None, "one-hot", "unit-interval")
    )
    keys = [{row.key for row in rows(config)} for config in (plain, hot, unit)]
    assert not keys[0] & keys[1] and not keys[1] & keys[2]
    assert keys[0] == {row.key for row in rows(prepare({"a": QUICK, "b": QUICK}))}


def test_an_encoding_that_gives_other_arrays_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = prepare({"plain": QUICK, "hot": HOT})
    (before, *_) = rows(config)
    plain = rows(prepare({"plain": QUICK}))[0].key
    first = before.key
    monkeypatch.setattr(datasets, "ENCODING_VERSION", datasets.ENCODING_VERSION + 1)
    assert rows(config)[0].key != first
    assert rows(prepare({"plain": QUICK}))[0].key == plain


def test_an_experiment_says_it_for_its_contenders() -> None:
    config = prepare({"hot": QUICK, "unit": {**QUICK, "encoding": "unit-interval"}}, encoding="one-hot")
    own = prepare({"hot": QUICK, "plain": {**QUICK, "encoding": None}}, encoding="one-hot")
    found = [
        {label: contender.encoding for label, contender in each.contenders.items()}
        for each in (one.experiment("platt1998", EXPERIMENT) for one in (config, own))
    ]
    assert found == [{"hot": "one-hot", "unit": "unit-interval"}, {"hot": "one-hot", "plain": None}]


def test_ratios_are_formed_on_the_same_problem_only() -> None:
    config = prepare({"plain": QUICK, "again": QUICK, "hot": HOT, "hot-again": HOT})
    measure(config)
    analyse.run(config, "platt1998", EXPERIMENT)
    ratios = read_rows(paths.ratios(config, "platt1998", EXPERIMENT))
    assert {(row["numerator"], row["denominator"]) for row in ratios} == {
        ("again", "plain"), ("hot-again", "hot"),
    }  # fmt: skip
    entries = run_summary.summarise(read_runs([paths.measurements(config, "platt1998", EXPERIMENT)]))
    said = {entry["contender"]: entry["setting"].get("encoding") for entry in entries}
    # Rows without an encoding compare with references from before there was any.
    assert said == {"plain": None, "again": None, "hot": "one-hot", "hot-again": "one-hot"}
    assert all("encoding" not in entry["setting"] for entry in entries if entry["contender"] == "plain")


def test_a_journal_from_before_there_were_encodings_goes_on() -> None:
    config = prepare({"a": QUICK, "b": QUICK})
    measure(config)
    path = paths.journal(config, "platt1998", EXPERIMENT)
    old = path.read_text()
    for field in ('"encoding":null,', '"axis":null,', '"point":null,', '"performance":{},'):
        assert field in old
        old = old.replace(field, "")
    path.write_text(old)
    lines = measure(config)
    assert path.read_text() == old  # nothing was measured again
    assert len(lines) == 4 and len(Journal(path).lines()) == 4
    assert {line["encoding"] for line in lines} == {None}
