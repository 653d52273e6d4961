from dataclasses import replace

import pytest
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.tables import deviations


@pytest.mark.parametrize("name", ["platt1998", "platt1999", "glasmachers2008", "joachims2006"])
def test_every_paper_declares_its_deviations(name):
    config = load_config({"papers": [name]})
    artefact = config.papers[name].artefacts["deviations"]
    assert not artefact.measured  # it is made without a single measurement
    table = deviations.build(load(config, name, ()), artefact)
    listed = artefact.settings["deviations"]
    assert [row["here"].text for row in table.sections[0].rows] == [entry["here"] for entry in listed]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([], "a list expected"),
        ([{"where": "a", "paper": "b", "here": "c"}], "entry 1: texts where, paper, here, because"),
        ([{"where": "a", "paper": "b", "here": "c", "because": ""}], "entry 1"),
    ],
)
def test_a_deviation_without_a_reason_is_refused(listed, message):
    config = load_config({"papers": ["platt1998"]})
    artefact = config.papers["platt1998"].artefacts["deviations"]
    with pytest.raises(StepError, match=message):
        deviations.build(load(config, "platt1998", ()), replace(artefact, settings={"deviations": listed}))
