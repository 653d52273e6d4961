"""The site in a browser, from disk: no errors, no network, both widths and themes."""

import csv
import io
import json
import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from report_browser import Watched, chromium
from site_support import EXPERIMENT, PAPER
from support import PROJECT
from svmrepro.workflow.analysis.tidy import to_csv
from svmrepro.workflow.result_files.parquet import read_parquet, write_parquet
from svmrepro.workflow.site.pages import write_site

# A page that a click opens may not be drawn yet, and a busy machine takes its time.
expect.set_options(timeout=20_000)

HERE = f"smoke/{PAPER}"
PAGES = {
    "runs": "index.html",
    "history": "history.html",
    "pairs": "compare.html",
    "steps": "graph.html",
    "glossary": "glossary.html",
    "run": "smoke/index.html",
    "machine": "smoke/machine.html",
    "measured": "smoke/solvers_and_data.html",
    "paper": f"{HERE}/index.html",
    "claim": f"{HERE}/claims/smo-faster.html",
    "table": f"{HERE}/tables/timing-adult-linear.html",
    "figure": f"{HERE}/figures/loglog-adult-linear.html",
    "map": f"{HERE}/figures/loglog-adult-gaussian.html",
    "path": "reference-smoke/glasmachers2008/figures/two-steps.html",
    "notes": f"{HERE}/figures/notes.html",
    "picture": f"{HERE}/figures/overview.html",
    "experiment": f"{HERE}/experiments/{EXPERIMENT}.html",
    "two runs": "compare/reference-smoke--smoke.html",
    "committed": "reference-smoke/platt1998/index.html",
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def opened(browser, **options):
    watched = Watched(browser, ("error", "warning"), **options)
    watched.page.set_default_timeout(20_000)
    return watched


@pytest.fixture
def page(browser, site):
    watched = opened(browser, base_url=f"{site.as_uri()}/", viewport={"width": 1280, "height": 900})
    yield watched.page
    watched.finish()


#: Width and theme: the first as a page is opened, the second as it is changed to.
NARROW, WIDE = (360, "dark"), (1280, "light")
#: Takes away every row with the elements and classes of another; whether it can be read is the same.
LIKE_ROWS = """() => {
    const seen = new Set();
    for (const row of document.querySelectorAll("tbody tr")) {
        const text = />[^<]+</g, values = / (id|href|title|data-[a-z-]+)="[^"]*"/g;
        const like = row.outerHTML.replace(text, "><").replace(values, "");
        if (seen.has(like)) row.remove();
        seen.add(like);
    }
}"""


def test_every_kind_of_page(browser, site):
    look_at(browser, site, PAGES.values(), LIKE_ROWS)


@pytest.mark.slow
def test_the_largest_pages_of_the_paper_scale(browser, tmp_path):
    write_site([PROJECT / "results" / "reference" / "paper"], tmp_path)
    pages = sorted(tmp_path.rglob("*.html"), key=lambda page: page.stat().st_size)
    assert pages[-1].stat().st_size > 200_000
    look_at(browser, tmp_path, ["index.html", *pages[-8:]])


def look_at(browser, site, pages, shorten=""):
    """Look for what is too wide or serious to axe-core, errors and warnings, and the wrong colours."""
    watched = opened(browser)
    page = watched.page

    for name in pages:
        watched.show(*NARROW)
        page.goto((site / name).as_uri())
        assert page.title() and page.locator("h1").count() == 1, name
        for width, theme in (NARROW, WIDE):
            watched.show(width, theme)
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, f"{name}: {over} pixels too wide for {width}"
            body = expect(page.locator("body"), f"{name}: {theme}")
            has = body.to_have_css if theme == "light" else body.not_to_have_css
            has("background-color", "rgb(255, 255, 255)")
        page.evaluate(shorten)
        for screen in (WIDE, NARROW):
            watched.show(*screen)
            # Style sheets are not loaded again: a page from disk may not.
            options = {"preload": False, "resultTypes": ["violations"]}
            faults = Axe().run(page, options=options).response["violations"]
            serious = [each["id"] for each in faults if each["impact"] in ("serious", "critical")]
            assert not serious, f"{name}: {serious}"
    watched.finish()


def test_a_narrow_screen_that_is_touched(browser, site):
    watched = opened(browser, viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    watched.page.goto((site / PAGES["experiment"]).as_uri())
    expect(watched.page.locator(".main-svg").first).to_be_attached()
    assert not watched.page.locator(".modebar-btn").count(), "it would lie over points"
    cells = watched.page.locator(".dt-search, .dt-info")
    aligned = cells.evaluate_all("each => each.map((one) => getComputedStyle(one).textAlign)")
    assert set(aligned) == {"left"}
    watched.finish()


def test_from_a_claim_to_the_line_of_json(page, run):
    page.goto("index.html")
    page.get_by_role("link", name="Run, smoke scale").click()
    page.locator("article.card a").first.click()
    page.get_by_role("link", name="SMO is faster").click()
    expect(page.get_by_text("at least 2x")).to_be_visible()
    page.get_by_role("link", name=f"{EXPERIMENT}, n = 400").click()
    rows = page.locator("#records tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("SMO")
    button = rows.first.get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    place = dialog.locator("h2").inner_text()
    name, _, number = place.partition(":")
    line = (run / name).read_text().splitlines()[int(number) - 1]
    assert json.loads(dialog.locator("pre").inner_text()) == json.loads(line)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()
    page.get_by_role("button", name="Show all measurements").click()
    expect(rows).to_have_count(4)


def test_a_copied_address_shows_the_same_rows(page):
    page.goto(PAGES["experiment"])
    rows = page.locator("#records tbody tr")
    expect(rows).to_have_count(4)
    page.get_by_role("searchbox").first.fill("chunking")
    expect(rows).to_have_count(2)
    seconds = page.get_by_role("columnheader", name="CPU seconds").first
    seconds.get_by_role("button", name="CPU seconds").first.press("Enter")
    page.wait_for_function("location.hash.includes('order')")
    shown = rows.all_inner_texts()
    page.reload()
    expect(rows).to_have_count(2)
    assert rows.all_inner_texts() == shown and "filter=chunking" in page.url
    page.get_by_role("searchbox").first.fill("")
    expect(rows).to_have_count(4)
    page.wait_for_function("!location.hash.includes('filter')")


def test_a_filter_of_a_column_stands_in_the_address(page):
    page.goto(PAGES["experiment"])
    rows = page.locator("#records tbody tr")
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Filter: CPU seconds").first.click()
    page.get_by_role("combobox").last.select_option("greater")
    page.locator(".dtcc-dropdown input").first.fill("0")
    page.wait_for_function("/column\\d+=num%3Agreater%3A0/.test(location.hash)")
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").first.fill("chunking")
    page.wait_for_function("location.hash.includes('filter=chunking')")
    page.reload()
    expect(rows).to_have_count(2)
    assert "greater" in page.url
    address = page.url.replace("greater", "less").replace("filter=chunking&", "")
    page.evaluate("address => { location.href = address; }", address)  # on the same page
    expect(page.get_by_text("no row fits")).to_be_visible()
    assert "column" in page.url


def test_a_small_table_shows_the_filter_of_its_address(page):
    page.goto(PAGES["table"])
    rows, box = page.locator("table.data").first.locator("tbody tr"), page.get_by_role("searchbox")
    expect(rows).to_have_count(2)
    expect(box).to_have_count(0)
    page.goto(f"{PAGES['table']}#filter=1%2C605")
    expect(rows).to_have_count(1)
    expect(box).to_have_value("1,605")
    box.fill("")
    expect(rows).to_have_count(2)
    page.goto(f"{PAGES['table']}#values4=holds")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("button", name="Filter: verdict")).to_be_visible()


def test_a_number_is_filtered_by_what_its_cell_is_sorted_by(page, site):
    rows = page.locator("table.data").first.locator("tbody tr")
    page.goto(f"{PAGES['table']}#column2=num:greater:0.01")  # of a cell with an interval
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("0.01 … 0.03")
    page.goto(f"{PAGES['table']}#column2=num:empty:")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("needs more than 128 MB")
    source = (site / PAGES["table"]).read_text(encoding="utf-8")
    negative = (site / PAGES["table"]).with_name("negative.html")
    below = source.replace('data-order="0.02">0.02', 'data-order="-1.1">\N{MINUS SIGN}1.1 %')
    negative.write_text(below, encoding="utf-8")
    page.goto(f"{HERE}/tables/negative.html#column2=num:less:0")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("1.1 %")


def test_a_figure_zooms_and_keeps_the_numbers_of_a_mark(page):
    page.goto(PAGES["figure"])
    plot = page.locator("#panels .plot").first
    area = plot.locator(".nsewdrag").first
    area.wait_for()
    box = area.bounding_box()
    width = "plot => plot._fullLayout.xaxis.range[1] - plot._fullLayout.xaxis.range[0]"
    whole = plot.evaluate(width)

    def point_at(share):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"], steps=5)

    point_at(0.3)
    page.mouse.down()
    point_at(0.7)
    page.mouse.up()
    handle = plot.element_handle()
    page.wait_for_function(f"([plot, whole]) => ({width})(plot) < 0.6 * whole", arg=[handle, whole])
    assert plot.evaluate(width) == pytest.approx(0.4 * whole, rel=0.05)
    area.dblclick()
    page.wait_for_function(f"([plot, whole]) => ({width})(plot) > 0.99 * whole", arg=[handle, whole])

    mark = plot.locator(".scatterlayer .point").first.bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2, steps=5)
    expect(plot.locator(".hoverlayer .hovertext")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    page.locator("#point").get_by_role("link", name="its measurements").click()
    expect(page.locator("#records tbody tr").first).to_be_visible()


def test_a_cell_of_a_map_says_what_it_is_of(page):
    page.goto(PAGES["map"])
    plot = page.locator("#panels .plot").first
    cells = plot.locator(".barlayer .point")
    expect(cells).to_have_count(5)
    cell = cells.nth(2).bounding_box()
    page.mouse.move(cell["x"] + cell["width"] / 3, cell["y"] + cell["height"] / 3, steps=5)
    said = "gamma 0.125, C 100: 4"
    expect(plot.locator(".hoverlayer .hovertext")).to_contain_text(said)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#point")).to_contain_text(f"Adult, seconds · {said}")
    page.get_by_text("All numbers of this figure").click()
    tables = page.locator("#numbers table")
    expect(tables).to_have_count(2)
    expect(tables.first.locator("tbody tr").first).to_contain_text("cell")
    expect(tables.first.get_by_role("columnheader", name="value")).to_be_visible()


def test_a_mark_on_a_path_over_level_sets_is_named(page):
    page.goto(PAGES["path"])
    plot = page.locator("#panels .plot").last
    mark = plot.locator(".scatterlayer .point").first.bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2, steps=5)
    expect(plot.locator(".hoverlayer .hovertext")).to_contain_text("after each iteration")
    per_unit = plot.evaluate("""({_fullLayout: {xaxis, yaxis}}) => [xaxis, yaxis].map(
        ({_length, range}) => _length / (range[1] - range[0]))""")
    assert per_unit[0] == pytest.approx(per_unit[1], rel=0.01)
    legend = page.get_by_role("list", name="Series")
    expect(legend).to_contain_text("no gain left for working set {1, 3}")


def test_notes_dashes_and_the_whole_legend_of_a_figure_are_shown(page):
    page.goto(PAGES["notes"])
    left, right = page.locator("#panels .plot").all()
    expect(left.locator(".annotation")).to_contain_text("44 % planned")
    expect(right.locator(".annotation")).to_contain_text("21.8")
    lines = right.locator(".scatterlayer .js-line").all()
    dashes = {style.partition("stroke-dasharray: ")[2].partition(";")[0] for style in styles_of(lines)}
    assert len(dashes - {""}) == 4, "the looks differ by their dashes alone"
    legend = page.get_by_role("list", name="Series")
    for name in ("planned", "within 1 ± η", "Adult, the paper's", "below", "95 % interval"):
        expect(legend).to_contain_text(name)
    expect(page.locator("#below")).to_contain_text("Web: not run")
    expect(page.locator(".panel h2").last).to_contain_text("∝ n0.8")


def test_bars_and_named_rows_are_listed_and_all_rows_are_printed_on_white(browser, site):
    watched = opened(browser, base_url=f"{site.as_uri()}/", color_scheme="dark")
    page = watched.page
    page.goto("reference-smoke/platt1998/figures/exponents.html")
    page.get_by_text("All numbers of this figure").click()
    named = page.locator("#numbers tbody tr").filter(has_text="refitted").filter(has_text="mark").first
    expect(named).to_contain_text(re.compile("linear SVM|Gaussian SVM"))
    interval = named.locator("td").all_inner_texts()[-2:]
    assert all(re.fullmatch(r"\d\.\d+", end) for end in interval)
    page.goto("reference-smoke/glasmachers2008/figures/step-lengths.html")
    said = page.locator("#panels .plot").first.evaluate("plot => plot.data.at(-1).customdata[2]")
    assert re.fullmatch("−50.434 … −32.982: [\\d,]+", said)
    page.get_by_text("All numbers of this figure").click()
    rows = page.locator("#numbers tbody tr")
    expect(rows).to_have_count(50)
    expect(page.locator("html")).to_have_class("dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert rows.count() > 150
    expect(page.locator("html")).not_to_have_class("dark")
    expect(page.locator("#numbers .scroll")).to_have_css("overflow-x", "visible")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(rows).to_have_count(50)
    expect(page.locator("html")).to_have_class("dark")
    watched.finish()


def test_counts_have_all_digits_and_an_interval_without_width_is_not_said(page, site):
    source = (site / PAGES["figure"]).read_text(encoding="utf-8")
    data = re.search(r'(?s)<script id="figure-data" type="application/json">(.*?)</script>', source)[1]
    (panel,) = json.loads(data)
    first = panel["series"][0]
    first["x"][1], first["high"][1], first["low"][1] = 804414, first["y"][1], first["y"][1]
    name = (site / PAGES["figure"]).with_name("counts.html")
    name.write_text(source.replace(data, json.dumps([panel])), encoding="utf-8")
    page.goto(f"{HERE}/figures/counts.html")
    page.locator("#panels .main-svg").first.wait_for()
    said = page.locator("#panels .plot").evaluate("plot => plot.data[0].customdata")
    assert said == ["400, 1 [0.9 … 1.3]", "804,414, 2"]


def styles_of(lines):
    return [line.get_attribute("style") or "" for line in lines]


def test_flagged_runs_are_marked_and_an_axis_has_its_name(browser, page, tmp_path):
    paper = tmp_path / "results" / "smoke" / "joachims2006"
    paper.mkdir(parents=True)
    committed = PROJECT / "results" / "reference" / "smoke" / paper.name
    shutil.copy(committed / "claims.csv", paper)
    measured = read_parquet(committed / "measurements.parquet")
    rows = list(csv.DictReader(io.StringIO(measured)))
    flagged = [{**row, "flagged": str(row["experiment"] == "rcv1-like-C").lower()} for row in rows]
    write_parquet(to_csv(flagged), paper / "measurements.parquet")
    write_site([paper.parent], tmp_path / "site")
    watched = opened(browser)
    watched.page.goto((tmp_path / "site/smoke/joachims2006/experiments/rcv1-like-C.html").as_uri())
    expect(watched.page.get_by_text("Crossed marks are flagged runs")).to_be_visible()
    expect(watched.page.locator("#plot .legend")).to_contain_text("flagged for other load")
    expect(watched.page.locator("#plot .xtitle")).to_contain_text("C (n times")
    expect(watched.page.get_by_role("button", name="Filter: C", exact=True).first).to_be_visible()
    expect(watched.page.get_by_text("fitted power laws")).to_have_count(0)
    watched.finish()
    page.goto(PAGES["experiment"])
    expect(page.locator("#plot .legend")).not_to_contain_text("flagged")


def test_the_pages_of_each_table_are_a_landmark_of_its_own(page, site):
    head, start, rest = (site / PAGES["history"]).read_text().partition("<table ")
    table, end, foot = rest.partition("</table>")
    body = re.search("(?s)<tbody>(.+)</tbody>", table)[1]
    first = start + table.replace(body, body * (1 + 150 // body.count("<tr>"))) + end
    second = re.sub('aria-label="[^"]+"', 'aria-label="Again"', first)
    (site / "long.html").write_text(head + first + second + foot)
    page.goto("long.html")
    for label in ("Verdicts on each claim in all runs", "Again"):
        expect(page.get_by_role("navigation", name=f"Pages: {label}")).to_have_count(1)


def test_tables_are_there_without_scripts(browser, site):
    watched = opened(browser, java_script_enabled=False)
    watched.page.goto((site / PAGES["claim"]).as_uri())
    expect(watched.page.get_by_text("90.0 … 110")).to_be_visible()
    watched.page.goto((site / PAGES["figure"]).as_uri())
    expect(watched.page.locator("noscript img")).to_be_visible()
    watched.page.goto((site / PAGES["experiment"]).as_uri())
    expect(watched.page.locator("noscript p")).to_be_visible()
    watched.finish()
