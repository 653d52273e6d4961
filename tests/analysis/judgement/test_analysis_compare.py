"""Comparison of two runs: agreement, differences, and missing parts."""

import csv
import re
import shutil
from dataclasses import replace
from functools import cache

import analysis_support as synthetic
import pytest
from support import PROJECT, rows_of, write_rows
from svmrepro.workflow.comparison import tables
from svmrepro.workflow.comparison.compared_run import read_run
from svmrepro.workflow.comparison.paired_runs import PairedRuns
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.judgement import claims
from svmrepro.workflow.statistics import Interval
from svmrepro.workflow.steps import compare
from svmrepro.workflow.tables.layout.writers import to_csv

PAPER = synthetic.PAPER
OTHER_MACHINE = {"machine.cpu": "Other CPU"}


def rewritten(source, target, change):
    """Copy a CSV file, applying `change` to each line; None drops the line."""
    write_rows(target, [line for row in rows_of(source) if (line := change(row)) is not None])


@pytest.fixture
def other(full, tmp_path):
    """Return a function that makes another run's folder: this run's with changed measurements."""

    def make(change=lambda row: row, leave_out=()):
        folder, ours = tmp_path / "other", paths.results(full)
        for name in ("fits", "ratios", "claims"):
            if name not in leave_out:
                source = ours / PAPER / f"{name}.csv"
                (folder / PAPER).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / PAPER / source.name)
        if "measurements" not in leave_out:
            rewritten(ours / PAPER / "measurements.csv", folder / PAPER / "measurements.csv", change)
        return folder

    return make


@cache
def unchanged(folder):
    return read_run(folder, [PAPER])


def paired(full, folder):
    return PairedRuns(unchanged(paths.results(full)), read_run(folder, [PAPER]))


def of_row(row, contender="smo"):
    return (row["experiment"], row["n"], row["contender"]) == ("adult-linear", "1605", contender)


def found(pair, contender="smo"):
    return next(row for row in pair.rows if row.key == (PAPER, "adult-linear", 1605, contender, ""))


def lines(table):
    return list(csv.DictReader(to_csv(table).splitlines()))


def test_a_run_agrees_with_itself(full, other):
    pair = paired(full, other())
    assert pair.outcome.same_machine == {PAPER: True} and not pair.outcome.faults
    assert {row.verdict for row in pair.rows} == {"equal", "not solved in both"}
    assert all(row.ratio("iterations") == Interval.exact(1.0) for row in pair.rows if row.pairs)
    (line,) = lines(tables.summary(pair))
    assert int(line["equal"]) > 200 and int(line["not_solved_in_both"]) > 0
    for nothing in ("differs", "only_here", "claims_changed", "exponents_differ", "ratios_differ"):
        assert line[nothing] == "0"
    for name, least in (("claims_same", 10), ("exponents_agree", 20), ("ratios_agree", 100)):
        assert int(line[name]) > least


def test_counts_are_equal_on_the_same_machine_and_close_elsewhere(full, other):
    def change(row, machine=None):
        row |= machine or {}
        if of_row(row) and row["status"] == "optimal":
            row["certificate.dual"] = repr(float(row["certificate.dual"]) * 1.01)
        if of_row(row, "chunking"):
            row["iterations"] = str(2 * int(row["iterations"]))
        if of_row(row, "smo-bits"):
            row["certificate.n_bound"] = str(2 * int(row["certificate.n_bound"]))
        return row

    pair = paired(full, other(change))
    for contender in ("smo", "chunking", "smo-bits"):
        assert found(pair, contender).verdict == "differs"
    assert found(pair, "chunking-bits").verdict == "equal"

    pair = paired(full, other(lambda row: change(row, OTHER_MACHINE)))
    assert pair.outcome.same_machine == {PAPER: False}
    assert found(pair).verdict == "within 2 %"
    assert found(pair).ratio("certificate.dual").value == pytest.approx(1 / 1.01)
    assert found(pair, "chunking").verdict == "another path"
    assert found(pair, "chunking").ratio("iterations").value == pytest.approx(0.5)
    assert found(pair, "smo-bits").verdict == "differs"
    assert "certificate.n_bound: 578 here, 1156 there" in found(pair, "smo-bits").detail
    (line,) = lines(tables.summary(pair))
    assert [line[name] for name in ("within_2_percent", "another_path", "differs")] == ["1", "1", "1"]
    (row,) = (row for row in lines(tables.measurements(pair, [PAPER])) if of_row(row, "chunking"))
    assert (row["iterations"], row["iterations_low"], row["verdict"]) == ("0.5", "0.5", "another path")
    assert 2 * float(row["iterations_here"]) == float(row["iterations_there"])


