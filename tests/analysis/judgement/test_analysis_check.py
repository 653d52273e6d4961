import copy
import dataclasses
import json
from xml.etree import ElementTree

import analysis_support as synthetic
import pandas as pd
import pytest
from curve_support import run
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.runs import Runs
from svmrepro.workflow.comparison.compared_run import read_run
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_line import NO_RESULT
from svmrepro.workflow.judgement.claims import clocked_claims
from svmrepro.workflow.judgement.reference_check import about, compare, is_read, summarise
from svmrepro.workflow.steps import check

RESULTS_ROW = "adult-linear n = 1605, smo"


@pytest.fixture(scope="module")
def record(full):
    """Return what a check compares, which no test may change."""
    synthetic.checked(full)
    return read_run(paths.results(full), full.papers).record


def find(record, n="1605", paper=synthetic.PAPER):
    wanted = (paper, n, "smo")
    return next(row for row in record["rows"] if (row["paper"], row["n"], row["contender"]) == wanted)


def test_without_a_reference_it_says_so_and_fails(full, capsys, reference):
    with pytest.raises(StepError, match="nothing compared: there is no reference run of the paper scale"):
        check.run(full)
    out = capsys.readouterr().out
    assert "holds" in out and "adult-linear-one-order" in out  # the verdicts are printed nevertheless
    assert "eproduced" not in out


def test_claims_without_a_value_for_one_reason_are_one_line():
    def row(name, verdict="not measured here", measured="judged at paper scale only", counted="yes"):
        return {"id": name, "verdict": verdict, "measured": measured, "counted": counted, "on_paper": "holds"}

    rows = [*map(row, "abc"), row("d", counted="no"), row("e", measured="no data"), row("f", "holds")]
    said = check._printed("A paper", rows).splitlines()
    assert [line[25:] for line in said[3:] if line[:1].isalpha()][:2] == ["e", "f"]
    assert said[-2:] == [
        "not measured here        4 claims: judged at paper scale only",
        "1 holds, 4 not measured here (1 listed, not counted)",
    ]


def test_headlines_that_are_not_counted_are_left_out():
    row = {"id": "a", "kind": "headline", "verdict": "not decided", "measured": "1.2x"}
    said = check._undecided({"p": [{**row, "counted": "yes"}, {**row, "id": "b", "counted": "no"}]})
    assert said.splitlines()[0] == "Headline claims undecided because of noise: 1 of 1: a"


@pytest.fixture
def reference(monkeypatch, tmp_path):
    """The folder of the reference run, which belongs to this test alone."""
    folder = tmp_path / "results" / "reference" / "paper"
    monkeypatch.setattr(paths, "reference", lambda config: folder)
    return folder


def write_reference(config, folder, paper=synthetic.PAPER, **changed):
    """Make a copy of a run the reference; ``changed`` has the functions that change its tables."""
    (folder / paper).mkdir(parents=True, exist_ok=True)
    for name in ("measurements", "claims"):
        table = pd.read_csv(
            paths.results(config) / synthetic.PAPER / f"{name}.csv", dtype=str, keep_default_na=False
        )
        change = changed.get(name, lambda table: table)
        change(table).to_csv(folder / paper / f"{name}.csv", index=False)


