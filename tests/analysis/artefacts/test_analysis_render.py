import csv
import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import analysis_support as synthetic
import curve_support as curves
import pytest
from analysis_support import without_numbers_that_are_none
from support import rows_of
from svmrepro.workflow.analysis.fits import PAPER
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import display_name, load
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.artefact_kinds import builder_of
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import Interval
from svmrepro.workflow.tables import contenders
from svmrepro.workflow.tables.contenders import varying_option
from svmrepro.workflow.tables.layout.cells import (
    DASH,
    Cell,
    count,
    estimate,
    exponent,
    missing,
    percent,
    printed,
    prose,
)
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection
from svmrepro.workflow.tables.layout.writers import to_csv, to_html, to_markdown


def rows_in(html):
    """Return width and text of each cell of a page's table rows; only matching tags make it XML."""
    page = ElementTree.fromstring(re.sub(r"<((?:meta|link|br)\b[^>]*)>", r"<\1/>", html))
    return [
        [(int(cell.get("colspan", 1)), "".join(cell.itertext())) for cell in row] for row in page.iter("tr")
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0071234, "0.00712"), (20711.3, "20,700"), (0, "0"), (3.7e-12, "3.70e-12"), (999.6, "1,000")],
)
def test_three_significant_digits(value, text):
    assert significant(value) == text
    with pytest.raises(ValueError, match="nan"):
        significant(float("nan"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("2.0", "2.0"), ("20711.3", "20,711.3"), ("-0.5", "-0.5"), (".5", "0.5"), ("1e3", "1,000"), ("7", "7")],
)
def test_a_printed_number_keeps_its_sign_and_digits(text, shown):
    assert printed(text) == Cell(float(text), shown)


TABLE = Table(
    title="A <title>",
    sections=(
        TableSection(
            (
                Column("n", "n"),
                Column("s", "ours", "CPU s", "SMO"),
                Column("p", "paper", "CPU s", "SMO", paper=True),
            ),
            [
                {"n": count(1000), "s": estimate(Interval(0.5, 0.4, 0.6)), "p": printed("2.0")},
                {"n": count(2000), "s": missing("not run: a\r\n| b"), "p": Cell(None, "–")},
            ],
        ),
        TableSection((Column("w", "word", prose=True),), [{"w": prose("fine")}], heading="More"),
    ),
    notes=["5 < 6"],
    provenance="here & now",
)


def test_csv_has_values_ends_and_reasons():
    assert list(csv.reader(io.StringIO(to_csv(TABLE)))) == [
        ["n", "s", "s_low", "s_high", "s_reason", "p"],
        ["1000", "0.5", "0.4", "0.6", "", "2.0"],
        ["2000", "", "", "", "not run: a\r\n| b", ""],
    ]


def test_markdown_is_aligned_and_escaped():
    text = to_markdown(TABLE)
    assert "| n | SMO: ours [CPU s] | SMO: paper [CPU s] |" in text
    assert "| 1,000 | 0.500 (0.400 … 0.600) | 2.0 |" in text
    assert r"| 2,000 | not run: a  \| b | – |" in text
    assert text.count("## More") == 1
    hidden = replace(TABLE, notes=["train.<locals>.f() < 6"], provenance="</b>")
    assert "- train.\\<locals>.f() < 6\n" in to_markdown(hidden) and "*\\</b>*" in to_markdown(hidden)


def test_html_is_one_balanced_page_without_scripts():
    html = to_html(TABLE)
    rows = rows_in(html)
    assert "<script" not in html and "http" not in html
    assert "A &lt;title&gt;" in html and "5 &lt; 6" in html and "here &amp; now" in html
    assert rows[2][1][1] == "0.5000.400 … 0.600"
    widths = {sum(width for width, _ in row) for row in rows[:4]}
    assert widths == {3}


def test_no_table_has_a_nan_or_a_none_and_every_html_is_balanced(full):
    tables = sum(artefact.form == "table" for artefact in full.papers[synthetic.PAPER].artefacts.values())
    folder = paths.results(full) / synthetic.PAPER
    assert without_numbers_that_are_none(folder) == 3 * tables + 3
    assert all(rows_in(path.read_text()) for path in folder.glob("*.html"))


def test_timing_table_says_what_the_paper_says(full):
    path = paths.table(full, synthetic.PAPER, "timing-adult-linear")["csv"]
    rows = {int(row["n"]): row for row in rows_of(path)}
    row = rows[11220]
    assert float(row["chunking_paper_seconds"]) == 20711.3
    assert float(row["paper_ratio"]) == pytest.approx(20711.3 / 17.0)
    assert row["paper_bound"] == "4079"
    assert float(row["ratio_low"]) <= float(row["ratio"]) <= float(row["ratio_high"])
    assert rows[16100]["chunking_seconds"] == ""
    assert rows[16100]["chunking_seconds_reason"] == "not run: needs more than 128 MB"
    assert rows[16100]["chunking_paper_seconds_reason"] == "N/A in the paper"
    text = path.with_suffix(".md").read_text()
    assert "11,220 (paper: 11,221)" in text and "266 MHz Pentium II" in text
    assert "195 measurements, 0 flagged" in text and "Example CPU" in text