def test_seconds_are_ratios_within_a_run_alone(full, other):
    def slower(row):
        """A machine half as fast, otherwise identical."""
        for name in ("ratio", "low", "high"):
            row[name] = row[name] and repr(
                float(row[name]) * (3.0 if flaw and row["quantity"] == "cpu_seconds" else 1)
            )
        return row

    folder, flaw = other(), False
    assert "seconds" not in to_csv(tables.measurements(paired(full, folder), [PAPER])).partition("\n")[0]
    for flaw in (False, True):
        rewritten(paths.ratios(full, PAPER), folder / PAPER / "ratios.csv", slower)
        (line,) = lines(tables.summary(paired(full, folder)))
        assert (int(line["ratios_agree"]) > 300, int(line["ratios_differ"]) > 300) == (not flaw, flaw)
    row = next(iter(lines(tables.ratios(paired(full, folder), [PAPER]))))
    assert float(row["cpu_seconds_change"]) == pytest.approx(1 / 3) and row["verdict"] == "differ"
    assert float(row["work_change"]) == 1.0


def test_both_verdicts_of_a_claim(full, other):
    folder = other()

    def broken(row):
        if row["id"] == "separable-none-at-bound":
            row |= {"verdict": "does not hold", "measured": "other words"}
        return None if row["id"] == "adult-linear-one-order" else row

    rewritten(folder / PAPER / "claims.csv", folder / PAPER / "claims.csv", broken)
    rows = lines(tables.claims(paired(full, folder), [PAPER]))
    assert {row["claim"] for row in rows[:2]} == {"separable-none-at-bound", "adult-linear-one-order"}
    by_name = {row["claim"]: row for row in rows}
    row = by_name["separable-none-at-bound"]
    assert (row["here"], row["there"], row["measured_there"]) == ("holds", "does not hold", "other words")
    assert by_name["adult-linear-one-order"]["there_reason"] == "not listed"
    pair = paired(full, folder)
    assert pair.changed == [(PAPER, "separable-none-at-bound")]
    (line,) = lines(tables.summary(pair))
    assert (line["claims_changed"], line["claims_alone"]) == ("1", "1")


def test_a_reference_has_less_and_says_so(full, other):
    """Its measurements are a Parquet file."""
    folder = other(leave_out=("measurements", "ratios"))
    shutil.copyfile(
        paths.measurements(full, PAPER).with_suffix(".parquet"), folder / PAPER / "measurements.parquet"
    )
    pair = paired(full, folder)
    assert pair.outcome.same_machine == {PAPER: True}
    assert pair.there.scale == "paper" and pair.there.commits == ["0123456789ab+"]
    assert pair.there.lacking == (f"{PAPER}: no ratios",)
    assert {row.verdict for row in pair.rows} == {"equal", "not solved in both"}
    assert pair.claims[(PAPER, "separable-none-at-bound")] == ("holds", "holds")
    assert not pair.ratios and pair.exponents


def test_what_neither_run_has_is_not_missing(full, other):
    """A paper may have no claims, and so no verdicts."""
    ours = read_run(other(leave_out=("claims",)), full.papers)
    (ours.folder / PAPER / "ratios.csv").unlink()
    pair = PairedRuns(ours, read_run(ours.folder, full.papers))
    assert f"{PAPER}: no verdicts" in pair.here.lacking
    assert (pair.missing(pair.here), pair.missing(pair.there)) == ("", f"{PAPER}: no ratios")