def holding(name):
    """Return the change of a table of claims by which one claim holds."""
    return lambda table: table.assign(verdict=table["verdict"].where(table["id"] != name, "holds"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_columns_that_are_read_suffice_for_the_comparison(full, record, suffix):
    file = (paths.results(full) / synthetic.PAPER / "measurements").with_suffix(suffix)
    whole, read = read_runs([file]), read_runs([file], is_read)
    assert about(read) == about(whole) and summarise(read) == summarise(whole)
    left_out = whole.runs[0].fields.keys() - read.runs[0].fields.keys()
    assert left_out >= {"wall_seconds", "certificate.gap"}


def test_exponents_and_ratios_of_the_reference_are_not_read(full, record, reference):
    write_reference(full, reference)
    for name in ("fits", "ratios"):
        (reference / synthetic.PAPER / f"{name}.csv").write_text("malformed")
    assert check.run(full) == 0


def test_a_reference_without_this_paper_is_nothing_to_compare_with(full, reference, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    write_reference(full, reference, paper="another")
    with pytest.raises(StepError, match="the reference run of the paper scale has no row of platt1998"):
        check.run(full)
    assert "Reproduced" not in summary.read_text()
    suites = ElementTree.parse(paths.check(full).with_suffix(".xml")).getroot()
    (compared,) = (suite for suite in suites if suite.get("name") == "reference run")
    assert compared.get("skipped") == "1"


def test_a_partial_check_says_of_how_many_rows_and_fails_if_asked(full, record, capsys, reference):
    def with_more(table):
        chosen = (table["experiment"] == "adult-linear") & (table["n"] == "1605") & (table["repeat"] == "0")
        row = table[chosen & (table["contender"] == "smo")].assign(experiment="adult-more")
        return pd.concat([table, row.assign(n="1001"), row.assign(n="1002")])

    write_reference(full, reference, measurements=with_more)
    rows = compare(record, record).rows
    assert check.run(full) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"\nReproduced on {rows:,} of {rows + 2:,} rows; 2 not measured.\n")
    assert "note: 2 rows of the reference were not measured here: adult-more n = 1001, smo" in out

    assert check.run(dataclasses.replace(full, require_complete=True)) == 1
    out = capsys.readouterr().out
    assert "FAULT: 2 rows of the reference were not measured here" in out
    assert out.endswith("\nNot reproduced: 1 fault.\n")


def test_a_complete_check_has_every_claim(record):
    assert compare(record, record, complete=True).faults == []
    now = copy.deepcopy(record)
    now["claims"][synthetic.PAPER]["separable-none-at-bound"] = "not measured here"
    (fault,) = compare(record, now, complete=True).faults
    assert fault == "claim platt1998/separable-none-at-bound held in the reference: not measured here"


def test_what_the_reference_lacks_is_counted(record):
    shorter = copy.deepcopy(record)
    for each in (find(record), find(record, "2265")):
        shorter["rows"].remove(each)
    shorter["claims"] = {}
    claims, rows = compare(shorter, record), compare({**shorter, "claims": record["claims"]}, record)
    (said,) = rows.remarks
    assert rows.faults == [] and said.startswith("2 solved rows of this run are not in the reference: platt")
    number = len(record["claims"][synthetic.PAPER])
    assert claims.remarks[1].startswith(f"{number} claims of this run are not in the reference: platt")
    assert compare(shorter, record, complete=True).faults == claims.remarks
    assert compare(shorter, record, whole=False).remarks == []
    unsolved = copy.deepcopy(record)
    find(unsolved).update(status="time_limit", counts={})  # on a slower machine
    assert compare(unsolved, record).remarks == []


def test_the_record_holds_claims_machine_and_every_row(full, record):
    assert record["claims"][synthetic.PAPER]["separable-none-at-bound"] == "holds"
    identity = record["papers"][synthetic.PAPER]["machine"]
    assert identity["machine.cpu"] == "Example CPU 2.5 GHz" and "machine.versions.svmrepro" not in identity
    experiments = full.papers[synthetic.PAPER].experiments.values()
    assert len(record["rows"]) == sum(len(item.sizes) * len(item.contenders) for item in experiments)
    assert "cpu_seconds" not in json.dumps(record)
    assert find(record)["counts"]["certificate.n_bound"] == 578
    known = json.loads(paths.check(full).read_text())["papers"][synthetic.PAPER]
    assert known["runs"]["measured"] > known["runs"]["flagged"] >= 0
    (machine,) = known["machines"]
    assert {"cpu", "commit", "versions.numpy"} <= set(machine)
    outcome = compare(record, record)
    assert outcome.same_machine == {synthetic.PAPER: True}
    assert outcome.faults == [] and outcome.rows > 200


def claim(verdict, name="separable-none-at-bound"):
    return lambda now: now["claims"][synthetic.PAPER].update({name: verdict})


def row(n="1605", **fields):
    return lambda now: find(now, n=n).update(fields)


def every_row(**fields):
    return lambda now: [each.update(fields) for each in now["rows"]]


def without(**fields):
    def change(now):
        now["rows"] = [each for each in now["rows"] if not fields.items() <= each.items()]

    return change


def more_work_elsewhere(now):
    now["papers"][synthetic.PAPER]["machine"]["machine.cpu"] = "Other CPU"
    for each in now["rows"]:
        if each["contender"] == "smo" and each["counts"]:
            each["counts"]["iterations"] *= 1.04


LOST = {"counts": {}}
ABSENT = "1 row of the reference is not part of this run: adult-linear n = 1605, smo"


@pytest.mark.parametrize(
    ("change", "fault", "remark", "left_out"),
    [
        (claim("does not hold"), "claim platt1998/separable-none-at-bound", "", 0),
        (claim("not measured here"), "", "claim platt1998/separable-none-at-bound", 0),
        (claim("holds on a stand-in"), "", "held in the reference: holds on a stand-in", 0),
        (claim("not decided", "web-gaussian-support-vectors"), "", "", 0),  # did not hold before
        (row(status="uncertified", **LOST), f"{RESULTS_ROW}: uncertified, optimal in the reference", "", 1),
        (row("2265", status="time_limit", **LOST), "", "n = 2265, smo: time_limit", 1),  # a slower machine
        (row(status="not_run", **LOST), "", "1 row of the reference", 1),
        (row(setting={"C": "0.1"}), f"{ABSENT}: other settings;", "", 1),
        (without(n="1605", contender="smo", experiment="adult-linear"), f"{ABSENT};", "", 1),
        (without(experiment="adult-linear"), "", "its experiment is not part of this run", 39),
        (every_row(status="not_run", **LOST), "not one row of the reference", "229 rows", 229),
        (more_work_elsewhere, "platt1998, smo: iterations is 1.040 times", "", 0),
    ],
)
def test_what_is_a_fault_and_what_a_remark(record, change, fault, remark, left_out):
    now = copy.deepcopy(record)
    change(now)
    outcome = compare(record, now)
    assert [fault in said for said in outcome.faults] == [True] * bool(fault), outcome
    assert [remark in said for said in outcome.remarks] == [True] * bool(remark), outcome
    assert outcome.of - outcome.rows == left_out


@pytest.mark.parametrize(
    ("status", "limit", "faults"),
    [("time_limit", 20, 1), ("time_limit", 5, 0), ("time_limit", None, 1), ("memory_limit", 5, 1)],
)
def test_a_limit_of_the_smallest_row_is_a_fault_unless_a_slower_machine_explains_it(
    record, status, limit, faults
):
    now = copy.deepcopy(record)
    find(now).update(status=status, counts={}, time_limit=limit and limit * find(record)["seconds"])
    assert find(record)["seconds"] > 0 and len(compare(record, now).faults) == faults


def test_a_claim_about_seconds_that_is_left_open_is_a_remark(full, record, capsys, reference):
    verdicts, counted = record["claims"][synthetic.PAPER], "separable-none-at-bound"
    named = clocked_claims(full)
    clocked, undecided = (
        next(name for name in verdicts if (synthetic.PAPER, name) in named and verdicts[name] == verdict)
        for verdict in ("holds", "not decided")
    )
    assert (synthetic.PAPER, clocked) in named and (synthetic.PAPER, counted) not in named
    assert record["claims"][synthetic.PAPER][clocked] == "holds"
    for name, verdict, faults, remarks in (
        (clocked, "not decided", 0, 1),
        (clocked, "does not hold", 1, 0),
        (counted, "not decided", 1, 0),
    ):
        now = copy.deepcopy(record)
        now["claims"][synthetic.PAPER][name] = verdict
        outcome = compare(record, now, clocked=named)
        assert (len(outcome.faults), len(outcome.remarks)) == (faults, remarks)
        now["papers"][synthetic.PAPER]["machine"]["machine.cpu_id"] = "another"
        elsewhere = compare(record, now, clocked=named)
        found = elsewhere.remarks if name == clocked else elsewhere.faults
        assert any(f"{name} held" in said for said in found)

    # The check itself reports the same.
    write_reference(full, reference, claims=holding(undecided))
    assert check.run(full) == 0
    out = capsys.readouterr().out
    assert f"note: claim platt1998/{undecided} held in the reference: not decided, by seconds" in out
    assert f"Reproduced on all {compare(record, record).rows:,} rows." in out


@pytest.mark.parametrize(
    ("name", "factor", "same_faults", "other_faults"),
    [
        ("certificate.dual", 1.0 + 1e-6, 1, 0),
        ("certificate.dual", 1.03, 1, 1),
        ("certificate.n_bound", 1.015, 1, 0),
        ("certificate.n_bound", 1.05, 1, 0),  # 29 of 1,605 examples
        ("certificate.n_bound", 1.1, 1, 1),
        ("iterations", 1.05, 1, 0),  # the path of one row may differ on another machine
    ],
)
def test_counts_are_equal_here_and_within_two_percent_elsewhere(
    record, name, factor, same_faults, other_faults
):
    now = copy.deepcopy(record)
    find(now)["counts"][name] *= factor
    outcome = compare(record, now)
    assert outcome.how.startswith("same machine") and len(outcome.faults) == same_faults
    assert RESULTS_ROW in outcome.faults[0]
    now["papers"][synthetic.PAPER]["machine"]["machine.cpu"] = "Other CPU"
    outcome = compare(record, now)
    assert outcome.how.startswith("another machine") and len(outcome.faults) == other_faults


@pytest.mark.parametrize(("solver", "faults"), [("smo", 1), ("svmlight-ordinal", 0)])
def test_which_pairs_have_multipliers_depends_on_the_path(record, solver, faults):
    before, now = copy.deepcopy(record), copy.deepcopy(record)
    for each in (*before["rows"], *now["rows"]):
        each["setting"]["solver"] = solver
    find(now)["counts"]["certificate.n_bound"] *= 1.1
    now["papers"][synthetic.PAPER]["machine"]["machine.cpu"] = "Other CPU"
    assert len(compare(before, now).faults) == faults


def test_each_paper_is_compared_with_the_machine_of_its_reference(record):
    reference = copy.deepcopy(record)
    reference["rows"] += [{**each, "paper": "another"} for each in copy.deepcopy(record["rows"])]
    reference["papers"]["another"] = {"machine": {"machine.cpu": "Other CPU"}, "protocols": []}
    now = copy.deepcopy(reference)
    now["papers"]["another"] = now["papers"][synthetic.PAPER]
    for paper in (synthetic.PAPER, "another"):
        find(now, paper=paper)["counts"]["iterations"] *= 1.05
    outcome = compare(reference, now)
    assert outcome.same_machine == {synthetic.PAPER: True, "another": False}
    assert outcome.how.startswith(f"{synthetic.PAPER}: same machine and libraries, equality; the others: ")
    (fault,) = outcome.faults
    assert RESULTS_ROW in fault and "same machine" in fault


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"certificate.passed": "false"}, "uncertified"),
        ({"status": "error"}, "error"),
        ({"status": "time_limit"}, "optimal"),  # of a disturbed machine
        ({"status": "not_run"}, "optimal"),
    ],
)
def test_a_failed_repeat_is_the_status_of_its_row(fields, status):
    again = run("set", "smo", 100, repeat=1, **fields)
    for runs in ((run("set", "smo", 100), again), (again, run("set", "smo", 100))):
        (row,) = summarise(Runs(runs))
        assert row["status"] == status


