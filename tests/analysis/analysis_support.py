"""Synthetic measurements for the tests of the analysis: records of power laws with noise."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Artefact, Config, Contender, Experiment, Paper
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.measurement.journal_line import NO_RESULT, SCHEMA, dump_lines

SIZES = {
    "adult": (1605, 2265, 3185, 4781, 6414, 11220, 16100, 22696, 32561),
    "web": (2477, 3470, 4912, 7366, 9888, 17188, 24692, 49749),
    "separable": (1000, 2000, 5000, 10000, 20000),
    "noise": (500, 1000, 2000, 5000, 10000),
}
PAPER_SIZES = {11220: 11221, 16100: 16101, 22696: 22697, 32561: 32562}
EXPERIMENTS = {
    "adult-linear": ("Adult, linear", 0.05, 1.65, 2.5),
    "adult-gaussian": ("Adult, Gaussian", 1.0, 2.2, 2.7),
    "web-linear": ("Web, linear", 1.0, 1.5, 2.4),
    "web-gaussian": ("Web, Gaussian", 5.0, 1.9, 2.1),
    "separable-linear": ("Separable, linear", 100.0, 1.05, 1.0),
    "noise-linear": ("Noise, linear", 0.1, 1.4, 2.9),
    "noise-gaussian": ("Noise, Gaussian", 0.1, 1.9, 3.2),
}
"""Name -> title, C, exponent of SMO, exponent of chunking."""

PAPER = "platt1998"


def make_config(folder: Path, *, scale: str = "paper", experiments: Iterable[str] = EXPERIMENTS) -> Config:
    """Return a configuration with every kind of artefact, for `experiments` only, writing below `folder`."""
    names = list(experiments)
    described = {name: _experiment(name) for name in EXPERIMENTS}
    return Config(
        scale=scale,
        data_dir=folder / "data",
        results_dir=folder / "results",
        figures_dir=folder / "figures",
        mirror=None,
        require_data=False,
        timed_jobs=1,
        job="experiment",
        repeats=3,
        datasets={},
        papers={PAPER: Paper(PAPER, "Platt 1998", described, _artefacts(names))},
    )


def records(
    config: Config,
    name: str,
    *,
    noise: float = 0.03,
    flagged: Callable[[str, int, int], bool] = lambda contender, n, repeat: False,
) -> list[dict[str, Any]]:
    """Return the lines of one experiment: a power law per contender, chunking up to its memory limit."""
    experiment = config.papers[PAPER].experiments[name]
    _, C, smo, chunking = EXPERIMENTS[name]
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    rng = np.random.default_rng(seed)
    lines: list[dict[str, Any]] = []
    stopped: dict[str, str] = {}
    for n in experiment.sizes:
        bound = 0 if name.startswith("separable") else round(0.36 * n)
        nonbound = round(12 * n**0.25)
        for repeat in range(config.repeats):
            for label, contender in experiment.contenders.items():
                base = make_line(config, experiment, contender, n, repeat)
                if label in stopped:
                    if repeat == 0:
                        lines.append({**base, "status": "not_run", "reason": stopped[label]})
                    continue
                heavy = contender.solver == "chunking"
                if heavy and 4 * (bound + nonbound) ** 2 > 128 * 2**20:
                    lines.append({**base, "status": "memory_limit", "reason": "sub-problem over 128 MB"})
                    stopped[label] = "over its memory limit at a smaller size"
                    continue
                power, start = (chunking, 3e-2) if heavy else (smo, 4e-3)
                factor = {"dense": 4.0, "bits": 0.6}.get(label.rpartition("-")[2], 1.0)
                if heavy:
                    factor = factor**0.1
                seconds = start * factor * (n / 1000) ** power * float(np.exp(noise * rng.normal()))
                touched = int(1e6 * (10 if label.endswith("dense") else 1) * (n / 1000) ** power)
                is_flagged = flagged(label, n, repeat)
                line = solved(
                    base,
                    seconds,
                    int(50 * n**0.9),
                    dual=0.3 * C * n * (1 + 1e-5 * heavy),
                    primal=0.3 * C * n * 1.0001,
                    gap=3e-5 * C * n,
                    max_violation=9.7e-4,
                    n_bound=bound,
                    n_nonbound=nonbound,
                )
                lines.append(
                    {
                        **line,
                        "work": {"nonzeros": touched, **({"hessian_entries": 9 * touched} if heavy else {})},
                        "info": {"cg_tol_final": 3e-10, "chunks": 5.0} if heavy else {},
                        "flagged": is_flagged,
                        "flag_reason": "other load" if is_flagged else None,
                    }
                )
    return lines


def solved(base: Mapping[str, Any], seconds: float, iterations: int, **certificate: float) -> dict[str, Any]:
    """Return a line with a certified result."""
    return {
        **base,
        "status": "optimal",
        "cpu_seconds": seconds,
        "wall_seconds": seconds,
        "iterations": iterations,
        "kernel_evaluations": 100 * iterations,
        "work": {"nonzeros": 1000 * iterations},
        "certificate": {"max_violation": 5e-4, "pair_gap": 1e-3, **certificate, "passed": True},
        "peak_memory_bytes": 1000,
    }


def make_line(
    config: Config, experiment: Experiment, contender: Contender, n: int, repeat: int
) -> dict[str, Any]:
    """Return a complete line without a result."""
    return {
        "schema": SCHEMA,
        "run_id": f"run-{experiment.name}",
        "row": "r" * 32,
        "scale": config.scale,
        "paper": experiment.paper,
        "experiment": experiment.name,
        "dataset": experiment.dataset,
        "n": n,
        "n_paper": experiment.paper_sizes.get(n),
        "seed": experiment.seeds[0],
        "repeat": repeat,
        "contender": contender.label,
        "solver": contender.solver,
        "options": contender.options,
        "storage": contender.storage,
        "encoding": contender.encoding,
        "kernel": experiment.kernel,
        "axis": None,
        "point": None,
        "C": experiment.bound(n),
        "bias": contender.bias,
        "eps": experiment.eps,
        "time_limit": contender.time_limit,
        "memory_limit_mb": contender.memory_limit_mb,
        "fingerprint": "f" * 16,
        "status": "not_run",
        **NO_RESULT,
        "load_before": 0.1,
        "load_after": 0.2,
        "machine": {
            "cpu": "Example CPU 2.5 GHz",
            "cores": 2,
            "python": "3.12.1",
            "versions": {"numpy": "2.4.0", "svmrepro": "0.1.0"},
            "blas": "openblas 0.3",
            "commit": "0123456789ab+",
        },
        "time": f"2026-01-02T03:04:{repeat:02d}Z",
    }


def write_records(config: Config, lines: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write lines to the file that the collecting step reads."""
    for name, found in lines.items():
        (path,) = paths.job_files(config, PAPER, name)
        atomic_write(path, dump_lines(found))


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def without_numbers_that_are_none(folder: Path) -> int:
    """Return the number of table files in a folder, after checking each for nan and None."""
    found = [path for path in folder.glob("*.*") if path.suffix in (".csv", ".md", ".html")]
    for path in found:
        assert not re.search(r"\b(nan|NaN|None|inf)\b", path.read_text(encoding="utf-8")), path
    return len(found)


