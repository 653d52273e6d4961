"""What the site reads from a run's folder, and what it writes."""

import errno
import json
import os
import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from docutils.core import publish_parts
from jinja2 import Environment
from matplotlib.figure import Figure
from site_support import EXPERIMENT, PAPER, figure, lines, map_figure, noted_figure, table
from support import PROJECT, rows_of, write_rows
from svmrepro.workflow import archives
from svmrepro.workflow.analysis.fits import FIT_COLUMNS
from svmrepro.workflow.analysis.tidy import flatten, to_csv
from svmrepro.workflow.commands.main import main
from svmrepro.workflow.configuration import load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.drawn_data import to_json
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.journal.journal_line import dump_lines
from svmrepro.workflow.result_files.parquet import write_parquet
from svmrepro.workflow.site.pages import templates, write_site
from svmrepro.workflow.site.records import columns, packed_records, run_records, script
from svmrepro.workflow.site.run_folders import expand, unfinished
from svmrepro.workflow.site.shown_run import ShownClaim, read_folder
from svmrepro.workflow.site.tables_from_html import parse_table, read_table
from svmrepro.workflow.steps import overview
from svmrepro.workflow.tables.layout.writers import to_html

REFERENCE = PROJECT / "results" / "reference"
LINKS = re.compile(r'(?:href|src)="([^"#]*)(?:#[^"]*)?"')


def test_a_table_comes_back_from_its_page():
    before, after = table(), parse_table(to_html(table()))
    assert (after.title, after.caption, after.provenance) == (before.title, before.caption, before.provenance)
    assert after.notes == list(before.notes)
    assert [section.heading for section in after.sections] == ["", "More"]
    first = after.sections[0]
    columns = before.sections[0].columns
    assert [(each.header, each.unit, each.group) for each in first.columns] == [
        (each.header, each.unit, each.group) for each in columns
    ]
    rows = [[*row.values()] for row in first.rows]
    texts = [[cell.text for cell in row] for row in rows]
    reason = "not run: needs more than 128 MB"
    # The repeated first cell is filled again, for the rows can be sorted.
    assert texts == [
        ["adult & <web>", "1,605", "0.02", "0.400", "holds"],
        ["adult & <web>", "800", reason, "–", "does not hold"],
    ]
    assert rows[0][2].detail == "0.01 … 0.03"
    assert rows[1][2].reason == reason and rows[1][4].mark == "bad"
    assert [each.paper for each in first.columns] == [each.paper for each in columns]


def a_page(head, row):
    """Return the page of a table with one row."""
    body = f"<tbody><tr>{row}</tr></tbody>"
    return f"<main><h1>A</h1><table><thead><tr>{head}</tr></thead>{body}</table></main>"


def test_a_cell_spans_a_thousand_columns_at_most():
    (section,) = parse_table(a_page("<th>a</th>" * 1500, '<td colspan="10000">1</td>')).sections
    assert len(section.rows[0]) == 1000


def test_a_table_without_columns_and_a_number_that_is_none_are_no_error(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "results" / "smoke")
    (folder / PAPER / "bare.html").write_text(a_page("", "<td>1</td>"))
    (folder / PAPER / "odd.html").write_text(a_page("<th>a</th>", "<td>1 + 1.2.3</td>"))
    write_site([folder], tmp_path / "site")
    tables = tmp_path / "site" / "smoke" / PAPER / "tables"
    assert "No rows" in (tables / "bare.html").read_text() and (tables / "odd.html").is_file()


def test_a_table_of_the_site_can_be_sorted():
    page = str(templates().get_template("_parts.html").module.whole_table(table()))
    assert re.findall('data-order="(.*?)"', page)[:6] == ["1605", "0.02", "0.400", "800", "", ""]
    # The first cell is not left blank where it repeats the one above, nor are cells merged.
    assert page.count("adult &amp; &lt;web&gt;</td>") == 2 and page.count("repeated") == 1


def test_bounds_are_sorted_among_numbers():
    order = templates().filters["order"]
    texts = ["< 0.0001", "0.0001", "0.0020", "> 0.5", "1,605", "> 2,000"]
    assert sorted(texts, key=lambda text: float(order(text))) == texts
    assert [order(text) for text in ("–", "<", "\N{MINUS SIGN}3", "1,605")] == ["", "", "-3", "1605"]


