import pytest
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.tables import deviations


@pytest.mark.parametrize("name", ["platt1998", "platt1999", "glasmachers2008", "joachims2006"])
def test_every_paper_declares_its_deviations(name):
    config = load_config({"papers": [name]})
    artefact = config.papers[name].artefacts["deviations"]
    assert not artefact.measured  # it is made without a single measurement
    table = deviations.build(load(config, name, ()), artefact)
    listed = artefact.settings["deviations"]
    assert [row["here"].text for row in table.sections[0].rows] == [entry["here"] for entry in listed]