def test_what_only_one_run_has_is_counted(full, other):
    def smaller(row):
        if of_row(row, "chunking") and row["status"] == "optimal":
            return row | {"status": "uncertified"}
        return row if int(row["n"]) < 5000 else None

    pair = paired(full, other(smaller))
    only_here, only_there = pair.alone
    assert only_here and min(key[2] for key in only_here) >= 5000 and not only_there
    row = found(pair, "chunking")
    assert (row.verdict, row.detail, row.pairs) == (
        "not solved in both",
        "optimal here, uncertified there",
        0,
    )
    assert any(
        note.startswith(f"{len(only_here)} rows only in this run") for note in tables.summary(pair).notes
    )


def test_other_settings_are_not_compared(full, other):
    row = found(paired(full, other(lambda row: row | ({"C": "0.1"} if of_row(row) else {}))))
    assert (row.verdict, row.detail, row.pairs) == ("other settings", "C: 0.05 here, 0.1 there", 0)


def test_permutations_give_an_interval(full, other):
    """Each seed that both runs contain is a separate pair."""
    base = next(row for row in rows_of(paths.results(full) / PAPER / "measurements.csv") if of_row(row))
    folders = []
    for name, seeds, factors in (
        ("one", range(9), [1] * 9),
        ("two", range(1, 11), [4, 4, 5, 5, 5, 5, 8, 8, 9, 9]),
    ):
        target = other().parent / name / PAPER / "measurements.csv"
        changes = ((str(seed), str(1000 * factor)) for seed, factor in zip(seeds, factors, strict=True))
        lines = [base | OTHER_MACHINE | {"seed": seed, "iterations": steps} for seed, steps in changes]
        write_rows(target, lines)
        folders.append(target.parents[1])
    (row,) = PairedRuns(*(read_run(folder, [PAPER]) for folder in reversed(folders))).rows
    assert row.pairs == 8 and row.verdict == "differs" and "9 there" not in row.detail
    assert row.ratio("iterations") == Interval(5.0, 4.0, 8.0)  # of eight, the extremes (sign test)
    assert row.ratio("certificate.dual") == Interval.exact(1.0)


def test_the_page_of_a_comparison_stands_alone(full, tmp_path):
    config = replace(full, figures_dir=tmp_path, against=str(paths.results(full)))
    compare.run(config)
    page = paths.comparison(config).read_text()
    shutil.rmtree(paths.comparison(config).parent)
    assert len(re.findall(r'<img alt="[^"]+" src="data:image/png;base64,iVBOR', page)) == 1
    assert not re.search(r"<script|<link|(?:src|href)=\"(?!data:)", page)


def test_a_folder_without_a_run_is_one_clear_line(full, other, tmp_path):
    for against, message in (
        (None, "no other run is named"),
        (tmp_path / "nowhere", "nowhere is not a folder"),
        (other().parent, "holds no results of a run .* did you mean .*other"),
    ):
        config = replace(full, against=against and str(against))
        with pytest.raises(StepError, match=message) as raised:
            compare.run(config)
        assert "\n" not in str(raised.value)
    folder = other()
    (folder / PAPER / "fits.csv").write_text("paper,experiment\n")
    with pytest.raises(StepError, match=r"fits\.csv: no column 'contender'"):
        read_run(folder, [PAPER])
    shutil.copyfile(paths.fits(full, PAPER), folder / PAPER / "fits.csv")
    rewritten(paths.ratios(full, PAPER), folder / PAPER / "ratios.csv", lambda row: row | {"low": "?"})
    with pytest.raises(StepError, match=r"ratios\.csv:2: low: '\?' is not a number"):
        read_run(folder, [PAPER])
    (folder / PAPER).rename(folder / "another-paper")
    with pytest.raises(StepError, match=f"has nothing of {PAPER}"):
        compare.run(replace(full, against=str(folder)))


def test_a_bad_folder_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StepError, match="against: nowhere is not a folder"):
        Plan({"scale": "smoke", "against": "nowhere"})
    reference = PROJECT / "results" / "reference" / "smoke"
    assert Plan({"scale": "smoke", "against": str(reference)}).config.against == str(reference)


def test_a_bad_claim_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "claims.yaml"
    bad.write_text("claims:\n- {id: mine}\n")
    monkeypatch.setattr(claims, "claims_file", lambda config, paper: bad)
    with pytest.raises(StepError, match=rf"^{re.escape(str(bad))}: claim 1 'mine': key '\w+' is missing"):
        Plan({"scale": "smoke"}).lock_results()