@pytest.mark.parametrize(
    ("file", "short"), [("w2a: ", "data set web not available (w2a)"), ("", "data set web not available")]
)
def test_missing_data_are_told_in_every_form(tmp_path, file, short):
    config = synthetic.make_config(tmp_path, ["web-linear"])
    experiment = config.papers[synthetic.PAPER].experiments["web-linear"]
    reason = f"data set web not available: {file}source one: refused"
    lines = [
        {**synthetic.make_line(config, experiment, contender, n, 0), "reason": reason}
        for n in experiment.sizes
        for contender in experiment.contenders.values()
    ]
    synthetic.analyse(config, {"web-linear": lines}, figures=True)
    for form, path in paths.table(config, synthetic.PAPER, "timing-web-linear").items():
        text = path.read_text()
        assert f"not run: {short}" in text and f"not run: {reason}" not in text
        # The reason appears once and not in every cell.
        assert text.count("source one: refused") == (0 if form == "csv" else 1)
    claims = rows_of(paths.table(config, synthetic.PAPER, "claims")["csv"])
    assert "holds" not in {row["verdict"] for row in claims}
    assert any(f"not run: {short}" in row["measured"] for row in claims)
    figure = paths.figure(config, synthetic.PAPER, "loglog-web-linear")["svg"]
    assert figure.stat().st_size > 5000


def test_the_tally_of_the_claims_is_above_their_table(full):
    files = paths.table(full, synthetic.PAPER, "claims")
    rows = rows_of(files["csv"])
    details = sum(row["counted"] == "yes" and row["kind"] == "detail" for row in rows)
    before, _, after = files["md"].read_text(encoding="utf-8").partition("| verdict |")
    assert f" {details} details: " in before and " details: " not in after


def test_the_findings_behind_each_verdict_are_kept(full):
    rows = {row["id"]: row for row in rows_of(paths.table(full, synthetic.PAPER, "claims")["csv"])}
    kept = json.loads((paths.results(full) / synthetic.PAPER / "claims.json").read_text())["claims"]
    assert [each["id"] for each in kept] == list(rows)
    for each in kept:
        assert each["verdict"] == rows[each["id"]]["verdict"]
        for finding in each["findings"]:
            assert finding["label"] and bool(finding["reason"]) is (finding["value"] is None)
    (linear,) = next(each for each in kept if each["id"] == "adult-linear-one-order")["findings"]
    assert linear["experiment"] == "adult-linear" and linear["contenders"] == ["chunking", "smo"]
    assert linear["low"] <= linear["value"] <= linear["high"] and linear["n"] is None


def test_a_size_missing_from_the_scale_is_shown_with_the_papers_numbers(tmp_path):
    config = synthetic.analyse(synthetic.make_config(tmp_path, ["noise-linear"], sizes=[500, 1000, 1500]))
    text = paths.table(config, synthetic.PAPER, "timing-noise-linear")["md"].read_text()
    assert "| 5,000 (paper only) | – | 67.6 |" in text
    assert re.search(r"\| 1,500 \| 0\.\d+ \([^)]*\) \| – \|", text)


@pytest.mark.parametrize(
    ("form", "kind", "message"),
    [
        ("table", "scalling", "no table of kind 'scalling'; did you mean 'scaling'?"),
        ("table", "overview", "no table of kind 'overview'"),
        ("figure", "scaling", "no figure of kind 'scaling'"),
    ],
)
def test_unknown_kinds_are_refused(form, kind, message):
    with pytest.raises(StepError, match=message):
        builder_of("paper", Artefact("name", kind, form, (), "", ""))


def test_the_one_option_that_varies_names_the_contenders(full):
    results = load(full, synthetic.PAPER, ["noise-linear"])
    assert varying_option(results, ["noise-linear"]) == ""
    tolerances = {
        f"smo-{tol:g}": Contender(f"smo-{tol:g}", "smo", options={"step_tol": tol}) for tol in (1e-3, 1e-8)
    }
    experiment = replace(results.experiment("noise-linear"), contenders=tolerances)
    paper = replace(results.paper, experiments={"noise-linear": experiment})
    varied = replace(results, paper=paper)
    artefact = Artefact("t", "contenders", "table", ("noise-linear",), "Title", "")
    table = contenders.build(varied, artefact)
    assert table.sections[0].rows[0]["contender"].text == "0.001"
    # Another setting needs the names, unless all have it.
    for setting in ({"encoding": "signs"}, {"eps": 0.1}, {"warm": True}, {"time_limit": 3.0}):
        every = {label: replace(contender, **setting) for label, contender in tolerances.items()}
        some = tolerances | {"smo-0.001": every["smo-0.001"]}
        for given, option in ((every, "step_tol"), (some, "")):
            experiment = replace(experiment, contenders=given)
            varied = replace(results, paper=replace(paper, experiments={"noise-linear": experiment}))
            assert varying_option(varied, ["noise-linear"]) == option


