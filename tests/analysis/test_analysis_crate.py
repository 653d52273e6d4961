"""RO-Crate metadata of results."""

import json

import analysis_support as synthetic
import pandas as pd
import pytest
from support import PROJECT
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.steps import crate

REFERENCE = PROJECT / "results" / "reference"
COMMITTED = sorted(REFERENCE.glob(f"*/{crate.METADATA}"))


def entities(path):
    return {entity["@id"]: entity for entity in json.loads(path.read_text())["@graph"]}


def test_a_crate_names_software_machine_data_and_files(full):
    folder = paths.results(full)
    assert crate.run(folder) == 0
    found = entities(folder / crate.METADATA)
    assert found["./"]["conformsTo"] == {"@id": crate.PROFILE}
    assert found["./"]["license"] == "https://spdx.org/licenses/MIT"
    assert found["./"]["datePublished"] == "2026-01-02"
    assert found["#SoftwareApplication-svmrepro"]["version"] == "commit 0123456789ab+"
    assert found["#PropertyValue-processor"]["value"] == "Example CPU 2.5 GHz"
    action = found["#run"]
    assert action["instrument"] == {"@id": "#SoftwareApplication-svmrepro"}
    assert {"@id": "#Dataset-noise"} in action["object"]
    assert action["result"] == [{"@id": f"{synthetic.PAPER}/measurements.parquet"}]
    files = [entity for entity in found.values() if entity["@type"] == "File"]
    assert all((folder / entity["@id"]).is_file() for entity in files)
    assert len(files) == sum(path.is_file() for path in folder.glob("*/*.*"))
    (folder / crate.METADATA).unlink()


def test_a_crate_is_of_what_was_measured():
    """Lines of what was not run have a time as well."""
    common = {"scale": "smoke", "paper": "p"}
    measured = {**common, "dataset": "noise", "time": "2026-01-02T03:04:05Z", "cpu_seconds": 0.5}
    missing = {**common, "dataset": "adult", "time": "2026-01-03T03:04:05Z", "cpu_seconds": None}
    graph = json.loads(crate.metadata(pd.DataFrame([measured, missing]), {}))["@graph"]
    action = next(entity for entity in graph if entity["@id"] == "#run")
    assert action["object"] == [{"@id": "#Dataset-noise"}] and action["endTime"] == measured["time"]
    with pytest.raises(StepError, match="no measurement was made"):
        crate.metadata(pd.DataFrame([missing]), {})


def test_measurements_of_two_scales_are_refused():
    common = {"paper": "p", "dataset": "noise", "time": "2026-01-02T03:04:05Z", "cpu_seconds": 0.5}
    runs = pd.DataFrame([{**common, "scale": "smoke"}, {**common, "scale": "paper"}])
    with pytest.raises(StepError, match=r"^measurements of one scale expected, not of paper, smoke$"):
        crate.metadata(runs, {})


def test_a_folder_without_measurements_is_named(tmp_path):
    with pytest.raises(StepError, match="no <paper>/measurements"):
        crate.run(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "measurements.parquet").write_text("x")
    with pytest.raises(StepError, match=rf"^{tmp_path}/p/measurements\.parquet: "):
        crate.run(tmp_path)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_committed_crates_name_every_file(path):
    named = {name for name, entity in entities(path).items() if entity["@type"] == "File"}
    folder = path.parent
    assert named == {each.relative_to(folder).as_posix() for each in folder.glob("*/*.*")}


def test_a_crate_says_where_a_data_set_comes_from():
    found = entities(REFERENCE / "smoke" / crate.METADATA)["#Dataset-adult"]
    assert found["url"].startswith("http") and found["license"] and found["creditText"]
