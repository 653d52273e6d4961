"""
The report of the smoke scale in a browser: complete, visible, and without errors.

It uses the results of this checkout, which ``./run test`` makes before its tests; nothing is measured here.
"""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from report_browser import Watched, chromium, lack
from support import ran, rows_of
from svmrepro.workflow.configuration.model import load_config

PROJECT = Path(__file__).resolve().parent.parent.parent
REPORT = PROJECT / "results" / "smoke" / "report.html"
CONFIG = PROJECT / "config"
PAPERS = {
    name: yaml.safe_load((CONFIG / "experiments" / f"{name}.yaml").read_text())
    for name in yaml.safe_load((CONFIG / "config.yaml").read_text())["papers"]
}
#: The artefacts of the main job's papers at the smoke scale, by paper and name.
ARTEFACTS = {
    (paper, name): artefact
    for paper, content in load_config({"scale": "smoke"}).papers.items()
    for name, artefact in PAPERS[paper]["artefacts"].items()
    if name in content.artefacts
}
LABELS = {"table": ["table", "HTML"], "figure": ["plot", "SVG"]}
ROWS = "document.querySelectorAll('nav tbody tr')"
#: How invalid numbers look to a reader.
NO_NUMBER = re.compile(r"\b(nan|NaN|None|null|undefined|inf)\b")


def heading(key):
    """Return the heading under which an artefact must appear."""
    if "experiment" in ARTEFACTS[key]:
        return str(PAPERS[key[0]]["experiments"][ARTEFACTS[key]["experiment"]]["title"])
    return "All experiments"


def file_of(key):
    """Return the path of an artefact in the report."""
    if ARTEFACTS[key]["form"] == "table":
        return f"results/smoke/{key[0]}/{key[1]}.html"
    return f"figures/smoke/{key[0]}/{key[1]}.svg"


@pytest.fixture(scope="module")
def report():
    lacking = [name for name in ARTEFACTS if not (PROJECT / file_of(name)).is_file()]
    if lacking:
        lack("no results of the smoke scale in this checkout; make them: ./run --config scale=smoke")
    # Only the report may be made: tests measure nothing, even if the results are older than the code.
    options = ["--cores", "1", "--force", "--allowed-rules", "report", "--config", "scale=smoke"]
    done = ran(sys.executable, "-m", "snakemake", "report", *options, cwd=PROJECT)
    assert done.returncode == 0, done.stderr[-3000:]
    return REPORT


@pytest.fixture(scope="module")
def watched(report):
    with chromium() as browser:
        found = Watched(browser, viewport={"width": 1440, "height": 900})
        found.page.goto(report.as_uri())
        found.page.wait_for_function("document.querySelector('#rulegraph canvas, #rulegraph svg') !== null")
        yield found


@pytest.fixture
def page(watched):
    return watched.page


def click(page, element):
    """Click on the element that a script's expression returns."""
    page.evaluate_handle(element).as_element().click()


def follow(page, words):
    """Click on the link with this text in the menu or in the line above it, and wait until it is drawn."""
    link = f"[...document.querySelectorAll('nav a')].find(a => a.innerText.trim() === {json.dumps(words)})"
    page.wait_for_function(f"{link} !== undefined")
    click(page, link)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def see(page, name, row):
    """Open an artefact by its eye icon and check what is visible."""
    click(page, f"{ROWS}[{row}].querySelectorAll('a')[0]")
    page.wait_for_function(f"app.state.resultPath === {json.dumps(file_of(name))}")
    if ARTEFACTS[name]["form"] == "table":
        see_table(page, name)
        return
    image = "document.querySelector('.grow img')"
    shown = f"{image}.src === results[app.state.resultPath].data_uri && {image}.complete"
    page.wait_for_function(f"{image} && {shown}")
    sizes = f"(i => [i.naturalWidth, i.naturalHeight, i.offsetWidth, i.offsetHeight])({image})"
    assert min(page.evaluate(sizes)) > 100, name


