"""Every registered kind of table and figure implements the builders' protocol."""

import inspect
from typing import get_type_hints

import pytest
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.configuration.artefact_kinds import ARTEFACT_KINDS, builder_of
from svmrepro.workflow.configuration.artefact_settings import settings_of
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.configuration.settings import ArtefactSettings
from svmrepro.workflow.tables.layout.model import Table


@pytest.mark.parametrize(
    ("form", "kind"), [(form, kind) for form in ARTEFACT_KINDS for kind in ARTEFACT_KINDS[form]]
)
def test_a_kind_has_a_builder_that_documents_its_settings(form, kind):
    builder = builder_of("a paper", Artefact("name", kind, form, (), "", ""))
    assert list(inspect.signature(builder).parameters) == ["results", "artefact"]
    built = {"table": Table, "figure": Figure}[form]
    assert get_type_hints(builder) == {"results": Results, "artefact": Artefact, "return": built}
    documented = inspect.getdoc(builder)
    own = {*settings_of(kind).__struct_fields__} - {*ArtefactSettings.__struct_fields__}
    assert not {name for name in own if f"``{name}``" not in documented}
    assert (config_dir().parent / "workflow" / "report" / f"{kind}.rst").is_file()