def test_contenders_have_a_row_for_each_point_of_an_axis():
    described = replace(curves.experiment("set", "eps", ("accuracy",)), sizes=(1000,), points=(0.1, 0.001))
    timed = [
        curves.run(
            "set",
            "svmperf",
            1000,
            point,
            cpu_seconds=1 / point,
            flagged=flagged,
            **{"performance.accuracy": at},
        )
        for point, at, flagged in ((0.1, 0.84, "true"), (0.001, 0.85, "false"))
    ]
    results = curves.results(timed, described)
    table = contenders.build(results, Artefact("t", "contenders", "table", ("set",), "Title", ""))
    shown = [column.key for column in table.sections[0].columns if column.key in ("point", "performance")]
    assert shown == ["point", "performance"]
    rows = [row for row in table.sections[0].rows if row["contender"].text == "SVM-perf"]
    assert [row["point"].text for row in rows] == ["0.1", "0.001"]
    assert [row["performance"].value for row in rows] == [0.84, 0.85]
    assert [row["seconds"].text[-1] for row in rows] == ["†", "0"]


@pytest.mark.parametrize(
    ("flagged", "marks", "note"),
    [
        # The seconds of SMO, and the ratio to them.
        (lambda label, n, repeat: n == 500 and label == "smo", 2, "† All repeats, or all pairs of a ratio"),
        # Both have seconds that count, but no pair does.
        (lambda label, n, repeat: n == 500 and (label == "smo") == (repeat % 2 == 0), 1, "† All repeats"),
        (lambda label, n, repeat: True, 0, "Every run met other load"),
        (lambda label, n, repeat: repeat == 0, 0, ""),
    ],
)
def test_other_load_is_marked_where_no_repeat_was_spared(tmp_path, flagged, marks, note):
    config = synthetic.make_config(tmp_path, ["noise-linear"])
    synthetic.analyse(config, {"noise-linear": synthetic.records(config, "noise-linear", flagged=flagged)})
    text = paths.table(config, synthetic.PAPER, "timing-noise-linear")["md"].read_text()
    assert text.count("†") == marks + bool(marks)
    assert note in text and ("other load on the machine" in text) == bool(note)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("smo", "SMO"),
        ("my-LARS-variant", "My LARS variant"),
        ("smo-unfolded-no-cache-no-shrinking-dense", "SMO, unfolded, no cache, no shrinking, dense"),
        ("l2svm-mfn", "L2-SVM-MFN"),
    ],
)
def test_contenders_are_shown_by_name_variant_and_storage(label, shown):
    assert display_name(label) == shown


@pytest.mark.parametrize("kind", ["timing", "sparse", "scaling", "support-vectors"])
def test_a_paper_that_prints_no_numbers_is_not_spoken_of(full, tmp_path, kind):
    known = next(
        artefact
        for artefact in full.papers[synthetic.PAPER].artefacts.values()
        if artefact.kind == kind and artefact.experiments
    )
    artefact = replace(known, caption="", title="A user's own data")
    results = load(full, synthetic.PAPER, artefact.experiments)
    fits = {key: fit for key, fit in results.fits.items() if key[3] != PAPER}
    silent = replace(
        results,
        config=SimpleNamespace(scale="default"),
        paper=replace(results.paper, title="own"),
        numbers=PaperNumbers(tmp_path, "own"),
        fits=fits,
    )
    table = builder_of("own", artefact)(silent, artefact)
    said = to_markdown(table)
    assert "paper" not in said.replace("as in the paper", "")
    for section in table.sections:
        assert section.rows
        for column in section.columns:
            cells = [row.get(column.key, Cell(None, DASH)) for row in section.rows]
            assert any(cell.text != DASH for cell in cells), f"{column.header}: dashes only"


def test_zero_has_no_sign():
    cell = exponent(Interval(-0.001, -0.004, 0.54))
    assert (cell.text, cell.detail, cell.value) == ("0.00", "0.00 … 0.54", -0.001)
    assert [percent(value).text for value in (-0.0004, 0.0004, -0.0006, 0.0)] == [
        "0.0 %",
        "0.0 %",
        "-0.1 %",
        "0.0 %",
    ]


def test_a_median_of_counts_keeps_its_half():
    assert count(101.5) == Cell(101.5, "101.5") and count(1102.0) == Cell(1102, "1,102")