def test_ratios_near_1_and_seconds_below_the_clock_are_sorted_among_numbers():
    order = templates().filters["order"]
    texts = ["below clock", "0.9990", "1 \N{MINUS SIGN} 3.1e-04", "1", "1 + 4.2e-05", "1 + 0.00031", "1.001"]
    assert sorted(texts, key=lambda text: float(order(text))) == texts


def test_a_point_has_the_name_of_its_axis():
    (point,) = (each["header"] for each in columns("eps") if each["key"] == "point")
    assert point == "ε" and '"axis":"C (n times' in script([], "C_total")
    axes = {
        each.name: each.axis
        for paper in read_folder(REFERENCE / "smoke").papers
        for each in paper.experiments.values()
    }
    assert axes["rcv1-like-C"] == "C_total" and axes["adult-eps"] == "eps"


def test_a_site_of_one_run_compares_nothing(run, tmp_path):
    write_site([run], tmp_path / "site")
    page = (tmp_path / "site" / "history.html").read_text(encoding="utf-8")
    assert "There is only one run here" in page
    assert "differs" not in page and "judged differently" not in page and "beside each other, the" not in page


def test_every_committed_table_is_read_whole():
    pages = list(REFERENCE.glob("*/*/*.html"))
    assert len(pages) > 50
    for path in pages:
        found = read_table(path)
        assert found.title and found.sections, path
        for section in found.sections:
            assert section.columns and {len(row) for row in section.rows} <= {len(section.columns)}, path


def test_each_measurement_has_its_line_of_the_journal(run):
    found = run_records(run, PAPER, EXPERIMENT)
    assert [(each.n, each.contender) for each in found] == [
        (400, "smo"),
        (400, "chunking"),
        (800, "smo"),
        (800, "chunking"),
    ]
    journal = (run / "journal" / PAPER / f"{EXPERIMENT}.jsonl").read_text().splitlines()
    for each in found:
        name, _, number = each.place.partition(":")
        assert name == f"journal/{PAPER}/{EXPERIMENT}.jsonl"
        assert json.loads(journal[int(number) - 1]) == json.loads(each.line)
        assert json.loads(each.line)["iterations"] == each.numbers["iterations"] == 10 * each.n


def test_a_packed_run_has_the_same_measurements(run, tmp_path):
    (tmp_path / PAPER).mkdir()
    write_parquet(to_csv([flatten(line) for line in lines()]), tmp_path / PAPER / "measurements.parquet")
    packed = packed_records(tmp_path, PAPER)[EXPERIMENT]
    current = run_records(run, PAPER, EXPERIMENT)
    assert [each.row() for each in packed] == [each.row() for each in current]
    assert json.loads(packed[0].line)["certificate"]["n_bound"] == 7


