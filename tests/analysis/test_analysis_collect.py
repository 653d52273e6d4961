import analysis_support as synthetic
import pandas
import pytest
from curve_support import run
from support import rows_of
from svmrepro.workflow.analysis.fits import read_fits, read_ratios
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.run_pairs import flagged_sides, pairs
from svmrepro.workflow.analysis.runs import Group
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.steps import analyse


def collected(config, lines):
    synthetic.write_records(config, {"noise-linear": lines})
    analyse.run(config, synthetic.PAPER, "noise-linear")
    return paths.measurements(config, synthetic.PAPER, "noise-linear")


@pytest.fixture
def config(tmp_path):
    return synthetic.make_config(tmp_path, ["noise-linear"])


def test_every_line_becomes_one_tidy_row(config):
    lines = synthetic.records(config, "noise-linear", flagged=lambda label, n, repeat: repeat == 0)
    rows = rows_of(collected(config, lines))
    assert len(rows) == len(lines)
    first = next(row for row in rows if row["contender"] == "smo" and row["repeat"] == "0")
    line = next(line for line in lines if line["contender"] == "smo" and line["repeat"] == 0)
    assert float(first["cpu_seconds"]) == line["cpu_seconds"]
    assert first["certificate.n_bound"] == str(line["certificate"]["n_bound"])
    assert first["machine.versions.numpy"] == "2.4.0"
    assert first["kernel.name"] == "linear" and first["flagged"] == "true" and first["reason"] == ""
    assert [int(row["n"]) for row in rows] == sorted(int(row["n"]) for row in rows)


def test_a_run_twice_in_the_files_and_a_cut_file_are_refused(config):
    lines = synthetic.records(config, "noise-linear")
    with pytest.raises(StepError, match="was already measured"):
        collected(config, [*lines, lines[3]])
    synthetic.write_records(config, {"noise-linear": lines})
    (path,) = paths.job_files(config, synthetic.PAPER, "noise-linear")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(StepError, match=rf"{path.name}:\d+:"):
        analyse.run(config, synthetic.PAPER, "noise-linear")


def test_joining_keeps_every_row_and_column(full):
    parts = [paths.measurements(full, synthetic.PAPER, name) for name in synthetic.EXPERIMENTS]
    joined = rows_of(paths.measurements(full, synthetic.PAPER))
    assert len(joined) == sum(len(rows_of(part)) for part in parts)
    assert {name for part in parts for name in rows_of(part)[0]} == set(joined[0])
    assert len(rows_of(paths.fits(full, synthetic.PAPER))) == sum(
        len(rows_of(paths.fits(full, synthetic.PAPER, name))) for name in synthetic.EXPERIMENTS
    )


def test_parquet_holds_what_the_csv_holds_with_types(full):
    for place in (paths.measurements, paths.fits, paths.ratios):
        file = place(full, synthetic.PAPER)
        rows, frame = rows_of(file), pandas.read_parquet(file.with_suffix(".parquet"))
        assert list(frame.columns) == list(rows[0])
        for row, typed in zip(rows, frame.to_dict("records"), strict=True):
            for column, text in row.items():
                value = typed[column]
                if isinstance(value, bool):
                    assert text == str(value).lower()
                elif isinstance(value, int | float):
                    assert float(text) == value
                else:
                    assert text == ("" if pandas.isna(value) else value)
    measurements = paths.measurements(full, synthetic.PAPER).with_suffix(".parquet")
    types = pandas.read_parquet(measurements).dtypes
    assert [types[name] for name in ("n", "cpu_seconds", "flagged", "reason", "machine.versions.numpy")] == [
        "Int64", "Float64", "boolean", "string", "string",
    ]  # fmt: skip


