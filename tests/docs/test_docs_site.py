"""The documentation site builds without a warning, holds what it should, and can be read on any screen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from docs_support import PROJECT
from report_browser import Browser, find_browser
from sitekit.papers import PaperPage
from sitekit.parts import PartError, Texts
from sphinx.util.inventory import InventoryFile
from svmrepro import datasets, solvers
from svmrepro.workflow.configuration.model import load_config

DESKTOP, PHONE = 1280, 390
PAPERS = sorted(page.stem for page in (PROJECT / "docs" / "papers").glob("*.md"))
#: Of each kind of page one: colours are the same on the others.
ONE_OF_EACH = (
    "index",
    "read",
    "papers/platt1998",
    "papers/joachims2006",
    "api/solvers",
    "api/algorithms",
    "extend",
)


def lack(reason: str) -> None:
    """Skip, saying why; where a machine does it, nothing may be left out."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--builder", "html"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            *options,
            "--doctree-dir",
            folder / "doctrees",
            "docs",
            folder / "html",
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return folder / "html"


def pages(site: Path) -> list[str]:
    found = [file.relative_to(site).with_suffix("").as_posix() for file in site.rglob("*.html")]
    return sorted(name for name in found if not name.startswith(("_static", "_downloads")))


def text_of(site: Path, page: str) -> str:
    return unescape((site / f"{page}.html").read_text(encoding="utf-8"))


# -- what is on it ----------------------------------------------------------------------------------