def test_a_line_through_few_sizes_or_over_another_axis_is_no_law(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    fit = dict.fromkeys(FIT_COLUMNS, "x") | {"experiment": EXPERIMENT, "quantity": "cpu_seconds"}
    fit |= {"source": "measured", "exponent": "1.5", "low": "1", "high": "2", "intercept": "-3"}
    fit |= {"n_min": "50", "n_max": "800"}
    fits = [fit | {"contender": name, "points": points} for name, points in (("smo", "4"), ("other", "3"))]
    write_rows(folder / PAPER / "fits.csv", fits)

    def laws():
        return [law["contender"] for law in read_folder(folder).papers[0].experiments[EXPERIMENT].laws]

    assert laws() == ["smo"]
    for path in (folder / PAPER / EXPERIMENT / "runs").glob("*.jsonl"):
        measured = map(json.loads, path.read_text().splitlines())
        path.write_bytes(dump_lines(line | {"point": 2.0} for line in measured))
    assert laws() == []
    for change in ({"n_min": "0"}, {"intercept": ""}, {"intercept": "1e9"}):
        write_rows(folder / PAPER / "fits.csv", [fits[0] | change])
        with pytest.raises(StepError, match=rf"fits\.csv: {EXPERIMENT}, smo: "):
            laws()


def test_no_file_is_named_by_an_experiment_of_a_stranger(tmp_path):
    (tmp_path / PAPER).mkdir()
    table = to_csv([{**flatten(line), "experiment": "../../../index"} for line in lines()])
    write_parquet(table, tmp_path / PAPER / "measurements.parquet")
    with pytest.raises(StepError, match=r"measurements\.parquet: row 1: experiment: '../../../index' is not"):
        packed_records(tmp_path, PAPER)


def released(folder, *origins, time="03:04:05"):
    """Write a published run, measured by some versions and commits."""
    machines = [{"versions": {"svmrepro": version}, "commit": commit} for version, commit in origins]
    measured = [
        {**line, "machine": machines[place % len(machines)], "time": f"2026-01-02T{time}+00:00"}
        for place, line in enumerate(lines())
    ]
    (folder / PAPER).mkdir(parents=True)
    write_parquet(to_csv([flatten(line) for line in measured]), folder / PAPER / "measurements.parquet")
    claim = {"id": "smo-faster", "verdict": "holds", "quote": "", "measured": ""}
    claim |= {"counted": "yes", "on_paper": "holds"}
    write_rows(folder / PAPER / "claims.csv", [claim])
    return folder


def test_runs_of_one_scale_tell_their_version_and_commit(tmp_path):
    first, second = ("1.0.0", "0123456789ab"), ("1.1.0", "fedcba987654+")
    folders = [
        released(tmp_path / "first" / "smoke", first),
        released(tmp_path / "second" / "smoke", second),
        released(tmp_path / "both" / "smoke", first, second),
        released(tmp_path / "none" / "smoke", (None, None)),
    ]
    said = ["version 1.0.0, commit 0123456789", "version 1.1.0, commit fedcba9876+", "2 versions, 2 commits"]
    assert [read_folder(folder).origin for folder in folders] == [*said, ""]
    write_site(folders, tmp_path / "site")
    for page in ("history", "compare", "index", "first-smoke/index"):
        text = (tmp_path / "site" / f"{page}.html").read_text(encoding="utf-8")
        assert [each for each in said if each in text] == (said[:1] if "first" in page else said), page


def test_runs_with_one_title_are_told_apart_and_the_history_begins_with_the_oldest(tmp_path):
    times = {"first": "16:55:00", "second": "16:54:59", "third": "08:00:00"}
    folders = [
        released(tmp_path / name / ("paper" if name == "third" else "smoke"), ("1", "1"), time=time)
        for name, time in times.items()
    ]
    write_site(folders, tmp_path / "site")
    history = (tmp_path / "site" / "history.html").read_text(encoding="utf-8")
    assert re.findall('<h3><a href="[^"]*">([^<]*)<', history) == [
        "Run, paper scale",
        "Run, smoke scale: second-smoke",
        "Run, smoke scale: first-smoke",
    ]
    assert history.count(">2026-01-02<") == 3


def test_a_packed_run_is_named_by_its_scale(tmp_path):
    folder = released(tmp_path / "svmrepro-v1-0123456789ab", ("1.0.0", "0123456789ab"))
    measured = to_csv([flatten({**line, "scale": "smoke"}) for line in lines()])
    (folder / PAPER / "measurements.csv").write_text(measured, encoding="utf-8")
    assert read_folder(folder).title == "Run, smoke scale"


@pytest.mark.parametrize("name", ["run.zip", "RUN.ZIP"])
def test_archives_of_a_folder_are_unpacked(name, tmp_path):
    folder = released(tmp_path / "smoke", ("1.0.0", "0123456789ab"))
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("*/*")}
    archives.pack(files, tmp_path / "packed" / name)
    (alone,) = expand(tmp_path / "packed" / name, tmp_path / "alone")
    (found,) = expand(tmp_path / "packed", tmp_path / "found")
    assert alone[1] == found[1] == name[:3]
    assert read_folder(found[0]).origin == "version 1.0.0, commit 0123456789"


def test_a_reference_tells_its_version_and_commits():
    origin = read_folder(REFERENCE / "smoke").origin
    assert re.fullmatch(r"version 0\.1\.0, (commit [0-9a-f]{10}|\d+ commits)", origin)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"machine": {"memory_bytes": "8 GB"}}, r"machine\.memory_bytes is '8 GB'"),
        ({"machine": {"commit": 7}}, r"machine\.commit is 7"),
        ({"time": 7}, r"time is 7"),
        ({"load_before": "x"}, r"load_before is 'x'"),
        ({"load_before": True}, r"load_before: 'True' is not a number"),
        ({"noise": {"throttled_seconds": "x"}}, r"noise\.throttled_seconds is 'x'"),
        ({"noise": {"cgroup_cpus": []}}, r"noise\.cgroup_cpus is \[\]"),
        ({"noise": {"cgroup_memory_bytes": "x"}}, r"noise\.cgroup_memory_bytes is 'x'"),
        ({"noise": {"instructions": "x"}}, r"noise\.instructions is 'x'"),
    ],
)
def test_a_line_with_a_field_of_another_type_is_named(changes, said, run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "smoke")
    file = folder / PAPER / EXPERIMENT / "runs" / "all.jsonl"
    file.write_text(json.dumps(lines()[0] | {"row": "new"} | changes) + "\n")
    with pytest.raises(StepError, match=rf"all\.jsonl:1: {said}"):
        _ = read_folder(folder).papers


