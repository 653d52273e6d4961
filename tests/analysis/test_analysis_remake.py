"""Raw measurements as Parquet, and everything made again from them."""

import csv
import re
import shutil
from dataclasses import replace

import analysis_support as synthetic
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import PROJECT, rows_of, write_rows
from svmrepro.workflow.analysis import tidy
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.jobs import Instance
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.locks import lock
from svmrepro.workflow.result_files import parquet
from svmrepro.workflow.result_files.measurement_columns import field_of
from svmrepro.workflow.steps import remake

COMMITTED = sorted((PROJECT / "results" / "reference").glob("*/*/measurements.parquet"))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The analysis of two experiments, one of which has a claim that holds."""
    return synthetic.analyse(
        synthetic.make_config(tmp_path_factory.mktemp("two"), ("noise-linear", "separable-linear"))
    )


@pytest.fixture
def published(two, tmp_path, monkeypatch):
    """The tables of the synthetic paper with its measurements, as a folder of their own; and where to go."""
    folder = tmp_path / "published"
    shutil.copytree(paths.results(two) / synthetic.PAPER, folder / synthetic.PAPER)

    def same(found, output):
        assert list(found) == [synthetic.PAPER]
        return replace(two, results_dir=output / "results", figures_dir=output / "figures")

    # The synthetic paper has contenders of its own.
    monkeypatch.setattr(remake, "_config", same)
    monkeypatch.setattr(remake.plot, "run", lambda *_: (tmp_path / "drawn").touch())
    return folder, tmp_path / "again"


def test_every_table_comes_from_the_measurements_alone(published, capsys):
    folder, output = published
    for name in ("fits", "ratios", "measurements"):
        (folder / synthetic.PAPER / f"{name}.parquet").rename(folder / f"{name}.parquet")
    (folder / "measurements.parquet").rename(folder / synthetic.PAPER / "measurements.parquet")
    assert remake.run([folder], output) == 0
    assert (output.parent / "drawn").exists()
    assert "tables of platt1998 made again from the measurements; 0 differences." in capsys.readouterr().out
    assert (output / "results" / "paper" / synthetic.PAPER / "scaling.md").read_bytes() == (
        folder / synthetic.PAPER / "scaling.md"
    ).read_bytes()


def test_a_table_that_says_something_else_is_found(published, capsys):
    folder, output = published
    wrong = {"timing-noise-linear": ("0.00", "0.01"), "claims": ("holds", "does not hold")}
    for file, (old, new) in wrong.items():
        path = folder / synthetic.PAPER / f"{file}.csv"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    assert remake.run([folder], output, figures=False) == 1
    said = capsys.readouterr().out
    assert all(f"{file}.csv: row " in said for file in wrong) and "2 differences." in said
    assert not (output.parent / "drawn").exists()


def test_a_figure_that_draws_other_numbers_is_found(published, two, tmp_path, monkeypatch, capsys):
    folder, output = published
    folder = folder.rename((tmp_path / "results").mkdir() or tmp_path / "results" / "published")
    names = [name for name, each in two.papers[synthetic.PAPER].artefacts.items() if each.form == "figure"]
    before = [tmp_path / "figures" / "published" / synthetic.PAPER / f"{name}.json" for name in names[:2]]
    before[0].parent.mkdir(parents=True)
    for path, number in zip(before, ("0.3", "0.31"), strict=True):
        path.write_text(f'{{"name": "SMO", "y": [{number}, null]}}')

    def draw(config, paper, names):
        path = paths.figure(config, paper, names[0])["json"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"name": "SMO", "y": [0.300000001, null]}')

    monkeypatch.setattr(remake.plot, "run", draw)
    assert remake.run([folder], output) == 1
    said = capsys.readouterr().out
    assert f"{before[1]}: '0.31', now '0.300000001'" in said
    assert " tables and 2 figures of platt1998 made again from the measurements; 1 difference." in said


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_a_text_that_says_something_else_is_found(form, published, capsys):
    folder, output = published
    path = folder / synthetic.PAPER / f"claims.{form}"
    text = path.read_text()
    path.write_text(text.replace("not measured", "measured", 1))
    assert path.read_text() != text
    assert remake.run([folder], output, figures=False) == 1
    assert f"{path}: 'measured', now 'not'" in capsys.readouterr().out
    path.write_text(re.sub(r"^\*.*measurements.*\*$|<footer>.*</footer>", "", text, flags=re.MULTILINE))
    assert remake.run([folder], output, figures=False) == 0


def test_measurements_of_two_forms_are_the_same(published, capsys):
    folder, output = published
    path = folder / synthetic.PAPER / "measurements.csv"
    rows = rows_of(path)
    rows[-1]["iterations"] = "7"
    write_rows(path, rows)
    assert remake.run([folder], output, figures=False) == 1
    assert f"{path}: is not measurements.parquet: row {len(rows)}, iterations: " in capsys.readouterr().out


@pytest.mark.parametrize("same", [True, False])
def test_a_new_reference_keeps_what_is_counted_in_a_data_set(published, monkeypatch, same):
    folder, output = published
    monkeypatch.setattr(remake.check, "run", lambda config, write_reference: 0)
    path = folder / synthetic.PAPER / "scaling.csv"
    rows = [{**row, "zeros": "89"} for row in rows_of(path)]
    if not same:
        rows[0]["points"] = "other"
    write_rows(path, rows)
    assert remake.run([folder], output, reference=True) == 0
    made = (output / "results" / "paper" / synthetic.PAPER / "scaling.csv").read_text()
    assert (made == path.read_text()) == same


def test_pieces_of_a_run_are_joined(published):
    folder, output = published
    text = parquet.read_parquet(folder / synthetic.PAPER / "measurements.parquet")
    pieces = []
    for number in range(2):
        rows = list(csv.DictReader(text.splitlines()))
        for row in rows:
            if row["cpu_seconds"] and int(row["n"]) // 100 % 2 == number:
                row |= {"status": "not_run", "cpu_seconds": "", "certificate.passed": ""}
        piece = folder.parent / f"piece-{number}"
        (piece / synthetic.PAPER).mkdir(parents=True)
        parquet.write_parquet(tidy.to_csv(rows), piece / synthetic.PAPER / "measurements.parquet")
        pieces.append(piece)
    assert remake.run(pieces, output) == 0
    made = output / "results" / "paper" / synthetic.PAPER
    for name in ("fits", "claims"):
        assert (made / f"{name}.csv").read_text() == (folder / synthetic.PAPER / f"{name}.csv").read_text()


@pytest.mark.parametrize("seed", ["0", "0.0"])
@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("not_run", "error", "error"),  # an error has no seconds, but it was run
        ("optimal", "error", "error"),
        ("optimal", "not_run", "optimal"),
        ("not_run", "optimal", "optimal"),
    ],
)
def test_the_last_piece_that_ran_a_contender_counts(first, second, counts, seed):
    row = {"experiment": "e", "n": "9", "point": "", "seed": "0", "contender": "c", "repeat": "0"}
    (found,) = tidy.join_pieces([[row | {"status": first}], [row | {"status": second, "seed": seed}]])
    assert found["status"] == counts


def test_measurements_of_another_paper_are_refused(published):
    folder, output = published
    file = folder / synthetic.PAPER / "measurements.parquet"
    rows = list(csv.DictReader(parquet.read_parquet(file).splitlines()))
    rows[1]["paper"] = "another"
    parquet.write_parquet(tidy.to_csv(rows), file)
    with pytest.raises(StepError, match=rf"^{file}: row 2: paper: 'another', in the folder of platt1998$"):
        remake.run([folder], output)


@pytest.mark.parametrize(
    ("column", "value"),
    [("dataset", "adult"), ("C", "7.5"), ("kernel.gamma", "2.5"), ("options.rows", "3.5"), ("eps", "0.5")],
)
def test_measurements_of_another_problem_are_refused(published, column, value):
    folder, output = published
    file = folder / synthetic.PAPER / "measurements.parquet"
    rows = list(csv.DictReader(parquet.read_parquet(file).splitlines()))
    rows[1][column] = value
    parquet.write_parquet(tidy.to_csv(rows), file)
    where = f"platt1998: {rows[1]['experiment']}: n = {rows[1]['n']}, {rows[1]['contender']}"
    with pytest.raises(StepError, match=f"^{where}: {column}: {value} in the measurements, ") as caught:
        remake.run([folder], output)
    assert str(caught.value).endswith(" in the configuration")


def test_small_settings_are_compared_by_their_ratio(two):
    experiment = two.papers[synthetic.PAPER].experiments["noise-linear"]
    label, contender = next(iter(experiment.contenders.items()))
    contender = replace(contender, options={"step_tol": 1e-12})
    experiment = replace(experiment, contenders={label: contender})
    settings = Instance(experiment, 100, None).settings(contender)
    row = {"n": "100", "contender": label, **tidy.flatten(settings)}
    remake._check_settings(experiment, [row])
    with pytest.raises(StepError, match=r"options\.step_tol: 5e-10 in the measurements, 1e-12 in the conf"):
        remake._check_settings(experiment, [row, row | {"options.step_tol": "5e-10"}])


def test_impossible_measurements_are_refused(published):
    folder, output = published
    file = folder / synthetic.PAPER / "measurements.parquet"
    table = pq.read_table(file)
    place, words = table.column_names.index("n"), pa.array(["x"] * len(table))
    for changed, said in (
        (table.drop_columns(["contender"]), r"measurements\.parquet: no column 'contender'$"),
        (
            table.set_column(place, "n", words),
            r"measurements\.parquet:2: n: 'x' is not a number of ex",
        ),
        (pa.table({"n": pa.nulls(1_000_001)}), r"has 1,000,001 rows, more than 1,000,000$"),
    ):
        pq.write_table(changed, file)
        with pytest.raises(StepError, match=said):
            remake.run([folder], output)


def test_one_process_makes_a_folder(published, two):
    folder, output = published
    running = lock(paths.run_lock_file(replace(two, results_dir=output / "results")))
    with running, pytest.raises(StepError, match=r"^--output: .*/paper is in use by process \d+ .*; name"):
        remake.run([folder], output)


def test_a_run_is_not_overwritten(published, tmp_path):
    folder, _ = published
    (tmp_path / "mine" / "results" / "paper" / "journal").mkdir(parents=True)
    with pytest.raises(StepError, match=r"^--output: .*mine.* is a run, which would be overwritten; "):
        remake.run([folder], tmp_path / "mine")
    own = shutil.copytree(folder, tmp_path / "results" / "paper")
    with pytest.raises(StepError, match=r"^--output: .* would be overwritten"):
        remake.run([own], tmp_path)


def test_equal_numbers_of_another_processor_are_the_same():
    row = {"n": "10", "seconds": "0.30000000000000004", "zeros": "86"}
    assert remake.difference([row], [{**row, "seconds": "0.3", "zeros": ""}]) == ""
    assert remake.difference([row], [{**row, "seconds": "0.31"}]).startswith("row 1, seconds: ")
    assert remake.difference([row], []) == "1 row, now 0"
    assert remake.difference([{"sum": "1e-17"}], [{"sum": "0.0"}]) == ""
    assert remake.difference([{"sum": "1e-10"}], [{"sum": "2e-10"}]) == "row 1, sum: '1e-10', now '2e-10'"


def test_a_folder_without_measurements_is_refused(tmp_path):
    with pytest.raises(StepError, match="no <paper>/measurements"):
        remake.run([tmp_path], tmp_path / "again")
    broken = tmp_path / "platt1998" / "measurements.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"PAR1")
    with pytest.raises(StepError, match="is not a Parquet file"):
        remake.run([tmp_path], tmp_path / "again")


def test_columns_have_a_meaning_a_unit_and_a_licence(full):
    schema = pq.read_schema(paths.measurements(full, synthetic.PAPER).with_suffix(".parquet"))
    assert schema.metadata[b"licence"] == b"MIT"
    assert schema.field("cpu_seconds").metadata[b"unit"] == b"s"
    assert b"0 < alpha < C" in schema.field("certificate.n_nonbound").metadata[b"description"]
    assert not [name for name in schema.names if field_of(name) is None]


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_committed_measurements_are_described_and_small(path):
    schema = pq.read_schema(path)
    assert schema.metadata[b"licence"] and not [name for name in schema.names if field_of(name) is None]
    assert sum(each.stat().st_size for each in COMMITTED) < 20e6


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["default", "paper"])
def test_every_figure_of_a_reference_is_drawn_again_with_the_same_numbers(scale, tmp_path):
    assert remake.run([PROJECT / "results" / "reference" / scale], tmp_path) == 0
    committed, drawn = PROJECT / "figures" / "reference" / scale, tmp_path / "figures" / scale
    before, now = ({file.relative_to(top) for file in top.rglob("*.svg")} for top in (committed, drawn))
    assert before and before <= now
