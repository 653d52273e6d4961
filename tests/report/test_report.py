"""
The report of the smoke scale in a browser: complete, visible, and without errors.

It uses the results of this checkout, which ``./run test`` makes before its tests; nothing is measured here.
"""

import re
import sys

import pytest
import yaml
from report_browser import Watched, chromium, lack
from support import PROJECT, ran, rows_of
from svmrepro.workflow.configuration import load_config

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


def test_the_first_page_says_what_the_report_is(page):
    words = (PROJECT / "workflow" / "report" / "workflow.rst").read_text().split()
    said = page.evaluate("document.querySelector('.prose').innerText")
    assert " ".join(words[:12]) in " ".join(said.split())


def test_every_artefact_is_an_explained_result_of_the_report(page):
    shown = "([path, result]) => [path, [result.labels, result.caption]]"
    found = page.evaluate(f"Object.fromEntries(Object.entries(results).map({shown}))")
    assert set(found) == set(map(file_of, ARTEFACTS))
    headings = {}
    for key, artefact in ARTEFACTS.items():
        labels, explained = found[file_of(key)]
        form, value = LABELS[artefact["form"]]
        assert labels == {"artefact": artefact["title"], form: value}
        caption = (PROJECT / "workflow" / "report" / f"{artefact['kind']}.rst").read_text()
        first = " ".join(re.sub(r"[*`]", "", caption).split()[:8])
        assert first in " ".join(re.sub("<.*?>", "", explained).split()), f"{key}: no caption"
        of_paper = headings.setdefault(PAPERS[key[0]]["title"], {})
        of_paper.setdefault(heading(key), set()).add(file_of(key))
    categories = page.evaluate("categories")
    assert {
        title: {words: set(files) for words, files in found.items()} for title, found in categories.items()
    } == headings


def test_every_plot_can_be_seen(page):
    size = """async path => {
        const image = new Image();
        image.src = results[path].data_uri;
        await image.decode();
        return Math.min(image.naturalWidth, image.naturalHeight);
    }"""
    for key, artefact in ARTEFACTS.items():
        assert artefact["form"] == "table" or page.evaluate(size, file_of(key)) > 100, key


def test_nothing_complains_and_no_network_is_asked(watched):
    """Fail on any complaint of the browser during the tests above."""
    assert (watched.complaints, watched.requests) == ([], [])


SEEN = """({
    rows: [...document.querySelectorAll("tbody tr")].filter(row => row.offsetHeight > 0).length,
    text: document.body.innerText,
    clipped: document.documentElement.scrollWidth > window.innerWidth,
})"""


@pytest.mark.parametrize("key", [key for key in ARTEFACTS if ARTEFACTS[key]["form"] == "table"], ids="/".join)
def test_every_table_can_be_read(page, key):
    file = PROJECT / file_of(key)
    page.goto(file.as_uri())
    shown = page.evaluate(SEEN)
    assert shown["rows"] >= len(rows_of(file.with_suffix(".csv"))) > 0
    assert re.search(r"\d", shown["text"]) and not NO_NUMBER.search(shown["text"])
    assert not shown["clipped"]
    for part in ("title", "caption"):
        assert ARTEFACTS[key][part] in shown["text"]


def test_the_watch_sees_errors_and_requests(watched, tmp_path):
    """Otherwise the test before this one could not fail."""
    file = tmp_path / "bad.html"
    file.write_text("<script>console.error('so'); fetch('http://localhost:9/x'); nothing.at.all</script>bad")
    watched.page.goto(file.as_uri())
    said = " ".join(watched.complaints)
    assert "so" in said and "nothing is not defined" in said
    assert watched.requests == ["http://localhost:9/x"]