def test_a_line_may_have_no_time_and_an_odd_identity(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "smoke")
    file = folder / PAPER / EXPERIMENT / "runs" / "all.jsonl"
    file.write_text(json.dumps(lines()[0] | {"run_id": [], "time": None}) + "\n")
    found = read_folder(folder)
    assert len(found.records) == 1 and found.ended == ""


def test_a_broken_line_is_named(run, tmp_path):
    folder = tmp_path / "smoke"
    shutil.copytree(run, folder)
    (folder / PAPER / EXPERIMENT / "runs" / "all.jsonl").write_text("{}\nnonsense\n")
    with pytest.raises(StepError, match=r"all\.jsonl:2: JSON is malformed"):
        _ = read_folder(folder).papers


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n": None}, r"measurements\.parquet, row 1: n is None"),
        ({"contender": None}, r"row 1: contender is None"),
        ({"status": None}, r"row 1: status is None"),
        ({"status": "great"}, r"row 1: status: 'great' is not one of "),
        ({"cpu_seconds": -1.0}, r"row 1: cpu_seconds: '-1\.0' is not a number between "),
        ({"noise": {"frequency_mhz": 1e200}}, r"row 1: noise\.frequency_mhz: '1e\+200' is not a number"),
        ({"machine": "fast"}, r"row 1: machine is 'fast'"),
        ({"machine": "fast", "machine.cpu": "x"}, r"row 1: machine\.cpu: machine has a value of its own"),
        ({"info": {"a": 1, "a.b": 2}}, r"row 1: info\.a\.b: a has a value of its own"),
    ],
)
def test_a_packed_measurement_with_an_impossible_field_is_named(changes, said, tmp_path):
    (tmp_path / PAPER).mkdir()
    table = to_csv([flatten({**lines()[0], **changes}), flatten(lines()[1])])
    write_parquet(table, tmp_path / PAPER / "measurements.parquet")
    with pytest.raises(StepError, match=said):
        packed_records(tmp_path, PAPER)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"value": 100.0', '"value": NaN', "JSON is malformed"),
        ('"value": 100.0', '"value": 1e999', "Number out of range"),
        ('"value": 100.0', '"value": 1.797e308', r"Expected `float` <= 1e\+100"),
        ('"low": 90.0', '"low": -1e101', r"Expected `float` >= -1e\+100"),
        ('"low": 90.0, ', "", "low"),
        ('"n": 400', '"n": "many"', "n"),
        (f'"experiment": "{EXPERIMENT}"', '"experiment": []', "experiment"),
    ],
)
def test_a_broken_finding_is_named_and_the_earlier_site_stays(old, new, said, run, tmp_path):
    write_site([run], tmp_path / "site")
    folder = shutil.copytree(run, tmp_path / "smoke")
    findings = folder / PAPER / "claims.json"
    text = findings.read_text()
    assert old in text
    findings.write_text(text.replace(old, new))
    with pytest.raises(StepError, match=rf"claims\.json: .*{said}"):
        write_site([folder], tmp_path / "site")
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_table_that_is_none_is_named_and_the_earlier_site_stays(run, tmp_path):
    write_site([run], tmp_path / "site")
    folder = shutil.copytree(run, tmp_path / "smoke")
    (folder / PAPER / "mine.html").write_text(a_page("<th>a</th>", '<td colspan="x">1</td>'))
    with pytest.raises(StepError, match=r"mine\.html: is not the page of a table \(invalid literal"):
        write_site([folder], tmp_path / "site")
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("text", ['{"panels": 5}', '{"notes": [5]}', '{"legend": "x"}', "[]"])
def test_numbers_of_a_figure_that_are_none_are_named(text, run, tmp_path):
    folder = with_picture("", run, tmp_path)
    (picture,) = (tmp_path / "figures").rglob("mine.svg")
    picture.with_suffix(".json").write_text(text)
    with pytest.raises(StepError, match=r"mine\.json: Expected `"):
        _ = read_folder(folder).papers


