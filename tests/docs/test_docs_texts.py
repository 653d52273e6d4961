"""Texts have no number that the reference runs or the papers do not have."""

import re

import pytest
from docs_support import PROJECT, text_of
from sitekit.numbers import WIDTH, Numbers, filled
from sitekit.root_texts import TEXTS, written
from sitekit.site_links import TextError
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.judgement.claims import HEADLINE, UNDECIDED, all_claims

#: What may have a digit in a template: names of papers, of their parts and of data sets.
NAMES = (
    r"\(Platt 1998, 1999\)|Platt\s199[89]|Glasmachers\s2008|Joachims\s2006|(Table|Figure|Algorithm|Lemma)\s\d"
    r"|Algorithms 3 and 5|chess-board-\d+|connect-4|mnist-8|L2-SVM|10\^-\d+|95 %"
)
#: What else may have one: what no table of results has.
TYPED = {
    # versions, sizes, years of publication
    "README.md": r"Python 3\.11 to 3\.13|4 GB|0\.9 GB|code is 0|MSR-TR-98-14, 1998|NIPS 11, 1999|, 2008$"
    r"|KDD 2006|266 MHz",
    # limits of a run that was measured in pieces
    "FINDINGS.md": r"within (5|15|40) s|40 s on AdultLin-options|5 s on MNIST|(100|600) s a run"
    r"|of 150 s to an hour|200 to 1,200 s on four sets|section 5",
    # the rules of that page, fixed beforehand, and what bounds are about
    "docs/planning-readings.md": r"103,680|0\.01\b|3\.5 %|±\d+|31,623"
    r"|1\.1 times|1; 1\.1|section 7\.3|most 20",
    # machines and limits
    "docs/article/index.md": r"24 GB|Covertype 1|100 s to\s+an hour",
    "docs/rules.md": r"sections? \d[\d. and]*|Table 1|Covertype 1|128 Megabytes|more than 4000",
}
#: Texts that are not about results: on data, and on reading any result.
OF_DATA = {"docs/data.md", "docs/read.md"}
NOT_PROSE = r"\{##.*?##\}|\{\{.*?\}\}|\{%.*?%\}|`[^`]*`|\]\([^)]*\)|docs/\S+|```.*?```"


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_those_of_the_reference_runs(text):
    assert text_of(text) == written(text), "./run texts writes it anew"


@pytest.mark.parametrize("text", [*sorted(set(TEXTS) - OF_DATA), "docs/article/index.md"])
def test_no_number_is_typed(text):
    names = f"{NAMES}|{TYPED[text]}" if text in TYPED else NAMES
    words = re.sub(names, "", text_of(TEXTS.get(text, text)), flags=re.MULTILINE)
    prose = re.sub(NOT_PROSE, "", words, flags=re.DOTALL)
    assert not re.findall(r".*\d.*", prose)


def test_no_filled_line_begins_with_a_minus():
    first = "x" * (WIDTH - 2)
    assert filled(f"{first} 1 - eta") == f"{first}\n1 - eta"


@pytest.fixture
def numbers(tmp_path):
    folder = tmp_path / "results" / "reference" / "default" / "paper"
    folder.mkdir(parents=True)
    (folder / "table.csv").write_text("set,n,seconds,reason\na,10,0.5,\na,20,1.25,\nb,10,,stopped\n")
    return Numbers(tmp_path)


@pytest.mark.parametrize(
    ("table", "column", "where", "message"),
    [
        ("default/paper/nothing", "n", {}, "there is no .*nothing.csv"),
        ("default/paper/table", "sceonds", {"n": 20}, "table.csv has no column 'sceonds'"),
        ("default/paper/table", "seconds", {"size": 20}, "table.csv has no column 'size'"),
        ("default/paper/table", "seconds", {"n": 10}, "table.csv has 2 rows where"),
        ("default/paper/table", "seconds", {"n": 30}, "table.csv has 0 rows where"),
        ("default/paper/table", "seconds", {"set": "b"}, "table.csv has nothing in 'seconds'"),
    ],
)
def test_a_number_that_is_not_there_is_an_error(numbers, table, column, where, message):
    with pytest.raises(TextError, match=message):
        numbers.cell(table, column, **where)


def test_counts_of_verdicts_are_those_of_the_reference_runs():
    link = r"\[.*\]\(results/reference/(\w+/\w+)/claims.md\)"
    rows = re.findall(rf"^\| {link} ((?:\| \d+ ){{8}})\|$", text_of("README.md"), re.M)
    counted = {run: [int(count) for count in re.findall(r"\d+", counts)] for run, counts in rows}
    folder = PROJECT / "results" / "reference"
    papers = load_config().papers  # of others only the abstract was at hand
    runs = {file.parent.relative_to(folder).as_posix() for file in folder.glob("*/*/claims.csv")}
    assert set(counted) == {
        run for run in runs if not run.startswith("smoke/") and run.split("/")[1] in papers
    }
    for run, counts in counted.items():
        assert counts == list(Numbers(PROJECT).tally(run).values()), run


def test_noise_leaves_fewer_than_a_tenth_of_the_headlines_open():
    numbers, config = Numbers(PROJECT), load_config()
    runs = [
        f"default/{paper}"
        for paper, claims in all_claims(config).items()
        if paper in config.papers and claims
    ]
    counts = [numbers.tally(run, HEADLINE) for run in runs]
    # More repeats would not decide those whose points lie on no line.
    by_noise = sum(count[UNDECIDED] for count in counts) - sum(numbers.bent(run, HEADLINE) for run in runs)
    headlines = sum(count["all"] for count in counts)
    assert headlines and by_noise < headlines / 10


def test_the_page_of_main_claims_has_every_headline():
    page = text_of(TEXTS["docs/verdicts.md"])
    headlines = [
        claim.id
        for claims in all_claims(load_config()).values()
        for claim in claims
        if claim.kind == HEADLINE
    ]
    assert [name for name in headlines if f'"{name}"' not in page] == []


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
