"""Measurements by different protocols of timing: their seconds are never combined, and each step says so."""

import analysis_support as synthetic
from support import rows_of as rows
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.analysis.tidy import mixed_protocols
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.judgement.reference_check import about, compare, summarise

NAME = "noise-linear"


def analysed(tmp_path, pinned):
    """Analyse measurements of which some are pinned, and then take half as long."""
    config = synthetic.make_config(tmp_path, [NAME])
    lines = synthetic.records(config, NAME)
    for line in filter(pinned, lines):
        line |= {"protocol": "1, pinned", "run_id": "pinned"}
        line["cpu_seconds"] = (line["cpu_seconds"] or 0) / 2 or None
    return synthetic.analyse(config, {NAME: lines})


def record(runs):
    return {"papers": {synthetic.PAPER: about(runs)}, "claims": {}, "rows": summarise(runs)}


def test_seconds_of_two_protocols_meet_in_no_median_and_no_ratio(tmp_path, capsys):
    sizes = synthetic.make_config(tmp_path / "sizes", [NAME]).papers[synthetic.PAPER].experiments[NAME].sizes
    config = analysed(
        tmp_path, lambda line: line["n"] == sizes[-1] or (line["n"], line["repeat"]) == (sizes[0], 2)
    )
    assert f"several timing protocols, of which the seconds of one count: {NAME} (" in capsys.readouterr().out
    runs = read_runs([paths.measurements(config, synthetic.PAPER, NAME)])
    first, last = (runs.group(NAME, "smo", n) for n in (sizes[0], sizes[-1]))
    repeats = len(first.solved)
    assert {run.protocol for run in first.timed} == {"1"} and len(first.timed) == repeats - 1 > 0
    assert last.untimed == "not timed: solved by another timing protocol"
    assert len(last.values("iterations")) == repeats
    ratios = rows(paths.ratios(config, synthetic.PAPER, NAME))
    assert sizes[-1] not in {int(row["n"]) for row in ratios if row["quantity"] == CPU}
    text = paths.table(config, synthetic.PAPER, f"timing-{NAME}")["md"].read_text().replace("\\", "")
    assert "use runs by one timing protocol only" in text and ", timing protocol 1, pinned]" in text
    assert "kind of hardware" not in text


def test_a_solver_measured_with_two_versions_of_its_code_is_named(tmp_path):
    config = synthetic.make_config(tmp_path, [NAME])
    lines = synthetic.records(config, NAME)
    for line in lines:
        line["fingerprint"] = "new" if line["solver"] == "smo" and line["repeat"] else "old"
    config = synthetic.analyse(config, {NAME: lines}, only=[f"timing-{NAME}"])
    text = paths.table(config, synthetic.PAPER, f"timing-{NAME}")["md"].read_text()
    assert f"Measured with several versions of their code: smo ({NAME})." in text


def test_check_and_compare_name_protocols_that_differ(tmp_path):
    read = []
    for name, pinned in (("usual", False), ("pinned", True)):
        config = analysed(tmp_path / name, lambda line, pinned=pinned: pinned)
        read.append(read_runs([paths.measurements(config, synthetic.PAPER, NAME)]))
    usual, pinned = map(record, read)
    found = compare(usual, pinned)
    assert not found.faults and found.rows == found.of > 0
    assert [said for said in found.remarks if "timing protocol" in said] == [
        "timing protocol 1, pinned here, 1 there: seconds, and claims about them, are not comparable"
    ]
    assert not compare(usual, usual).remarks


def test_lines_that_were_not_timed_mix_no_protocols():
    line = {"experiment": NAME, "cpu_seconds": "1.5", "protocol": "1"}
    other = {**line, "protocol": "2"}
    assert mixed_protocols([line, line, {**other, "cpu_seconds": ""}]) == ""
    assert mixed_protocols([line, other, {**line, "protocol": ""}]).endswith(f"{NAME} (2 by 1, 1 by 2)")
    assert mixed_protocols([]) == ""
