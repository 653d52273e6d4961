"""Parameters of a paper's experiments (size, support vectors, C, sparseness), compared with the paper."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from svmrepro.workflow.analysis.results import Results, SizeRow, describe_kernel, display_name
from svmrepro.workflow.configuration import jobs
from svmrepro.workflow.configuration.contender_options import default_options
from svmrepro.workflow.configuration.model import Artefact, Config, Experiment
from svmrepro.workflow.measurement.data_sets import NotAvailable, load_instance
from svmrepro.workflow.tables.benchmarks import reached
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, percent, printed, prose
from svmrepro.workflow.tables.layout.model import Column, Table, beside_paper, table_of
from svmrepro.workflow.tables.layout.size_rows import SUPPORT, size_cell

WORDS = {"Y": "yes", "N": "no", "mix": "mixed"}
"""Abbreviations in the paper's table -> words in ours."""

COLUMNS = (
    Column("experiment", "experiment", prose=True),
    Column("kernel", "kernel", prose=True),
    Column("inputs", "sparse inputs", prose=True, short=True),
    Column("cache", "measured", group="kernel cache", prose=True, short=True),
    Column("paper_cache", "paper", group="kernel cache", paper=True, prose=True, short=True),
    *beside_paper("n", "n", difference=False),
    *beside_paper("support_vectors", "support vectors", difference=False),
    Column("difference", "difference", group="support vectors"),
    Column("bound", "at C"),
    *beside_paper("C", "C", difference=False),
    *beside_paper("zeros", "share of zeros", difference=False, unit="%"),
)


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per experiment.

    Settings of the artefact: ``table`` (the paper's file: support_vectors, C, zero_percent, kernel_caching)
    and ``contender`` (whose solutions at its largest size are counted).
    """
    table, contender = artefact.settings["table"], artefact.settings["contender"]
    rows = [_row(results, name, table, contender) for name in artefact.experiments]
    notes = [
        f"Support vectors: those of {display_name(contender)} at the largest size that it reached at the "
        f"{results.scale} scale. Difference: (measured - paper) / paper, where that size is the paper's.",
        "Share of zeros: components that are zero and not stored; dense inputs store all.",
    ]
    return table_of(results, artefact, COLUMNS, rows, notes=notes)


def _row(results: Results, name: str, table: str, contender: str) -> Mapping[str, Cell]:
    experiment, row = results.experiment(name), reached(results, name, contender)
    size = next(iter(results.numbers.sizes(name, table)), None)
    text = partial(results.numbers.text, table, name, size)
    value = partial(results.numbers.value, table, name, size)
    dense = experiment.contenders[contender].storage == "dense"
    kernel, settings = describe_kernel(experiment)
    cells = {
        "experiment": Cell(name, experiment.title, detail=name),
        "kernel": prose(", ".join([kernel, *settings])),
        "inputs": prose("no" if dense else "yes"),
        "cache": prose(_cache(results, experiment)),
        "paper_cache": prose(WORDS.get(text("kernel_caching"), text("kernel_caching"))),
        "paper_n": count(size),
        "paper_support_vectors": count(said := value("support_vectors")),
        "C": Cell(experiment.bound(row.size), f"{experiment.bound(row.size):,.10g}"),
        "paper_C": printed(text("C")),
        "zeros": Cell(0.0, "0") if dense else _zeros(results.config, experiment, row),
        "paper_zeros": count(value("zero_percent")),
    }
    absent = results.why_missing(name, contender, row)
    if absent:
        return {**cells, "n": missing(absent), "support_vectors": missing(absent, DASH)}
    group = results.group(name, contender, row.n)
    bound, free = (group.median(SUPPORT[kind][0]) for kind in ("bound", "nonbound"))
    ours = None if bound is None or free is None else bound + free
    cells |= {"n": size_cell(row), "support_vectors": count(ours), "bound": count(bound)}
    if row.n_paper is not None and said is not None and ours is not None:
        cells["difference"] = percent(ours / said - 1)
    return cells


def _cache(results: Results, experiment: Experiment) -> str:
    """Return which of the solvers timed by the paper cache kernel rows, and the cache size in megabytes."""
    limits = {}
    for label in results.main(experiment.name):
        contender = experiment.contenders[label]
        known = default_options(contender)
        if "cache_mb" in known:  # solvers that keep rows in another way lack this option
            limits[label] = float({**known, **contender.options}["cache_mb"])
    kept = {label: limit for label, limit in limits.items() if limit > 0}
    if not kept:
        return "no"
    shown = " and ".join(dict.fromkeys(f"{limit:g} MB" for limit in kept.values()))
    return shown if len(kept) == len(limits) else f"{', '.join(map(display_name, kept))}: {shown}"


def _zeros(config: Config, experiment: Experiment, row: SizeRow) -> Cell:
    """Return the percentage of zeros in the inputs; a dash with the reason if the data are unavailable."""
    instance = next(known for known in jobs.instances(experiment) if known.n == row.n)
    try:
        X = load_instance(config, instance).X
    except NotAvailable as error:
        return missing(f"not run: {error}", DASH)
    stored = int(np.count_nonzero(X)) if isinstance(X, np.ndarray) else X.nnz
    share = 100 * (1 - stored / (X.shape[0] * X.shape[1]))
    return Cell(share, f"{share:.0f}")