def test_seeds_of_other_data_are_not_paired(full, other):
    """One run permutes one sample; in the other each seed has a sample of its own, but seed 0 is the same."""
    base = next(row for row in rows_of(paths.results(full) / PAPER / "measurements.csv") if of_row(row))
    folder = other().parent / "seeds"
    shared = base | {"paper": PAPER, "status": "optimal"}
    seeds = ("0", "1.0", "2.0", "3")  # pandas writes fractions beside empty cells
    write_rows(folder / PAPER / "measurements.csv", [shared | {"seed": seed} for seed in seeds])
    paper = full.papers[PAPER]

    def run(resample):
        experiment = replace(
            paper.experiments["adult-linear"], seeds=tuple(range(4)), permutations=4, resample=resample
        )
        experiments = {**paper.experiments, "adult-linear": experiment}
        config = replace(full, papers={PAPER: replace(paper, experiments=experiments)})
        return read_run(folder, [PAPER]).on_data_of(config)

    for here, there, equal in ((False, False, 4), (True, True, 4), (True, False, 1)):
        pair = PairedRuns(run(here), run(there))
        (row,) = pair.rows
        assert (row.pairs, row.verdict, sum(pair.other_data_pairs.values())) == (equal, "equal", 4 - equal)
        assert not pair.outcome.faults and pair.outcome.rows == equal
        remarks = [each for each in pair.outcome.remarks if "other data" in each]
        noted = [
            each for each in tables.summary(pair).notes if each.startswith("Other data: 3 pairs in 1 row")
        ]
        assert len(remarks) == len(noted) == (equal < 4)
    without = PairedRuns(run(True), read_run(folder, [PAPER]))
    assert without.rows[0].pairs == 4 and not without.other_data_pairs
    only = replace(pair.there, rows=[row for row in pair.there.rows if row["seed"] != "0"])
    (row,) = PairedRuns(pair.here, only).rows
    assert (row.pairs, row.verdict) == (0, "other data")
    assert row.detail.endswith("sample 1, permutation 1 here, adult, sample 0, permutation 1 there")


def test_all_machines_and_measurements_are_told(full, other):
    """Not those only that measured all of a paper."""

    def change(row):
        return row | (OTHER_MACHINE if row["contender"] == "smo" else {})

    facts = {row["fact"]: row for row in lines(tables.about(paired(full, other(change))))}
    assert facts["processor"]["here"] != facts["processor"]["there"]
    assert {*facts["processor"]["there"].split("; ")} >= {"Other CPU", facts["processor"]["here"]}
    rows = rows_of(paths.results(full) / PAPER / "measurements.csv")
    measured = sum(bool(row["cpu_seconds"]) for row in rows)
    assert facts["measurements"]["here"] == f"{measured:,}"
    assert not any(name.startswith(("cpu", "versions.")) for name in facts)


def test_a_claim_that_neither_run_measured_is_no_agreement(full, other):
    folder = other()
    rewritten(
        folder / PAPER / "claims.csv",
        folder / PAPER / "claims.csv",
        lambda row: row | {"verdict": "not measured here"} if row["id"] == "separable-none-at-bound" else row,
    )
    there = read_run(folder, [PAPER])
    (line,) = lines(tables.summary(PairedRuns(there, there)))
    judged = sum(verdict != "not measured here" for verdict, _ in there.claims[PAPER].values())
    assert int(line["claims_same"]) == judged
    assert int(line["claims_unjudged"]) == len(there.claims[PAPER]) - judged > 0


def test_a_failure_is_the_reason_and_no_limit_of_another_sample():
    common = {"setting": {}, "data": "", "n": "10"}
    stopped, failed = (
        (
            {**common, "status": one, "counts": {}},
            {**common, "status": "optimal", "counts": {"iterations": 5.0}},
        )
        for one in ("time_limit", "uncertified")
    )
    solved = (stopped[1], stopped[1])
    row = PairedRuns(None, None)._row((PAPER, "noise", 10, "smo", ""), [stopped, failed, solved])
    assert (row.verdict, row.detail, row.pairs) == ("differs", "uncertified here, optimal there", 1)
