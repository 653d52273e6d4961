"""Result files from elsewhere or damaged: refused in one line with file, place and fault."""

import os

import pytest
from support import write_rows
from svmrepro.workflow.analysis.fits import FIT_COLUMNS, RATIO_COLUMNS, read_fits, read_ratios
from svmrepro.workflow.analysis.run_files import FORM, read_runs
from svmrepro.workflow.analysis.runs import RELATIVE_GAP, Group, MeasuredRun
from svmrepro.workflow.comparison.paired_runs import ratios
from svmrepro.workflow.configuration import load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement.claims import read_verdicts
from svmrepro.workflow.result_files.measurement_columns import BOOLEAN, FIELDS, FLOAT, INTEGER
from svmrepro.workflow.steps import closing

RUN = {
    "experiment": "one", "contender": "smo", "n": "50", "status": "optimal", "repeat": "0",
    "flagged": "false", "point": "", "iterations": "7", "certificate.dual": "-2.5e1",
    "certificate.passed": "true", "certificate.promise": "kkt", "work.nonzeros": "9",
    "machine.cpu": "A CPU", "cpu_seconds": "0.5",
}  # fmt: skip
FIT = dict.fromkeys(FIT_COLUMNS, "x") | {
    "exponent": "1.5", "low": "1", "high": "2", "intercept": "-3", "points": "3", "n_min": "50",
    "n_max": "0.1",
}  # fmt: skip
RATIO = dict.fromkeys(RATIO_COLUMNS, "x") | {"n": "50", "ratio": "2", "low": "1", "high": "3", "pairs": "2"}
CLAIM = {"id": "first", "verdict": "holds", "measured": "1.5", "counted": "yes", "on_paper": "holds"}
READERS = {
    "run": (RUN, lambda path: read_runs([path])),
    "fit": (FIT, lambda path: read_fits([path])),
    "ratio": (RATIO, lambda path: read_ratios([path])),
    "claim": (CLAIM, read_verdicts),
}


def written(path, *rows):
    write_rows(path, rows)
    return path


@pytest.mark.parametrize("kind", READERS)
def test_sound_tables_are_read_and_doubled_or_ragged_ones_are_not(tmp_path, kind):
    row, read = READERS[kind]
    path = tmp_path / "t.csv"
    assert read(written(path, row))
    for text, message in (
        (written(path, row, row).read_text(), r"t\.csv:3: a second row for "),
        (written(path, row).read_text() + "x\n", rf"t\.csv:3: {len(row)} columns expected"),
        (written(path, row).read_text() + "," * len(row) + "\n", rf"t\.csv:3: {len(row)} columns expected"),
        (",".join([*row, next(iter(row))]) + "\n", r"t\.csv:1: two columns have the same name"),
    ):
        path.write_text(text)
        with pytest.raises(StepError, match=message):
            read(path)


@pytest.mark.parametrize(
    ("column", "texts"), [("repeat", ("0", "0.0")), ("seed", ("7", "07")), ("point", ("1", "1e0"))]
)
def test_a_run_is_the_same_however_its_numbers_are_written(tmp_path, column, texts):
    path = written(tmp_path / "t.csv", *(RUN | {column: text} for text in texts))
    with pytest.raises(StepError, match=r"t\.csv:3: a second row for "):
        read_runs([path])


def test_another_program_may_write_counts_as_decimal_fractions(tmp_path):
    (fit,) = read_fits([written(tmp_path / "t.csv", FIT | {"points": "3.0"})]).values()
    assert fit.points == 3


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = written(tmp_path / "t.csv", RUN)
    path.write_text("\ufeff" + path.read_text())
    assert len(read_runs([path]).runs) == 1


def test_certificates_may_say_more_than_is_known_here(tmp_path):
    more = {"certificate.sampled": "true", "certificate.method": "sampled", "certificate.rounding": "1e-9"}
    (run,) = read_runs([written(tmp_path / "t.csv", {**RUN, **more})]).runs
    assert run.fields["certificate.sampled"] == "true" and run.number("certificate.rounding") == 1e-9
    with pytest.raises(StepError, match=r"t\.csv:2: certificate\.method: .* cannot be printed"):
        read_runs([written(tmp_path / "t.csv", {**RUN, **more, "certificate.method": "\x1b[2J"})])


def test_what_a_solver_says_of_itself_may_be_long(tmp_path):
    said = "7, " * 100_000
    (run,) = read_runs([written(tmp_path / "t.csv", {**RUN, "info.said": said})]).runs
    assert run.fields["info.said"] == said


def test_what_a_solver_says_of_itself_may_be_no_number(tmp_path):
    said = {"info.bytes_moved": "many", "info.cache_hits": "inf", "info.chunks": "5.0"}
    (run,) = read_runs([written(tmp_path / "t.csv", {**RUN, **said})]).runs
    assert [run.number(name) for name in said] == [None, None, 5.0]


@pytest.mark.parametrize(
    ("gap", "primal", "ratio"),
    [("0.5", "2", 0.25), ("0.5", "-2", 0.25), ("0.5", "0", None), ("", "2", None), ("1e100", "1e-300", None)],
)
def test_the_relative_gap_is_worked_out(tmp_path, gap, primal, ratio):
    row = {**RUN, "certificate.gap": gap, "certificate.primal": primal}
    (run,) = read_runs([written(tmp_path / "t.csv", row)]).runs
    assert run.number(RELATIVE_GAP) == ratio


