"""Kinds of table: the name in the YAML's ``kind`` -> the function that builds it."""

from __future__ import annotations

from collections.abc import Callable

from svmrepro.workflow.analysis.results import Results, load
from svmrepro.workflow.configuration.model import Artefact, Config
from svmrepro.workflow.rendering import Table
from svmrepro.workflow.tables import (
    adult_encoding,
    benchmarks,
    claims,
    contenders,
    encodings,
    paired,
    parameters,
    precision,
    problems,
    scaling,
    sparse,
    support_vectors,
    timing,
    traffic,
    variants,
)

Builder = Callable[[Config, str, Artefact], Table]
"""Builds a table from the configuration, the paper's name and the artefact's description."""


def _measured(build: Callable[[Results, Artefact], Table]) -> Builder:
    """Give a builder what was measured in the artefact's experiments."""
    return lambda config, paper, artefact: build(load(config, paper, artefact.experiments), artefact)


KINDS: dict[str, Builder] = {
    "timing": _measured(timing.build),
    "sparse": _measured(sparse.build),
    "scaling": _measured(scaling.build),
    "support-vectors": _measured(support_vectors.build),
    "contenders": _measured(contenders.build),
    "claims": _measured(claims.build),
    "problems": _measured(problems.build),
    "paired": _measured(paired.build),
    "against": _measured(variants.build),
    "traffic": _measured(traffic.build),
    "encodings": _measured(encodings.build),
    "benchmarks": _measured(benchmarks.build),
    "precision": _measured(precision.build),
    "parameters": parameters.build,
    "encoding": adult_encoding.build,
}
