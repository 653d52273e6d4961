"""
The report of the smoke scale in a browser: complete, visible, and without errors.

It uses the results of this checkout, which ``./run test`` makes before its tests; nothing is measured here.
"""

import contextlib
import json
import re
import sys
import time
from pathlib import Path

import pytest
import yaml
from report_browser import GoneError, browsing, lack
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
def browser(report, tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        opened.open(report)
        opened.wait("document.querySelector('#rulegraph canvas, #rulegraph svg') !== null")
        yield opened


def follow(browser, words):
    """Click on the link with this text in the menu or in the line above it, and wait until it is drawn."""
    link = f"[...document.querySelectorAll('nav a')].find(a => a.innerText.trim() === {json.dumps(words)})"
    browser.wait(f"{link} !== undefined")
    browser.click(link)
    browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def see(browser, name, row):
    """Open an artefact by its eye icon and check what is visible."""
    browser.click(f"{ROWS}[{row}].querySelectorAll('a')[0]")
    browser.wait(f"app.state.resultPath === {json.dumps(file_of(name))}")
    if ARTEFACTS[name]["form"] == "table":
        see_table(browser, name)
        return
    image = "document.querySelector('.grow img')"
    browser.wait(f"{image} && {image}.src === results[app.state.resultPath].data_uri && {image}.complete")
    sizes = f"(i => [i.naturalWidth, i.naturalHeight, i.offsetWidth, i.offsetHeight])({image})"
    assert min(browser.run(sizes)) > 100, name


def see_table(browser, name):
    browser.wait("document.querySelector('iframe')?.src === results[app.state.resultPath].data_uri")
    title = json.dumps(ARTEFACTS[name]["title"])
    for _ in range(500):  # the frame gets a new context when its page has loaded
        context = browser.frame()
        with contextlib.suppress(GoneError):
            if browser.run(f"document.querySelector('h1')?.innerText === {title}", context):
                break
        time.sleep(0.02)
    browser.wait("document.readyState === 'complete'", context)
    shown = browser.run(
        """(() => {
            const rows = [...document.querySelectorAll("tbody tr")];
            return {
                rows: rows.filter(row => row.offsetHeight > 0 && row.offsetWidth > 0).length,
                all: document.querySelectorAll("tr").length,
                text: document.body.innerText,
                clipped: document.documentElement.scrollWidth > window.innerWidth,
            };
        })()""",
        context,
    )
    page = PROJECT / file_of(name)
    assert shown["all"] == len(re.findall(r"<tr\b", page.read_text(encoding="utf-8")))
    lines = rows_of(page.with_suffix(".csv"))
    assert shown["rows"] >= len(lines) > 0, f"{name}: {shown['rows']} of {len(lines)} rows can be seen"
    assert re.search(r"\d", shown["text"]), f"{name}: no number"
    assert not NO_NUMBER.search(shown["text"]), f"{name}: {NO_NUMBER.search(shown['text'])}"
    assert not shown["clipped"], f"{name} is cut off at its side"
    for part in ("title", "caption"):
        assert ARTEFACTS[name][part] in shown["text"]


def explain(browser, name, row):
    """Open an artefact's description and check its labels and its caption."""
    browser.click(f"{ROWS}[{row}].querySelectorAll('a')[1]")
    browser.wait("[...document.querySelectorAll('nav li')].some(li => li.innerText === 'DESCRIPTION')")
    said = browser.run("document.querySelector('nav').innerText")
    caption = (PROJECT / "workflow" / "report" / f"{ARTEFACTS[name]['kind']}.rst").read_text()
    first = " ".join(re.sub(r"[*`]", "", caption).split()[:8])
    assert first in " ".join(said.split()), f"{name}: no caption"
    assert ARTEFACTS[name]["title"] in said
    assert LABELS[ARTEFACTS[name]["form"]][1] in said


def test_the_first_page_says_what_the_report_is(browser):
    words = (PROJECT / "workflow" / "report" / "workflow.rst").read_text().split()
    said = browser.run("document.querySelector('.prose').innerText")
    assert " ".join(words[:12]) in " ".join(said.split())


def test_every_artefact_is_a_result_of_the_report(browser):
    found = browser.run(
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
    categories = browser.run("categories")
    assert {
        title: {words: set(files) for words, files in found.items()} for title, found in categories.items()
    } == headings


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_plot_can_be_seen_and_is_explained(browser, paper):
    own = [key for key in ARTEFACTS if key[0] == paper]
    titles = {ARTEFACTS[key]["title"]: key for key in own}
    headings = list(dict.fromkeys(map(heading, own)))
    seen = []
    # Headings of a single paper's report start below its title, those of several papers with their titles.
    browser.wait("[...document.querySelectorAll('nav a')].some(a => /\\S/.test(a.innerText))")
    if "Results" in browser.run("[...document.querySelectorAll('nav a')].map(a => a.innerText.trim())"):
        follow(browser, "Results")
    if len(PAPERS) > 1:
        follow(browser, PAPERS[paper]["title"])
    for words in headings:
        if len(headings) > 1:
            follow(browser, words)
        listed = browser.run(f"[...{ROWS}].map(row => [...row.cells].map(cell => cell.innerText.trim()))")
        for row, cells in enumerate(listed):
            key = titles[cells[0]]
            assert heading(key) == words
            assert LABELS[ARTEFACTS[key]["form"]][1] in cells[1:]
            see(browser, key, row)
            seen.append(key)
            explain(browser, key, row)
            follow(browser, words if len(headings) > 1 else PAPERS[paper]["title"])
        follow(browser, PAPERS[paper]["title"])
    assert sorted(seen) == sorted(own)


def test_nothing_complains_and_no_network_is_asked(browser):
    """Fail on any browser complaint during the tests above."""
    assert browser.complaints == []
    assert browser.requests == []


def test_the_watch_sees_errors_and_requests(browser, tmp_path):
    """Otherwise the test before this one could not fail."""
    complaints, requests = len(browser.complaints), len(browser.requests)
    page = tmp_path / "bad.html"
    page.write_text("<script>console.error('so'); fetch('http://localhost:9/x'); nothing.at.all</script>bad")
    browser.open(page)
    browser.wait("document.readyState === 'complete' && document.body.innerText.trim() === 'bad'")
    said = " ".join(browser.complaints[complaints:])
    assert "so" in said and "nothing is not defined" in said
    assert browser.requests[requests:] == ["http://localhost:9/x"]