@pytest.mark.parametrize(
    "part",
    [
        "<script>alert(1)</script>",
        "<svg:script/>",
        '<a\N{MIDDLE DOT}b:script xmlns:a\N{MIDDLE DOT}b="http://www.w3.org/2000/svg"/>',
        '<h:iframe xmlns:h="http://www.w3.org/1999/xhtml" srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;"/>',
        '<h:style xmlns:h="http://www.w3.org/1999/xhtml"/>',
        '<use href="http://example.org/a.svg#b"/>',
        '<use xmlns:x="http://www.w3.org/1999/xlink" x:href="data:image/svg+xml,a"/>',
        '<animate attributeName="href" to="javascript:alert(1)"/>',
        "<style>@import 'http://example.org/a.css';</style>",
        '<rect style="fill: url(http://example.org/a)"/>',
        '<g xml:base="http://example.org/"/>',
        '<g onload="alert(1)"/>',
        "<g title='>' ONload='alert(1)'/>",
        "<foreignObject/>",
        '<a href="javascript:alert(1)"/>',
        '<a href="java&#10;script:alert(1)"/>',
        "<g",
    ],
)
def test_a_picture_with_a_script_is_refused(part, run, tmp_path):
    folder = with_picture(part, run, tmp_path)
    with pytest.raises(StepError, match=r"mine\.svg: holds a script"):
        write_site([folder], tmp_path / "site")


def test_a_picture_whose_label_looks_like_a_script_is_shown(run, tmp_path):
    folder = with_picture("<!-- online = 3 --><text>online = 3: &#945;</text>", run, tmp_path)
    write_site([folder], tmp_path / "site")
    assert [*(tmp_path / "site").rglob("mine.svg")]


def test_a_picture_in_another_encoding_is_refused(run, tmp_path):
    # Which a browser reads as something else than the parser.
    folder = with_picture("", run, tmp_path)
    (picture,) = (tmp_path / "figures").rglob("mine.svg")
    for encoding, refused in (("utf-8", nullcontext()), ("iso-2022-jp", pytest.raises(StepError))):
        picture.write_text(
            f'<?xml version="1.0" encoding="{encoding}"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'
        )
        with refused:
            write_site([folder], tmp_path / "site")


def with_picture(part, run, tmp_path):
    """Copy a run with a picture that has a part; return the folder of its results."""
    folder = tmp_path / "results" / "smoke"
    shutil.copytree(run, folder)
    picture = tmp_path / "figures" / "smoke" / PAPER / "mine.svg"
    picture.parent.mkdir(parents=True)
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{part}</svg>')
    return folder


def test_nothing_ends_the_script_early(run):
    records = run_records(run, PAPER, EXPERIMENT)
    changed = records[0].__class__(**{**vars(records[0]), "contender": "</script><b>"})
    assert "</script" not in script([changed])


def test_the_numbers_of_a_figure_are_those_drawn():
    drawn = figure()
    drawn.draw_without_rendering()
    (panel,) = json.loads(to_json(drawn))["panels"]
    assert panel["title"] == "Adult" and panel["x"]["scale"] == "log" and panel["y"]["scale"] == "linear"
    series, line, vertical = panel["series"]
    assert series["name"] == "SMO: n^1.08" and series["mode"] == "lines+markers"
    assert (series["x"], series["y"]) == ([400, 800], [1, 2])
    assert series["low"] == pytest.approx([0.9, 1.8]) and series["high"] == pytest.approx([1.3, 2.4])
    assert (line["name"], line["mode"], line["y"]) == ("", "lines", [3, 4])
    assert vertical["x"] == [500, 500] and vertical["y"] == pytest.approx(panel["y"]["range"])
    assert panel["notes"] == [
        {"x": 500, "y": 2, "text": "n^1.08", "align": ["left", "baseline"], "shift": [0, 0]}
    ]