def test_flagged_runs_are_kept_but_do_not_time_where_others_can(config):
    lines = synthetic.records(
        config, "noise-linear", flagged=lambda label, n, repeat: repeat == 2 or n == 500
    )
    for line in lines:
        if line["flagged"] and line["cpu_seconds"]:
            line["cpu_seconds"] *= 50
    runs = read_runs([collected(config, lines)])
    mixed, all_flagged = (runs.group("noise-linear", "smo", n) for n in (1000, 500))
    repeats = 1 + max(line["repeat"] for line in lines)
    assert len(mixed.solved) == repeats and len(mixed.timed) == repeats - 1 and not mixed.all_flagged
    assert len(all_flagged.timed) == repeats and all_flagged.all_flagged
    assert mixed.median("cpu_seconds") < 0.01


def _run(label, repeat, process, seconds, cpu="some", **more):
    fields = {"repeat": repeat, "run_id": process, "cpu_seconds": seconds, "machine.cpu": cpu}
    return run("one", label, 10, **fields, **more)


def test_a_ratio_is_a_bound_where_every_pair_has_a_flagged_run():
    first = Group((_run("a", "0", "p", 2.0),))
    flagged, clean = _run("b", "0", "p", 8.0, flagged="true"), _run("b", "1", "p", 1.0)
    assert flagged_sides(first, Group((flagged, clean))) == (False, True)  # the clean one has no partner
    assert (
        flagged_sides(Group((*first.runs, _run("a", "1", "p", 2.0))), Group((flagged, clean))) == (False,) * 2
    )


def test_two_processes_make_a_pair_only_where_a_kill_left_no_other():
    first = Group((_run("a", "0", "p", 2.0),))
    assert pairs(first, Group((_run("b", "0", "q", 1.0),)), "cpu_seconds") == ([2.0], [1.0])
    assert pairs(first, Group((_run("b", "1", "q", 1.0),)), "cpu_seconds") == ([], [])
    assert pairs(first, Group((_run("b", "0", "q", 1.0, cpu="another"),)), "cpu_seconds") == ([], [])
    first = Group((_run("a", "0", "p", 2.0), _run("a", "1", "q", 8.0)))
    second = Group((_run("b", "0", "p", 1.0), _run("b", "1", "p", 1.0)))
    assert pairs(first, second, "cpu_seconds") == ([2.0], [1.0])


def test_fits_and_ratios_of_known_power_laws(full):
    fits = read_fits([paths.fits(full, synthetic.PAPER)])
    for name, (smo, chunking) in synthetic.EXPERIMENTS.items():
        for contender, truth in (("smo", smo), ("chunking", chunking)):
            found = fits[name, contender, "cpu_seconds", "measured"]
            assert found.exponent.value == pytest.approx(truth, abs=0.06)
            work = fits[name, contender, "work", "measured"]
            assert work.exponent.value == pytest.approx(truth, abs=0.01)
            assert fits[name, contender, "cpu_seconds", "paper"].exponent is not None
    ratios = read_ratios([paths.ratios(full, synthetic.PAPER)])
    found = ratios["separable-linear", 5000, "smo-dense", "smo", "cpu_seconds"]
    assert found.low < 4.0 < found.high
    assert ratios["separable-linear", 5000, "smo-dense", "smo", "work"].value == pytest.approx(10, rel=1e-5)


def test_a_kill_between_two_contenders_loses_a_pair_of_seconds_and_none_of_counts(config):
    lines = synthetic.records(config, "noise-linear")
    smallest = min(line["n"] for line in lines)
    killed = [line for line in lines if line["n"] == smallest and line["repeat"] == 1]
    for line in killed[1:]:
        line["run_id"] = "after the kill"
    collected(config, lines)
    first = killed[0]["contender"]
    repeats = 1 + max(line["repeat"] for line in lines)
    for row in rows_of(paths.ratios(config, synthetic.PAPER, "noise-linear")):
        apart = int(row["n"]) == smallest and first in (row["numerator"], row["denominator"])
        assert int(row["pairs"]) == repeats - (apart and row["quantity"] == "cpu_seconds")
