"""Synthetic measurements, and the steps of the analysis in this process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import measurement
from svmrepro.workflow.configuration import Config, Contender, Experiment, dump_config, load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.journal.journal_line import dump_lines
from svmrepro.workflow.steps import analyse as analyse_step
from svmrepro.workflow.steps import check, collect, plot, tabulate

PAPER = "platt1998"
EXPERIMENTS = {
    "adult-linear": (1.65, 2.5),
    "adult-gaussian": (2.2, 2.7),
    "web-linear": (1.5, 2.4),
    "web-gaussian": (1.9, 2.1),
    "separable-linear": (1.05, 1.0),
    "noise-linear": (1.4, 2.9),
    "noise-gaussian": (1.9, 3.2),
}
"""Name -> exponent of SMO, exponent of chunking."""

Lines = list[dict[str, Any]]


def paper_config(
    folder: Path, paper: str, experiments: Mapping[str, Any], scale: str = "paper", **settings: Any
) -> Config:
    """Return a paper's configuration with these experiments, changed so, writing below `folder`."""
    every = load_config({"scale": scale, "papers": [paper]}).papers[paper].experiments
    folders = {f"{name}_dir": str(folder / name) for name in ("results", "figures", "data")}
    own = {"scale": scale, "papers": [paper], **folders, **settings}
    return load_config({**own, "experiments": {paper: {**dict.fromkeys(every), **experiments}}})


def make_config(folder: Path, experiments: Collection[str] = tuple(EXPERIMENTS), **changes: Any) -> Config:
    """Return Platt's configuration with changed experiments, and code for bits in all of them."""
    contenders: dict[str, Any] = {
        "chunking-face": None,
        "chunking-bends": None,
        "smo-bits": {"solver": "smo", "storage": "bits"},
        "chunking-bits": {"solver": "chunking", "storage": "bits", "memory_limit_mb": 128},
    }
    changed = {"contenders": contenders, "nested": [], **changes}
    config = paper_config(folder, PAPER, dict.fromkeys(experiments, changed), job="experiment")
    paper = config.papers[PAPER]
    # The table of a data set needs its files.
    artefacts = {name: artefact for name, artefact in paper.artefacts.items() if artefact.measured}
    return replace(config, papers={PAPER: replace(paper, artefacts=artefacts)})


def records(
    config: Config, name: str, flagged: Callable[[str, int, int], bool] = lambda contender, n, repeat: False
) -> Lines:
    """Return the lines of one experiment: power laws with 3 % of noise, chunking up to its memory limit."""
    experiment = config.papers[PAPER].experiments[name]
    powers = dict(zip(("smo", "chunking"), EXPERIMENTS[name], strict=True))
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    rng = np.random.default_rng(seed)
    lines: Lines = []
    stopped: dict[str, str] = {}
    for n in experiment.sizes:
        bound = 0 if name.startswith("separable") else round(0.36 * n)
        nonbound = round(12 * n**0.25)
        for repeat in range(experiment.repeats):
            for label, contender in experiment.contenders.items():
                if n not in experiment.sizes_of(contender):
                    continue
                base = make_line(config, experiment, contender, n, repeat)
                if label in stopped:
                    if repeat == 0:
                        lines.append({**base, "reason": stopped[label]})
                    continue
                heavy = contender.solver == "chunking"
                if heavy and 4 * (bound + nonbound) ** 2 > 128 * 2**20:
                    lines.append({**base, "status": "memory_limit", "reason": "sub-problem over 128 MB"})
                    stopped[label] = "over its memory limit at a smaller size"
                    continue
                growth = (n / 1000) ** powers["chunking" if heavy else "smo"]
                factor = {"dense": 4.0, "bits": 0.6}.get(label.rpartition("-")[2], 1.0)
                start = 3e-2 * factor**0.1 if heavy else 4e-3 * factor
                scale = 0.3 * experiment.bound(n) * n
                line = solved(
                    base,
                    start * growth * float(np.exp(0.03 * rng.normal())),
                    int(50 * n**0.9),
                    dual=scale * (1 + 1e-5 * heavy),
                    primal=scale * 1.0001,
                    gap=1e-4 * scale,
                    max_violation=9.7e-4,
                    n_bound=bound,
                    n_nonbound=nonbound,
                )
                touched = int(1e6 * (10 if label.endswith("dense") else 1) * growth)
                line["work"] = {"nonzeros": touched} | ({"hessian_entries": 9 * touched} if heavy else {})
                line["info"] = {"cg_tol_final": 3e-10, "chunks": 5.0} if heavy else {}
                if flagged(label, n, repeat):
                    line |= {"flagged": True, "flag_reason": "other load"}
                lines.append(line)
    return lines


