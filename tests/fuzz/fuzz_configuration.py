"""Fuzz targets for the configuration and claims, the registry of data sets, and results read back."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from fuzz_inputs import TOKENS, Target, folder, mutated, nested, on_file, places
from hypothesis import strategies as st
from svmrepro.datasets.registry import RegistryError, parse_registry
from svmrepro.datasets.registry import parse as known_sets
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.configuration import config_dir, dump_config, load_config, read_config
from svmrepro.workflow.configuration.jobs import jobs
from svmrepro.workflow.configuration.paths import job_files
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_line import decode
from svmrepro.workflow.judgement.claims import read_claims

_PAPER = """
paper: mini
title: Mini
experiments:
  one:
    title: One
    dataset: noise
    kernel: {name: gaussian, sigma2: 10}
    C: 1
    sizes: [50, 100]
    seeds: [0, 1]
    axis: {C: [0.1, 1]}
    contenders:
      smo: {solver: smo, storage: index, options: {step_tol: 1.0e-3}}
      chunking: {solver: chunking, memory_limit_mb: 128, time_limit: 5}
  two:
    title: Two
    dataset: adult
    kernel: {name: linear}
    C_total: 100
    bias: false
    sizes: [1605, 2265]
    permutations: 3
    measures: [accuracy]
    test: {rows: 100}
    contenders:
      ocas: {solver: ocas, permutations: 1}
artefacts:
  timing-one: {kind: timing, form: table, experiment: one, title: One, caption: "A caption"}
  loglog: {kind: loglog, form: figure, title: All, experiments: [one, two]}
"""
_SCALE = """
repeats: 2
time_limit: 10
most_permutations: 2
experiments: {mini: {one: {sizes: [50], contenders: {chunking: null}}}}
"""
_MAIN = """
scale: default
data_dir: data
results_dir: results
figures_dir: figures
mirror: null
require_data: false
timed_jobs: 1
job: experiment
papers: [mini]
repeats: 3
repeat_budget: 60
datasets: {mine: {path: mine.libsvm}}
experiments: {mini: {two: null}}
"""
FILES = {"config.yaml": _MAIN, "smoke.yaml": _SCALE, "experiments/mini.yaml": _PAPER}


@functools.cache
def _config_folder() -> Path:
    target = folder() / "config"
    (target / "experiments").mkdir(parents=True)
    for name, text in FILES.items():
        (target / name).write_text(text)
    return target


def _loaded(overrides: Any) -> None:
    config = load_config({"scale": "smoke", **overrides}, _config_folder())
    path = folder() / "resolved.json"
    path.write_text(dump_config(config))
    assert read_config(path) == config
    for paper in config.papers.values():
        for experiment in paper.experiments.values():
            below = config.results_dir / config.scale / paper.name / experiment.name / "runs"
            for job, file in zip(
                jobs(config, experiment), job_files(config, paper.name, experiment.name), strict=True
            ):
                assert file.parent == below and ".." not in file.parts[-4:]
                # The same configuration must always give Snakemake the same values to compare.
                assert job.fingerprint() == job.fingerprint()


def _with_file(name: str) -> Callable[[bytes], object]:
    def run(content: bytes) -> object:
        path = _config_folder() / name
        path.write_bytes(content)
        try:
            return _loaded({})
        finally:
            path.write_text(FILES[name])

    return run


_strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 10**19, math.inf, -math.inf, math.nan, 1e308, 0, -1]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([token.decode("latin-1") for token in TOKENS]),
    st.dates(),
    st.binary(max_size=5),
    st.sampled_from(
        ["smo", "linear", "adult", "noise", "one", "two", "smoke", "C", "eps", "one-hot", "accuracy", "a.b:c"]
    ),
)
_values = nested(_strange, st.one_of(st.text(max_size=8), _strange))
_KNOWN = [
    *places(yaml.safe_load(_MAIN)),
    *(
        ("experiments", "mini", *key[1:])
        for key in places(yaml.safe_load(_PAPER))
        if key[0] == "experiments" and key[1:]
    ),
]
#: The key of every value, and of a new one beside it.
_KEYS = [*_KNOWN, *((*key[:-1], "new") for key in _KNOWN)]


def _overridden(changes: list[tuple[tuple[Any, ...], Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in changes:
        inner = found
        for part in key[:-1]:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner[key[-1]] = value
    return found


def _claims(path: Path) -> object:
    return read_claims(path, ["adult-linear", "adult-gaussian", "web-linear", "noise-linear"])


def _numbers(path: Path) -> object:
    numbers = PaperNumbers(path.parent, "fuzz")
    return numbers.machine, numbers.sizes("adult-linear"), numbers.series("adult-linear", "smo")


def configuration() -> Iterator[Target]:
    for name, text in FILES.items():
        yield Target(f"config/{name}", mutated(text.encode()), _with_file(name), (StepError,))
    overrides = st.lists(st.tuples(st.sampled_from(_KEYS), _values), min_size=1, max_size=3).map(_overridden)
    yield Target("config/overrides", overrides, _loaded, (StepError,))
    claims = (config_dir() / "claims" / "platt1998.yaml").read_bytes()[:6000]
    yield Target("config/claims", mutated(claims), on_file(_claims, "claims.yaml"), (StepError,))
    sets = (Path(known_sets.__file__).parent / "registry.yaml").read_bytes()
    small = sets[: sets.index(b"\n  a1a:")] if b"\n  a1a:" in sets else sets[:6000]
    tail = sets[sets.index(b"\ngenerated:") :]
    entry = small[: small.rindex(b"\n\n")] + tail
    yield Target(
        "config/registry",
        mutated(entry).map(lambda b: b.decode("utf-8", "replace")),
        parse_registry,
        (RegistryError,),
    )
    printed = (config_dir() / "papers" / "platt1998_timings.csv").read_bytes()
    yield Target("config/papers", mutated(printed), on_file(_numbers, "fuzz_timings.csv"), (StepError,))
    line = json.dumps({"schema": 1, "run_id": "x", "n": 5, "machine": {}, "flagged": False}).encode()
    yield Target("results/journal", mutated(line), decode, (ValueError,))
    header = b"experiment,contender,n,status,repeat,flagged,point\n"
    table = header + b"one,smo,50,optimal,0,true,\none,smo,100,optimal,1,false,2.5\n"
    yield Target(
        "results/measurements", mutated(table), on_file(lambda path: read_runs([path]), "m.csv"), (StepError,)
    )
    resolved = dump_config(load_config({"scale": "smoke"}, _config_folder())).encode()
    yield Target("results/configuration", mutated(resolved), on_file(read_config, "r.json"), (StepError,))