def with_experiment(config: Config, name: str, **changes: Any) -> Config:
    """Return the configuration with changed fields of one experiment."""
    paper = config.papers[PAPER]
    experiments = {**paper.experiments, name: replace(paper.experiments[name], **changes)}
    return replace(config, papers={PAPER: replace(paper, experiments=experiments)})


def _experiment(name: str) -> Experiment:
    dataset, _, kernel = name.partition("-")
    title, C, _, _ = EXPERIMENTS[name]
    plain = {"smo": {}, "chunking": {"solver": "chunking", "memory_limit_mb": 128.0}}
    contenders: dict[str, dict[str, Any]] = dict(plain)
    if kernel == "linear":
        contenders["smo-fixed-threshold"] = {"solver": "smo-fixed-threshold", "bias": False}
    storages = ("bits", "dense") if dataset in ("separable", "noise") else ("bits",)
    for storage in storages:
        for label, settings in plain.items():
            contenders[f"{label}-{storage}"] = {**settings, "storage": storage}
    return Experiment(
        name=name,
        paper=PAPER,
        title=title,
        dataset=dataset,
        kernel={"name": kernel} if kernel == "linear" else {"name": kernel, "sigma2": 10},
        C=C,
        C_total=None,
        bias=True,
        eps=1e-3,
        sizes=SIZES[dataset],
        paper_sizes={n: PAPER_SIZES.get(n, n) for n in SIZES[dataset]},
        seeds=(0,) if dataset in ("separable", "noise") else (None,),
        repeats=3,
        repeat_budget=None,
        contenders={
            label: Contender(label, **{"solver": "smo", "storage": "index", **settings})
            for label, settings in contenders.items()
        },
    )


def _artefacts(names: list[str]) -> dict[str, Artefact]:
    found: list[Artefact] = []
    for name in names:
        title = EXPERIMENTS[name][0]
        found.append(Artefact(f"timing-{name}", "timing", "table", (name,), f"Training time: {title}", ""))
        found.append(Artefact(f"loglog-{name}", "loglog", "figure", (name,), f"Scaling: {title}", ""))
        if name.startswith(("separable", "noise")):
            found.append(Artefact(f"sparse-{name}", "sparse", "table", (name,), f"Sparse code: {title}", ""))
    every = tuple(names)
    found += [
        Artefact("scaling", "scaling", "table", every, "Scaling exponents", ""),
        Artefact("support-vectors", "support-vectors", "table", every, "Support vectors", ""),
        Artefact("contenders", "contenders", "table", every[:1], "Contenders", ""),
        Artefact("claims", "claims", "table", every, "Claims", ""),
        Artefact("overview", "overview", "figure", every, "Overview", ""),
        Artefact("exponents", "exponents", "figure", every, "Exponents", ""),
    ]
    return {artefact.name: artefact for artefact in found}