def test_dashes_sizes_notes_and_what_stands_beside_the_series_are_kept():
    drawn = noted_figure()
    drawn.draw_without_rendering()
    content = json.loads(to_json(drawn))
    left, right = content["panels"]
    assert [each["name"] for each in left["bars"]] == ["planned"]
    (note,) = left["notes"]
    assert (note["x"], note["y"]) == (1.96, 10) and note["text"] == "2 runs,\n44 % planned"
    assert right["spans"] == [{"name": "within 1 ± η", "left": 1, "right": 2, "colour": "#eef1f4"}]
    *lines, square, dot, hollow, arrow = right["series"]
    assert [each["line"] for each in lines] == ["1,1.2", "5,2", "--", ":"]
    assert (square["size"], dot["size"]) == (4.5, 1.6), "a point is half as large as a circle"
    assert hollow["name"] == "Adult, the paper's", "the legend tells sets apart that share a label"
    assert (arrow["x"], arrow["y"], arrow["shift"], arrow["name"]) == ([1], [0], 6, "below")
    (value,) = right["notes"]
    assert (value["x"], value["y"], value["shift"], value["text"]) == (1, 0, [0, 8], "\N{MINUS SIGN}21.8")
    assert right["aside"] == "∝ n^0.8" and content["notes"] == ["Web: not run", "A limit."]
    assert [each["name"] for each in content["legend"]] == ["95 % interval"]


def test_points_of_a_line_without_a_mark_are_kept_apart():
    drawn = Figure()
    axes = drawn.subplots()
    axes.plot([1, 2, 3], [4, 5, 6], "o-", color="#112233", markevery=[-1], label="end")
    axes.plot([1, 2], [0, 1], "s-", color="#445566", markevery=[0], drawstyle="steps-post")
    drawn.legend()
    drawn.draw_without_rendering()
    (panel,) = json.loads(to_json(drawn))["panels"]
    assert [(each["name"], each["mode"], each["marker"], each["x"]) for each in panel["series"]] == [
        ("end", "lines", "", [1, 2, 3]),
        ("end", "markers", "o", [3]),
        ("", "lines", "", [1, 2, 2]),
        ("", "markers", "s", [1]),
    ]


def test_a_map_is_kept_cell_by_cell_and_level_sets_as_few_points():
    drawn = map_figure()
    drawn.draw_without_rendering()
    text = to_json(drawn)
    cells, path = json.loads(text)["panels"]
    (mesh,) = cells["cells"]
    assert (mesh["x"], mesh["y"]) == ([0.5, 1.5, 0.5, 1.5, 2.5], [0.5, 0.5, 1.5, 1.5, 1.5])
    assert mesh["value"] == [1, 2, 4, 5, 6] and {*mesh["width"], *mesh["height"]} == {1}
    assert len(set(mesh["colour"])) == 5
    (note,) = cells["notes"]
    assert (note["x"], note["y"], note["text"]) == (0.5, 0.5, "1")
    levels, spent = path["contours"]
    assert levels["x"].count(None) == 1 and len(levels["x"]) < 150
    radii = {round(np.hypot(x, y), 2) for x, y in zip(levels["x"], levels["y"], strict=True) if x is not None}
    assert radii == {0.5, 0.8}
    assert (spent["name"], spent["line"]) == ("no gain", "4,2") and len(spent["x"]) <= 3
    assert [(each["name"], each["mode"]) for each in path["series"]] == [("", "lines"), ("end", "markers")]
    assert path["equal"] and path["x"]["label"] == "β₁ / √2"
    drawn = figure()
    drawn.draw_without_rendering()
    assert (
        not {"aside", "equal", "spans", "cells", "contours"} & json.loads(to_json(drawn))["panels"][0].keys()
    )