def make_line(
    config: Config, experiment: Experiment, contender: Contender, n: int, repeat: int
) -> dict[str, Any]:
    """Return a complete line without a result."""
    return measurement(
        run_id=f"run-{experiment.name}",
        scale=config.scale,
        paper=experiment.paper,
        experiment=experiment.name,
        dataset=experiment.dataset,
        n=n,
        n_paper=experiment.paper_sizes.get(n),
        seed=experiment.seeds[0],
        repeat=repeat,
        contender=contender.label,
        solver=contender.solver,
        options=contender.options,
        storage=contender.storage,
        encoding=contender.encoding,
        kernel=experiment.kernel,
        C=experiment.bound(n),
        bias=contender.bias,
        eps=experiment.eps,
        time_limit=contender.time_limit,
        memory_limit_mb=contender.memory_limit_mb,
        status="not_run",
        machine={
            "cpu": "Example CPU 2.5 GHz",
            "cores": 2,
            "python": "3.12.1",
            "versions": {"numpy": "2.4.0", "svmrepro": "0.1.0"},
            "blas": "openblas 0.3",
            "commit": "0123456789ab+",
        },
        time=f"2026-01-02T03:04:{repeat:02d}Z",
    )


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


def write_records(config: Config, lines: Mapping[str, Lines], paper: str = PAPER) -> None:
    """Write lines to the files that the analysis reads: all those of an experiment in its first job's."""
    atomic_write(config.results_dir / "config.json", dump_config(config))
    for name, found in lines.items():
        first, *others = paths.job_files(config, paper, name)
        atomic_write(first, dump_lines(found))
        for path in others:
            atomic_write(path, b"")


def analyse(
    config: Config,
    lines: Mapping[str, Lines] | None = None,
    paper: str = PAPER,
    *,
    only: Collection[str] = (),
    figures: bool = False,
) -> Config:
    """Take lines, by default `records`, through the analysis; return the configuration.

    With ``only``, just these artefacts are made; figures only on request.
    """
    described = config.papers[paper]
    if lines is None:
        lines = {name: records(config, name) for name in described.experiments}
    write_records(config, lines, paper)
    for name in lines:
        analyse_step.run(config, paper, name)
    collect.run(config, paper)
    for name, artefact in described.artefacts.items():
        if name in (only or described.artefacts):
            if artefact.form == "table":
                tabulate.run(config, paper, [name])
            elif figures:
                plot.run(config, paper, [name])
    return config


def checked(config: Config) -> None:
    """Check a run without a reference, which fails; its record is written."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(StepError, match="nothing compared"):
        patch.setattr(paths, "reference", lambda _: config.results_dir / "none")
        check.run(config)


def without_numbers_that_are_none(folder: Path) -> int:
    """Return the number of table files in a folder, after checking each for nan and None."""
    found = [path for path in folder.glob("*.*") if path.suffix in (".csv", ".md", ".html")]
    for path in found:
        assert not re.search(r"\b(nan|NaN|None|inf)\b", path.read_text(encoding="utf-8")), path
    return len(found)