def see_table(page, name):
    page.wait_for_function("document.querySelector('iframe')?.src === results[app.state.resultPath].data_uri")
    (frame,) = page.main_frame.child_frames
    title = json.dumps(ARTEFACTS[name]["title"])
    frame.wait_for_function(f"document.querySelector('h1')?.innerText === {title}")
    frame.wait_for_load_state()
    shown = frame.evaluate(
        """(() => {
            const rows = [...document.querySelectorAll("tbody tr")];
            return {
                rows: rows.filter(row => row.offsetHeight > 0 && row.offsetWidth > 0).length,
                all: document.querySelectorAll("tr").length,
                text: document.body.innerText,
                clipped: document.documentElement.scrollWidth > window.innerWidth,
            };
        })()"""
    )
    file = PROJECT / file_of(name)
    assert shown["all"] == len(re.findall(r"<tr\b", file.read_text(encoding="utf-8")))
    lines = rows_of(file.with_suffix(".csv"))
    assert shown["rows"] >= len(lines) > 0, f"{name}: {shown['rows']} of {len(lines)} rows can be seen"
    assert re.search(r"\d", shown["text"]), f"{name}: no number"
    assert not NO_NUMBER.search(shown["text"]), f"{name}: {NO_NUMBER.search(shown['text'])}"
    assert not shown["clipped"], f"{name} is cut off at its side"
    for part in ("title", "caption"):
        assert ARTEFACTS[name][part] in shown["text"]


def explain(page, name, row):
    """Open an artefact's description and check its labels and its caption."""
    click(page, f"{ROWS}[{row}].querySelectorAll('a')[1]")
    page.wait_for_function(
        "[...document.querySelectorAll('nav li')].some(li => li.innerText === 'DESCRIPTION')"
    )
    said = page.evaluate("document.querySelector('nav').innerText")
    caption = (PROJECT / "workflow" / "report" / f"{ARTEFACTS[name]['kind']}.rst").read_text()
    first = " ".join(re.sub(r"[*`]", "", caption).split()[:8])
    assert first in " ".join(said.split()), f"{name}: no caption"
    assert ARTEFACTS[name]["title"] in said
    assert LABELS[ARTEFACTS[name]["form"]][1] in said


def test_the_first_page_says_what_the_report_is(page):
    words = (PROJECT / "workflow" / "report" / "workflow.rst").read_text().split()
    said = page.evaluate("document.querySelector('.prose').innerText")
    assert " ".join(words[:12]) in " ".join(said.split())


def test_every_artefact_is_a_result_of_the_report(page):
    found = page.evaluate(
        "Object.fromEntries(Object.entries(results).map(([path, result]) => [path, result.labels]))"
    )
    labels = {}
    for name, artefact in ARTEFACTS.items():
        key, value = LABELS[artefact["form"]]
        labels[file_of(name)] = {"artefact": artefact["title"], key: value}
    assert found == labels
    headings = {}
    for key in ARTEFACTS:
        of_paper = headings.setdefault(PAPERS[key[0]]["title"], {})
        of_paper.setdefault(heading(key), set()).add(file_of(key))
    categories = page.evaluate("categories")
    assert {
        title: {words: set(files) for words, files in found.items()} for title, found in categories.items()
    } == headings


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_plot_can_be_seen_and_is_explained(page, paper):
    own = [key for key in ARTEFACTS if key[0] == paper]
    titles = {ARTEFACTS[key]["title"]: key for key in own}
    headings = list(dict.fromkeys(map(heading, own)))
    seen = []
    # Headings of a single paper's report start below its title, those of several papers with their titles.
    page.wait_for_function("[...document.querySelectorAll('nav a')].some(a => /\\S/.test(a.innerText))")
    if "Results" in page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.innerText.trim())"):
        follow(page, "Results")
    if len(PAPERS) > 1:
        follow(page, PAPERS[paper]["title"])
    for words in headings:
        if len(headings) > 1:
            follow(page, words)
        listed = page.evaluate(f"[...{ROWS}].map(row => [...row.cells].map(cell => cell.innerText.trim()))")
        for row, cells in enumerate(listed):
            key = titles[cells[0]]
            assert heading(key) == words
            assert LABELS[ARTEFACTS[key]["form"]][1] in cells[1:]
            see(page, key, row)
            seen.append(key)
            explain(page, key, row)
            follow(page, words if len(headings) > 1 else PAPERS[paper]["title"])
        follow(page, PAPERS[paper]["title"])
    assert sorted(seen) == sorted(own)


def test_nothing_complains_and_no_network_is_asked(watched):
    """Fail on any complaint of the browser during the tests above."""
    assert (watched.complaints, watched.requests) == ([], [])


def test_the_watch_sees_errors_and_requests(watched, tmp_path):
    """Otherwise the test before this one could not fail."""
    file = tmp_path / "bad.html"
    file.write_text("<script>console.error('so'); fetch('http://localhost:9/x'); nothing.at.all</script>bad")
    watched.page.goto(file.as_uri())
    said = " ".join(watched.complaints)
    assert "so" in said and "nothing is not defined" in said
    assert watched.requests == ["http://localhost:9/x"]
