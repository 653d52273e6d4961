"""Every registered kind of table and figure implements the builders' protocol."""

import inspect
from collections import defaultdict
from functools import cache
from typing import get_type_hints

import pytest
import yaml
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.configuration.artefact_kinds import ARTEFACT_KINDS, builder_of
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.model import Table

COMMON = {"kind", "form", "title", "caption", "experiment", "experiments"}


@cache
def used_settings():
    """Return the settings of the papers' artefacts of each kind."""
    found = defaultdict(set)
    for file in sorted((config_dir() / "experiments").glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text())["artefacts"].values():
            found[entry["form"], entry["kind"]] |= entry.keys() - COMMON
    return found


@pytest.mark.parametrize(
    ("form", "kind"), [(form, kind) for form in ARTEFACT_KINDS for kind in ARTEFACT_KINDS[form]]
)
def test_a_kind_has_a_builder_that_documents_its_settings(form, kind):
    builder = builder_of("a paper", Artefact("name", kind, form, (), "", ""))
    assert list(inspect.signature(builder).parameters) == ["results", "artefact"]
    built = {"table": Table, "figure": Figure}[form]
    assert get_type_hints(builder) == {"results": Results, "artefact": Artefact, "return": built}
    documented = inspect.getdoc(builder)
    assert not {name for name in used_settings()[form, kind] if f"``{name}``" not in documented}
    assert (config_dir().parent / "workflow" / "report" / f"{kind}.rst").is_file()