def test_every_public_name_is_described(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    described = {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}
    wanted = {f"{package.__name__}.{name}" for package in (solvers, datasets) for name in package.__all__}
    assert wanted | {"svmrepro.solvers.SVMClassifier"} <= described
    modules = {f"svmrepro.solvers.{solver.module}" for solver in solvers.SOLVERS.values()}
    assert modules <= described


def test_every_paper_has_a_page() -> None:
    assert set(PAPERS) >= set(load_config().papers)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_shows_all_of_its_reference_run(site: Path, paper: str) -> None:
    shown = text_of(site, f"papers/{paper}")
    scale = re.search(r"reference run of the <strong>(\w+)</strong> scale", shown)
    folders = list((PROJECT / "results" / "reference").glob(f"*/{paper}"))
    assert bool(scale) == bool(folders)
    if scale is None:
        assert "No reference run is committed yet" in shown and "not measured here" in shown
        return
    results = PROJECT / "results" / "reference" / scale[1] / paper
    tables = [file for file in results.glob("*.html") if file.stem != "claims"]
    # The table of the claims is made anew, the others are the committed ones, cell by cell.
    for file in tables:
        rows = re.findall(r"<tr>.*?</tr>", unescape(file.read_text(encoding="utf-8")))
        assert rows and all(row in shown for row in rows), file
    figures = PROJECT / "figures" / "reference" / scale[1] / paper
    for image in figures.glob("*.png"):
        assert (site / "_images" / image.name).is_file(), image
    assert shown.count("<figure ") == len(list(figures.glob("*.png")))
    claims = (results / "claims.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(claims) == len(re.findall(r'<tr id="claim-', shown)) > 0
    assert all(f'id="claim-{line.split(",")[1]}"' in shown for line in claims)


def test_no_text_of_the_repository_is_left_out(site: Path) -> None:
    everything = re.sub("<[^>]+>", "", "\n".join(text_of(site, page) for page in pages(site)))
    for name in ("README.md", "CONTRIBUTING.md", "FINDINGS.md"):
        for line in (PROJECT / name).read_text(encoding="utf-8").splitlines():
            words = re.match(r"\w[\w ,]{30,}", line)
            assert words is None or words[0].rstrip() in everything, f"{name}: {line}"


# -- parts of texts ---------------------------------------------------------------------------------


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "data.csv").write_text("")
    (tmp_path / "README.md").write_text(
        "# Title\n\nFirst.\n\n## One\n\n"
        "To [the data](data.csv), [two](#two-words), [one](#one) and [a folder](docs).\n\n"
        "```sh\n## no heading [x](nowhere)\n```\n\n## Two words\n\nLast.\n"
    )
    (tmp_path / "docs" / "use.md").write_text('{{ part("README.md", "Two") }}')
    return Texts(tmp_path, tmp_path / "docs", "sub/page")


def test_a_part_is_a_section_with_links_that_lead_on(texts: Texts) -> None:
    one = texts.part("README.md", "One")
    assert (
        one.splitlines()[0]
        == "To [the data](../../data.csv), [two](../use.md), [one](../index.md#one) and a folder."
    )
    assert one.splitlines()[-2:] == ["## no heading [x](nowhere)", "```"]
    assert texts.part("README.md", "Two") == "Last."
    assert texts.opening("README.md").strip() == "First."
    assert "## One" in texts.rest("README.md") and "Last." not in texts.rest("README.md")
    assert {file.name for file in texts.read} == {"README.md"}


@pytest.mark.parametrize("heading", ["Three", ""])
def test_a_missing_or_doubtful_section_is_named(texts: Texts, heading: str) -> None:
    with pytest.raises(PartError, match=r"README\.md has (no section|2 sections) whose heading begins with"):
        texts.part("README.md", heading)


def test_a_link_that_leads_nowhere_is_named(texts: Texts) -> None:
    (texts.root / "CHANGELOG.md").write_text("See [it](gone.md).")
    with pytest.raises(PartError, match=r"CHANGELOG\.md leads to gone\.md, which does not exist"):
        texts.whole("CHANGELOG.md")


def test_a_paper_with_a_run_needs_its_findings(tmp_path: Path) -> None:
    for name in ("config", "results", "CITATION.cff"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / "FINDINGS.md").write_text("# None yet\n")
    page = PaperPage(Texts(tmp_path, tmp_path / "docs", "papers/platt1998"), "platt1998")
    with pytest.raises(
        PartError, match=r"FINDINGS\.md has no section whose heading begins with 'Platt 1998'"
    ):
        page.findings()


# -- in a browser -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    command = find_browser()
    if not command:
        lack("no browser (chromium) to open the site in")
    opened = Browser(str(command), tmp_path_factory.mktemp("profile"))
    try:
        yield opened
    finally:
        opened.close()


def show(browser: Browser, site: Path, page: str, width: int, colours: str = "light") -> None:
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.call("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    browser.call("Emulation.setEmulatedMedia", media)
    browser.open(site / f"{page}.html")
    browser.wait("document.readyState === 'complete'")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_no_page_is_wider_than_the_screen(browser: Browser, site: Path, width: int) -> None:
    scrolled = 0
    for page in pages(site):
        show(browser, site, page, width)
        found: dict[str, Any] = browser.run(
            """(() => {
                const all = document.documentElement;
                const images = [...document.images].filter(image => image.offsetWidth);
                return {
                    wide: [all.scrollWidth, all.clientWidth, window.innerWidth],
                    scrolling: [...document.querySelectorAll(".scroll, .table-wrapper, .highlight pre")]
                        .filter(box => box.scrollWidth > box.clientWidth)
                        .map(box => getComputedStyle(box).overflowX),
                    images: images.map(image => [image.naturalWidth, image.offsetWidth, image.src]),
                };
            })()"""
        )
        wide, client, window = found["wide"]
        assert client == window == width, page
        assert wide <= client, f"{page} is {wide} wide on {client}"
        assert set(found["scrolling"]) <= {"auto"}, f"{page}: something is cut off"
        scrolled += len(found["scrolling"])
        for natural, shown, source in found["images"]:
            assert natural > 0 and shown <= client, f"{page}: {source}"
    # Else nothing was wide enough to say anything.
    assert scrolled > 10


def test_the_menu_opens_on_a_phone(browser: Browser, site: Path) -> None:
    show(browser, site, "index", PHONE)
    link = "[...document.querySelectorAll('.sidebar-tree a')].find(a => a.innerText === 'How to read it')"
    on_screen = (
        f"(() => {{ const box = {link}.getBoundingClientRect(); return box.left >= 0 && box.right > 0 }})()"
    )
    assert browser.run(on_screen) is False
    browser.click("document.querySelector('label.nav-overlay-icon')")
    browser.wait(on_screen)
    browser.click(link)
    browser.wait("document.title.startsWith('How to read it')")


#: The least contrast of any text with what lies behind it, by the rules of WCAG 2, and that text.
CONTRAST = """(() => {
    const parse = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const colour = parse(getComputedStyle(e).backgroundColor);
            if (colour.length < 4 || colour[3] === 1) return light(colour);
        }
        return 1;
    };
    let least = [100, ""];
    const seen = new Set();
    for (const element of document.querySelectorAll("article *")) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !element.offsetHeight || element.closest("math, .headerlink")) continue;
        // Of elements alike, one.
        const alike = [element, element.parentElement, element.parentElement.parentElement]
            .map(each => each.tagName + each.className).join(" in ");
        if (seen.has(alike)) continue;
        seen.add(alike);
        const [a, b] = [light(parse(getComputedStyle(element).color)), behind(element)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < least[0]) least = [ratio, element.outerHTML.slice(0, 200)];
    }
    return [...least, behind(document.body)];
})()"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_text_stands_out(browser: Browser, site: Path, colours: str) -> None:
    for page in ONE_OF_EACH:
        show(browser, site, page, DESKTOP, colours)
        ratio, where, ground = browser.run(CONTRAST)
        assert (ground < 0.1) == (colours == "dark")
        assert ratio >= 3, f"{page}: {where}"


def test_nothing_complains_and_no_network_is_asked(browser: Browser) -> None:
    """Of all that the tests above did."""
    assert browser.complaints == []
    assert browser.requests == []
