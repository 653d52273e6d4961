"""Kinds of table: the name in the YAML's ``kind`` -> the function that builds it."""

from __future__ import annotations

from collections.abc import Callable

from svmrepro.workflow import (
    table_claims,
    table_contenders,
    table_encoding,
    table_scaling,
    table_sparse,
    table_timing,
    table_vectors,
)
from svmrepro.workflow.config import Artefact, Config
from svmrepro.workflow.render import Table
from svmrepro.workflow.results import Results

Builder = Callable[[Results, Artefact, Config], Table]
"""Builds a table from results, the artefact's description and (few need it) the configuration."""


def _plain(build: Callable[[Results, Artefact], Table]) -> Builder:
    return lambda results, artefact, config: build(results, artefact)


KINDS: dict[str, Builder] = {
    "timing": _plain(table_timing.build),
    "sparse": _plain(table_sparse.build),
    "scaling": _plain(table_scaling.build),
    "support-vectors": _plain(table_vectors.build),
    "contenders": _plain(table_contenders.build),
    "claims": _plain(table_claims.build),
    "encoding": table_encoding.build,
}