def test_every_link_leads_to_a_file(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        for link in set(LINKS.findall(page.read_text(encoding="utf-8"))):
            assert link.startswith("data:") or not re.match(r"\w+:|/", link), f"{page}: {link}"
            if link and not link.startswith("data:"):
                assert (page.parent / link).resolve().is_file(), f"{page.relative_to(site)}: {link}"


def test_no_page_tells_where_it_was_made(site, run):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert str(PROJECT) not in text and str(run) not in text, page


def test_a_site_takes_the_place_of_an_earlier_one_only(run, tmp_path):
    out = tmp_path / "site"
    write_site([run], out)
    stale = out / "smoke" / "stale.html"
    stale.touch()
    shutil.copytree(out / "smoke", out / "another")
    (out / "mine").mkdir()
    assert "of 1 run:" in write_site([run], out)
    assert not stale.exists() and not (out / "another").exists() and (out / "mine").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").touch()
    with pytest.raises(StepError, match="is not empty and not a site"):
        write_site([run], other)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


def test_what_is_no_run_is_left_out(run, tmp_path):
    results = tmp_path / "results"
    for place in ("default", "again", ".others/mine-1"):
        shutil.copytree(run, results / place)
    shutil.copytree(run, results / "smoke")
    for file in (results / "smoke" / PAPER).glob("*.*"):
        file.unlink()
    shutil.rmtree(results / "smoke" / PAPER / EXPERIMENT)
    assert expand(results, tmp_path) == [(results / "default", "")]
    assert unfinished(results) == [
        f"{results / 'smoke'} is left out: no experiment is finished; `./run --scale smoke {PAPER}` goes on"
    ]
    with pytest.raises(StepError, match="no experiment is finished"):
        expand(results / "smoke", tmp_path)


def test_experiments_of_an_unfinished_paper_are_shown_without_verdicts_and_not_compared(run, tmp_path):
    part = tmp_path / "results" / "smoke"
    shutil.copytree(run, part)
    for file in (part / PAPER).glob("*.*"):
        file.unlink()
    assert unfinished(part.parent) == [] and expand(part.parent, tmp_path) == [(part, "")]
    (paper,) = read_folder(part).papers
    assert paper.name == PAPER and [*paper.experiments] == [EXPERIMENT] and not paper.claims
    write_site([run, part], tmp_path / "site")
    assert not (tmp_path / "site" / "compare").exists()
    assert "Verdicts on 0 claims" not in (tmp_path / "site" / "history.html").read_text(encoding="utf-8")
    assert len([*(tmp_path / "site").rglob(f"experiments/{EXPERIMENT}.html")]) == 2


def test_the_report_begins_with_the_verdicts(run, tmp_path):
    folder = tmp_path / "results" / "smoke"
    shutil.copytree(run, folder)
    claims = folder / PAPER / "claims.csv"
    rows = [{**row, "kind": "headline", "quote": f"{row['quote']} {{{{ x }}}}"} for row in rows_of(claims)]
    write_rows(claims, [rows[0], {**rows[1], "kind": "detail"}])
    config = replace(load_config({"scale": "smoke"}), results_dir=tmp_path / "results")
    overview.run(config)
    text = paths.report_text(config).read_text()
    # Snakemake fills in the text as a template, and docutils makes HTML of it.
    body = publish_parts(Environment().from_string(text).render(), writer="html")["body"]
    for said in (
        "<b>1</b> holds",
        "<b>1</b> not decided",
        "SMO is faster &lt;/script&gt; {{ x }}",
        "./run site",
    ):
        assert said in body
    assert "SMO scales as N" not in body
    overview.run(replace(config, papers={}))
    assert paths.report_text(config).read_text().startswith("This report")


def test_the_report_of_one_paper_leaves_the_first_page_of_the_whole_report(run, tmp_path):
    shutil.copytree(run, tmp_path / "results" / "smoke")
    settings = {"scale": "smoke", "results_dir": str(tmp_path / "results")}
    part, whole = Plan({**settings, "papers": [PAPER]}), Plan(settings)
    overview.run(part.config)
    assert Path(part.report_text) == paths.results(part.config) / f"report-{PAPER}.rst"
    assert Path(whole.report_text).name == "workflow.rst"


@pytest.mark.parametrize(
    ("name", "said"), [("none", "is neither a folder"), ("", "holds no results of a run")]
)
def test_a_folder_without_results_is_refused_in_one_line(tmp_path, capsys, name, said):
    assert main(["site", str(tmp_path / name), "--out", str(tmp_path / "site")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ") and said in told and told.count("\n") == 1


def test_a_file_that_is_no_archive_is_named_alone(tmp_path):
    path = tmp_path / "bad.zip"
    path.write_text("no archive")
    with pytest.raises(StepError, match=f"^{re.escape(str(path))}: is not a zip archive, or is damaged"):
        write_site([path], tmp_path / "site")


def test_a_full_disk_names_the_file_that_cannot_be_copied(run, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    earlier = tmp_path / "site" / "index.html"
    for path in (earlier, tmp_path / "site" / "assets" / "site.css"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(shutil, "copyfile", refuse)
    with pytest.raises(StepError, match=r"^cannot write \S+/site/assets/\S+: no space left on device$"):
        write_site([run], tmp_path / "site")
    assert not earlier.exists(), "if it exists, all other pages do"
    monkeypatch.undo()
    assert "of 1 run:" in write_site([run], tmp_path / "site"), "it is still a site"


@pytest.mark.parametrize("copied", [0, 1])
def test_a_first_site_that_met_a_full_disk_is_written_again(copied, run, tmp_path, monkeypatch):
    copy, left = shutil.copyfile, iter(range(copied))

    def refuse(source, target):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", refuse)
    with pytest.raises(StepError, match="no space left on device"):
        write_site([run], tmp_path / "site")
    monkeypatch.undo()
    assert "of 1 run:" in write_site([run], tmp_path / "site")


def test_papers_beyond_the_default_list_have_their_titles(tmp_path):
    """A reference may hold more papers than a run measures unless told to."""
    for place in ("results", "figures"):
        folder = tmp_path / place / "reference" / "default"
        folder.mkdir(parents=True)
        for paper in ("grid", "convergence", "threads"):
            (folder / paper).symlink_to(PROJECT / place / "reference" / "default" / paper)
    run = read_folder(tmp_path / "results" / "reference" / "default")
    known = {paper.name: paper for paper in run.papers}
    assert {"grid", "convergence", "threads"} <= known.keys()
    assert known["grid"].experiments["adult-grid"].title == "Adult"
    (figure,) = known["convergence"].figures
    assert known["grid"].figures[0].caption and known["grid"].figures[0].experiments
    assert figure.title == "Seconds, and objective against time" and figure.caption and figure.experiments


def test_unknown_counts_and_old_reasons_of_a_measurement(tmp_path):
    """A package that reports no count has a 0 in the journal."""
    ours, theirs = lines()[:2]
    theirs |= {"package": "scikit-learn 1.9", "iterations": 7, "kernel_evaluations": 0}
    theirs |= {"reason": "passed its time limit of 5 s at n = 16100"}
    folder = tmp_path / PAPER / EXPERIMENT / "runs"
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_bytes(dump_lines([ours | {"kernel_evaluations": 0}, theirs]))
    first, second = run_records(tmp_path, PAPER, EXPERIMENT)
    assert first.numbers["kernel_evaluations"] == 0
    assert (second.numbers["kernel_evaluations"], second.numbers["iterations"]) == (None, 7)
    assert second.reason.endswith("at n = 16,100") and second.fields["kernel_evaluations"] == 0


def test_a_rule_has_minus_signs():
    claim = ShownClaim({"rule": "between -0.5 and 0.5", "earlier_rule": "at most -1e-3"})
    assert (claim.rule, claim.earlier_rule) == ("between −0.5 and 0.5", "at most −1e-3")


def test_a_claim_of_an_older_run_lacks_columns_but_a_misspelt_one_is_an_error():
    claim = ShownClaim({"verdict": "holds"})
    assert claim.printed == ""
    with pytest.raises(AttributeError, match="verdcit"):
        print(claim.verdcit)


def test_the_axes_that_plots_tell_by_their_labels_are_in_reference_figures():
    script = (PROJECT / "workflow" / "site" / "assets" / "plots.js").read_text(encoding="utf-8")
    told = re.findall(r'label\.startsWith\("(.*?)"\)', script)
    figures = (PROJECT / "figures" / "reference").glob("*/*/*.json")
    labels = {panel["x"]["label"] for path in figures for panel in json.loads(path.read_text())["panels"]}
    assert told and all(any(label.startswith(each) for label in labels) for each in told)


@pytest.mark.parametrize("drawn", ["SYMBOLS", "OUTLINES"])
def test_the_markers_of_all_reference_figures_are_known_to_plots_and_legends(drawn):
    script = (PROJECT / "workflow" / "site" / "assets" / "plots.js").read_text(encoding="utf-8")
    known = re.search(rf"const {drawn} = \{{(.*?)\}};", script, re.DOTALL)[1]
    markers = {
        series["marker"]
        for path in (PROJECT / "figures" / "reference").glob("*/*/*.json")
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]
        for series in panel["series"]
    }
    keys = {key.strip('"') for key in re.findall(r'("[^"]+"|\w+): "', known)}
    assert "+" in markers and markers - keys <= {"", "."}  # a dot is a small circle