@pytest.mark.parametrize(
    ("kind", "column", "text", "message"),
    [
        ("run", "n", "050", "is not a number of examples"),
        ("run", "n", "9" * 400, "is not a number of examples"),
        ("run", "status", "solved", "is not one of error, "),
        ("run", "flagged", "", "is neither true nor false"),
        ("run", "repeat", "1.5", "is not a count"),
        ("run", "iterations", "-7", "is not a count"),
        ("run", "peak_memory_bytes", "-5000000", "is not a count"),
        ("run", "load_after", "-1", "is not a number between 1e-100 and "),
        ("run", "work.nonzeros", "1e400", r"is not a number between -1e\+100 and 1e\+100"),
        ("run", "certificate.dual", "nan", "is not a number"),
        ("run", "certificate.passed", "perhaps", "is neither true nor false"),
        ("run", "cpu_seconds", "-1", "is not a number between 1e-100 and "),
        ("run", "cpu_seconds", "1e-300", "is not a number between 1e-100 and "),
        ("run", "cpu_seconds", "0_1", "is not a number between "),
        ("run", "iterations", "\u0661", "is not a number between "),
        ("run", "info.cells", "[{}]", "Object missing required field `C`"),
        ("run", "info.trace", "7", "Expected `array`"),
        ("run", "info.planned_lengths", "[-1]", "Expected `int` >= 0"),
        ("run", "contender", " ", "is not a valid name"),
        ("run", "experiment", "\x1b[31m", "cannot be printed"),
        ("run", "machine.cpu", "\u2028", "cannot be printed"),
        ("fit", "exponent", "inf", "is not a number"),
        ("fit", "low", "1.75", r"interval \[1.75, 2.0\] does not hold its estimate 1.5"),
        ("fit", "low", "", "an interval has both ends or none"),
        ("fit", "points", "-1", "is not a count"),
        ("ratio", "ratio", "0", "is not a number between 1e-100 and "),
        ("ratio", "ratio", "1e-200", "is not a number between 1e-100 and "),
        ("ratio", "high", "1e300", "is not a number between -1e"),
        ("claim", "verdict", "perhaps", "is not one of does not hold, does not hold on a stand-in, holds, "),
        ("claim", "id", "../../index", "is not a name of letters, digits, "),
        ("claim", "measured", "a\rb", "holds a character that cannot be printed"),
    ],
)
def test_what_no_table_of_results_holds(tmp_path, kind, column, text, message):
    row, read = READERS[kind]
    path = written(tmp_path / "t.csv", row | {column: text})
    with pytest.raises(StepError, match=rf"t\.csv:\d: (?:{column}: )?.*{message}") as raised:
        read(path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 500


def test_every_number_and_truth_value_of_a_run_is_checked():
    typed = {name for name, field in FIELDS.items() if field.type in (INTEGER, FLOAT, BOOLEAN)}
    # Certificates of later versions may say more.
    for name in {each for each in typed if "." not in each} - {"certificate"}:
        with pytest.raises(ValueError, match=r"^'abc' is "):
            FORM.kind_of(name)("abc")


def test_ratios_at_the_ends_of_what_can_be_said():
    assert ratios([1e-200, -2.0, 0.0, 0.0, 3.0], [2e-200, -1.0, 0.0, 1.0, -3.0]) == [0.5, 2.0, 1.0]


def test_the_commands_at_the_end_of_a_run_are_about_what_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def said(*chosen, **settings):
        config = load_config({"scale": "smoke", **settings})
        for name, paper in config.papers.items():
            for table in paper.claims:
                write_rows(paths.table(config, name, table)["csv"], [{"counted": "yes", "verdict": "holds"}])
        experiments = [each for each in config.experiments if not chosen or each.paper in chosen]
        return closing._claims(config, experiments), closing._report(config, experiments)

    claims, report = said()
    assert claims.endswith("; `./run check --scale smoke` lists them.")
    assert "`./run report --scale smoke`" in report
    for alone in (said("platt1998"), said(papers=["platt1998"])):
        assert alone[0].endswith("; `./run check platt1998 --scale smoke` lists them.")
        assert "`./run report platt1998 --scale smoke`" in alone[1]
    elsewhere = said(results_dir="results/selected")
    assert elsewhere[0].endswith("; listed in results/selected/smoke/<paper>/claims.md.")
    assert elsewhere[1] == said("nothing")[1] == ""


def test_a_report_older_than_a_measurement_is_not_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config({"scale": "smoke", "papers": ["peers"]})
    experiment = config.experiments[0]
    measured = paths.job_files(config, experiment.paper, experiment.name)[0]
    for path in (measured, paths.report(config)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert closing._report(config, config.experiments) == f"   report: {paths.report(config)}"
    os.utime(measured, (2e9, 2e9))
    assert "`./run report peers --scale smoke` writes one page" in closing._report(config, config.experiments)


def test_one_or_two_figures_are_named_at_the_end_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config({"scale": "smoke"})
    file = paths.figure(config, "platt1998", "loglog-noise-linear")["png"]
    file.parent.mkdir(parents=True)
    file.touch()
    assert closing._plots(config, [config.experiment("platt1998", "noise-linear")]) == str(file)
    assert closing._plots(config, config.experiments) == "figures/smoke/<paper>/*.png"
    of_one = [each for each in config.experiments if each.paper == "platt1998"]
    assert closing._plots(config, of_one) == "figures/smoke/platt1998/*.png"


def test_a_size_in_a_reason_has_separators_also_if_the_journal_has_none():
    for written in ("16100", "16,100"):
        reason = f"passed its time limit of 5 s at n = {written}, C_total = 100000"
        group = Group((MeasuredRun({"status": "not_run", "reason": reason}),))
        assert group.reason == "not run: passed its time limit of 5 s at n = 16,100, C_total = 100000"
        line = {"status": "not_run", "contender": "smo", "reason": reason}
        assert closing._cause(line) == "passed its time limit of 5 s"
