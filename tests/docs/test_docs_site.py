"""The documentation site builds without warnings, is complete, and is readable on any screen."""

import re
import shutil
import sys
from html import unescape
from pathlib import Path

import pytest
from docs_support import PROJECT, run
from report_browser import browsing
from sitekit.examples import Examples
from sitekit.main_findings import main_findings
from sitekit.papers import PaperPage
from sitekit.texts import TextError, Texts
from sphinx.util.inventory import InventoryFile
from svmrepro import datasets, solvers

PAPERS = sorted(page.stem for page in (PROJECT / "docs" / "papers").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--builder", "html"]
    options += ["--doctree-dir", folder / "doctrees"]
    run(sys.executable, "-m", "sphinx", *options, "docs", folder / "html", cwd=PROJECT)
    return folder / "html"


def test_every_public_name_is_described(site):
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    described = {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}
    public = {f"{package.__name__}.{name}" for package in (solvers, datasets) for name in package.__all__}
    modules = {f"svmrepro.solvers.{solver.module}" for solver in solvers.SOLVERS.values()}
    assert public | modules | {"svmrepro.solvers.SVMClassifier"} <= described


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_shows_all_of_its_reference_run(site, paper):
    shown = unescape((site / "papers" / f"{paper}.html").read_text(encoding="utf-8"))
    scale = re.search(r"reference run of the <strong>(\w+)</strong> scale", shown)
    if scale is None:
        assert not list((PROJECT / "results" / "reference").glob(f"*/{paper}"))
        return
    results, figures = (
        PROJECT / folder / "reference" / scale[1] / paper for folder in ("results", "figures")
    )
    # The table of claims is rendered for the site; the others equal the committed ones, cell by cell.
    for file in results.glob("*.html"):
        rows = re.findall(r"<tr>.*?</tr>", unescape(file.read_text(encoding="utf-8")))
        assert file.stem == "claims" or (rows and all(row in shown for row in rows)), file
    images = list(figures.glob("*.png"))
    assert all((site / "_images" / image.name).is_file() for image in images)
    assert shown.count("<figure ") == len(images)
    claims = (results / "claims.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert re.findall(r'<tr id="claim-([^"]+)', shown) == [line.split(",")[1] for line in claims]


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "use.md").touch()
    (tmp_path / "data.csv").touch()
    (tmp_path / "FINDINGS.md").write_text(
        "# Title\n\nFirst.\n\n## One\n\n"
        "To [the\ndata](data.csv), [use](docs/use.md#way), [the top](FINDINGS.md) and [a folder](docs).\n\n"
        "```sh\n[x](nowhere)\n```\n\n## Two words\n\nLast.\n"
    )
    return Texts(tmp_path / "docs", "sub/page")


def test_links_of_a_section_lead_on_from_its_page(texts):
    assert texts.opening("FINDINGS.md") == "First."
    assert texts.section("FINDINGS.md", "Two") == ("Two words", "Last.")
    text, fence = texts.section("FINDINGS.md", "One").body.split("\n\n")
    assert text == (
        "To [the\ndata](../../data.csv), [use](../use.md#way), [the top](../papers.md) and a folder."
    )
    assert fence == "```sh\n[x](nowhere)\n```"
    assert {file.name for file in texts.read} == {"FINDINGS.md"}


@pytest.mark.parametrize("heading", ["Three", ""])
def test_a_missing_or_ambiguous_section_is_named(texts, heading):
    with pytest.raises(TextError, match=r"FINDINGS\.md has (no section|2 sections) whose heading begins"):
        texts.section("FINDINGS.md", heading)


def test_a_link_that_leads_nowhere_is_named(texts):
    with pytest.raises(TextError, match=r"a link leads to gone\.md, which does not exist"):
        texts.linked("See [it](gone.md).", texts.folder)


def test_a_paper_needs_findings_as_soon_as_it_has_a_run(tmp_path):
    (tmp_path / "config").symlink_to(PROJECT / "config")
    (tmp_path / "FINDINGS.md").write_text("# None yet\n")
    texts = Texts(tmp_path / "docs", "papers/platt1998")
    page = PaperPage(texts, "platt1998")
    assert "No reference run is committed yet" in page.state()
    assert page.findings() == page.verdicts() == page.artefacts() == ""
    (tmp_path / "results").symlink_to(PROJECT / "results")
    with pytest.raises(TextError, match=r"FINDINGS\.md has no section .* 'Platt 1998'"):
        PaperPage(texts, "platt1998").findings()


@pytest.mark.parametrize(("raw", "said"), [(True, 0), (False, 1)])
def test_a_run_without_raw_measurements_is_said_to_be_of_its_time(tmp_path, raw, said):
    committed = PROJECT / "results" / "reference" / "paper"
    folder = tmp_path / "results" / "reference" / "paper" / "platt1998"
    shutil.copytree(committed / "platt1998", folder)
    shutil.copy(committed / "check.json", folder.parent)
    (tmp_path / "config").symlink_to(PROJECT / "config")
    if raw:
        (folder / "measurements.parquet").touch()
    state = PaperPage(Texts(tmp_path / "docs", "papers/platt1998"), "platt1998").state()
    assert state.count("raw measurements are not in the repository") == said


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_starts_with_three_findings(paper):
    lines = main_findings(Texts(PROJECT / "docs", f"papers/{paper}"), paper).splitlines()
    assert len(lines) == 3
    assert all(
        re.match(r"- \*(Holds|Does not hold|Not decided)[a-z -]*\*: .+; .+\.$", line) for line in lines
    )


def test_a_paper_without_main_claims_is_named(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "verdicts.md").write_text("| Platt 1998 | it (`x`) | holds | 1 | – |\n")
    with pytest.raises(TextError, match=r"has 1 claims of platt1998, not 3"):
        main_findings(Texts(tmp_path / "docs", "papers/platt1998"), "platt1998")


def test_examples_of_a_page_run_like_a_notebook(texts):
    page = "```python\nx = 3\n```\n\n```python\nprint(2 * x)\n```\n\n```python\nprint(1 / 0)\n```\n"
    examples = Examples(texts, page)
    assert examples.output(1) == "```text\n```" and examples.output(2) == "```text\n6\n```"
    with pytest.raises(TextError, match="Python block 3: ZeroDivisionError"):
        examples.output(3)
    with pytest.raises(TextError, match="3 Python blocks, no number 4"):
        examples.output(4)


def test_the_page_of_the_measurements_shows_what_its_examples_print(site):
    page = (site / "data.html").read_text(encoding="utf-8")
    assert (
        "peak_memory_bytes [bytes]: peak memory" in page and "config/experiments/&lt;paper&gt;.yaml" in page
    )


@pytest.fixture(scope="module")
def browser(site, tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_every_page_can_be_read(browser, site, width, colours):
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.call("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    browser.call("Emulation.setEmulatedMedia", media)
    scrolling = 0
    for page in sorted(file for file in site.rglob("*.html") if file.relative_to(site).parts[0][0] != "_"):
        browser.open(page)
        browser.wait("document.readyState === 'complete'")
        found = browser.run(LOOK)
        assert found["content"] <= found["window"] == width, page
        assert set(found["scrolling"]) <= {"auto"}, f"{page}: something is cut off"
        assert all(natural > 0 and shown <= width for natural, shown in found["images"]), page
        assert (found["ground"] < 0.1) == (colours == "dark"), page
        contrast, where = found["contrast"]
        assert contrast >= 3, f"{page}: {where}"
        scrolling += len(found["scrolling"])
    # Otherwise nothing was wide enough for the test to mean anything.
    assert scrolling > 10


def test_nothing_complains_and_no_network_is_asked(browser):
    """Fail on any browser complaint during the tests above."""
    assert browser.complaints == []
    assert browser.requests == []