def test_writing_a_reference_and_failing_against_it(full, capsys, reference, tmp_path):
    drawn = dataclasses.replace(full, figures_dir=tmp_path / "plots")
    for artefact in full.papers[synthetic.PAPER].artefacts.values():
        if artefact.form == "figure":
            for path in paths.figure(drawn, synthetic.PAPER, artefact.name).values():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("a figure")
    own = reference / synthetic.PAPER
    own.mkdir(parents=True)
    (own / "former.md").touch()
    assert check.run(drawn, write_reference=True) == 0
    assert not (own / "former.md").exists()
    assert (own / "claims.md").is_file() and (own / "fits.csv").is_file()
    assert (own / "measurements.parquet").is_file() and not (own / "measurements.csv").exists()
    assert (tmp_path / "figures" / "reference" / "paper" / synthetic.PAPER / "overview.svg").is_file()

    assert check.run(full) == 0
    assert "\nReproduced on all " in capsys.readouterr().out

    # Another reference, in which a claim held that does not hold here.
    held = "web-gaussian-support-vectors"
    write_reference(full, reference, claims=holding(held))
    assert check.run(full) == 1
    out = capsys.readouterr().out
    assert f"FAULT: claim platt1998/{held} held in the reference: does not hold" in out
    assert json.loads(paths.check(full).read_text())["comparison"]["faults"]

    (own / "measurements.csv").write_text("nothing")
    with pytest.raises(StepError, match=r"measurements\.csv: no column 'experiment'"):
        check.run(full)


def test_an_unfinished_run_cannot_become_the_reference(full, reference):
    with pytest.raises(StepError, match=r" \(and \d+ other files\): missing; make the whole run"):
        check.run(full, write_reference=True)


def test_an_empty_folder_is_no_reference(full, reference):
    reference.mkdir(parents=True)
    with pytest.raises(StepError, match="nothing compared: there is no reference run of the paper scale"):
        check.run(full)


def test_the_record_is_as_old_as_what_was_measured(tmp_path):
    config = synthetic.make_config(tmp_path, ["web-linear"])
    lines = synthetic.records(config, "web-linear")
    newest = max(line["time"] for line in lines)
    # A later search for the data, a year after, without success.
    later = f"{int(newest[:4]) + 1}{newest[4:]}"
    lines[-1] |= {"status": "not_run", **NO_RESULT, "time": later}
    synthetic.checked(synthetic.analyse(config, {"web-linear": lines}))
    assert json.loads(paths.check(config).read_text())["papers"][synthetic.PAPER]["measured"] == newest
