"""Kinds of table: the name in the YAML's ``kind`` -> the function that builds it."""

from __future__ import annotations

from collections.abc import Callable

from svmrepro.workflow import (
    table_against,
    table_benchmarks,
    table_claims,
    table_contenders,
    table_encoding,
    table_encodings,
    table_paired,
    table_parameters,
    table_precision,
    table_problems,
    table_scaling,
    table_sparse,
    table_timing,
    table_traffic,
    table_vectors,
)
from svmrepro.workflow.config import Artefact, Config
from svmrepro.workflow.render import Table
from svmrepro.workflow.results import Results, load

Builder = Callable[[Config, str, Artefact], Table]
"""Builds a table from the configuration, the paper's name and the artefact's description."""


def _measured(build: Callable[[Results, Artefact], Table]) -> Builder:
    """Give a builder what was measured in the artefact's experiments."""
    return lambda config, paper, artefact: build(load(config, paper, artefact.experiments), artefact)


KINDS: dict[str, Builder] = {
    "timing": _measured(table_timing.build),
    "sparse": _measured(table_sparse.build),
    "scaling": _measured(table_scaling.build),
    "support-vectors": _measured(table_vectors.build),
    "contenders": _measured(table_contenders.build),
    "claims": _measured(table_claims.build),
    "problems": _measured(table_problems.build),
    "paired": _measured(table_paired.build),
    "against": _measured(table_against.build),
    "traffic": _measured(table_traffic.build),
    "encodings": _measured(table_encodings.build),
    "benchmarks": _measured(table_benchmarks.build),
    "precision": _measured(table_precision.build),
    "parameters": table_parameters.build,
    "encoding": table_encoding.build,
}
