"""What README.md says can be done, can be done."""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from docs_support import PROJECT, Tree, blocks, the_block
from svmrepro import datasets
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.graph.plan import RULES

REFERENCE = PROJECT / "results" / "reference"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# What ./run takes instead of targets.
COMMANDS = {"test", "sums", "docs", "python", "pytest", "ruff", "snakefmt"}


def run_lines(page: str) -> list[str]:
    """Return every ./run command of a page's shell blocks, save those about what the page itself adds."""
    lines = [line for block in blocks(page, "sh") for line in block.text.splitlines()]
    return [line for line in lines if "./run" in line and not re.search(r"mine|separable-gaussian", line)]


def test_first_of_all_two_commands() -> None:
    first = blocks("README.md")[0]
    assert first.text == "./run\n./run test\n"
    before = (PROJECT / "README.md").read_text().partition("```")[0]
    assert len([line for line in before.splitlines() if line]) == 2  # the title and one line


@pytest.mark.parametrize("line", [line for page in PAGES[:2] for line in run_lines(page)])
def test_commands_ask_for_what_there_is(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if words and words[0] in COMMANDS:
        return
    words = [word for word in words if word not in ("--list-target-rules", "--dry-run")]
    before, _, after = " ".join(words).partition("--config ")
    profile = re.search(r"--workflow-profile (\S+)", before)
    if profile is not None:
        assert (PROJECT / profile[1] / "config.yaml").is_file()
        before = before.replace(profile[0], "")
    targets = before.partition("--configfile")[0].split()
    settings = {
        key: yaml.safe_load(value) for key, _, value in (word.partition("=") for word in after.split())
    }
    paper = load_config(settings).papers["platt1998"]
    assert set(targets) <= {*RULES, "platt1998", *paper.experiments, *paper.artefacts}


def reference_claims(scale: str, paper: str) -> dict[str, dict[str, str]]:
    """Return every claim of a committed reference run."""
    path = REFERENCE / scale / paper / "claims.csv"
    with path.open(encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def numbers(text: str) -> list[str]:
    return re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))


def test_verdicts_are_those_of_the_reference_runs() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    counted = re.findall(
        r"^\| [\w ]+ ((?:\| \d+ ){5})\| \[.*\]\(results/reference/(\w+)/(\w+)/claims.md\) \|$", text, re.M
    )
    runs = {path.parent.parent.name + path.parent.name for path in REFERENCE.glob("*/*/claims.csv")}
    assert {scale + paper for _, scale, paper in counted} == {run for run in runs if "smoke" not in run}
    known: dict[str, dict[str, str]] = {}
    # The named sentences are of the largest scale there is: the paper's comes last.
    for counts, scale, paper in sorted(counted, key=lambda row: row[1]):
        claims = reference_claims(scale, paper)
        found = Counter(claim["verdict"] for claim in claims.values())
        kinds = ("holds", "does not hold", "not decided", "not measured here")
        assert [int(number) for number in numbers(counts)] == [len(claims), *(found[kind] for kind in kinds)]
        known |= {f"{paper} {name}": claim for name, claim in claims.items()}
    named = re.findall(r"^\| (\w+ \d{4}) \| .* \(`([\w.-]+)`\) \| ([\w ]+) \| (.*) \|$", text, re.M)
    assert len(named) > 12
    for paper, name, verdict, measured in named:
        claim = known[f"{paper.lower().replace(' ', '')} {name}"]
        assert claim["verdict"] == verdict, name
        # What stands before a colon is what the claim was judged by, rounded; behind it is why.
        there = [float(number) for number in numbers(claim["measured"])]
        for number in numbers(measured.partition(":")[0]):
            digit = 100.0 if number.endswith("00") else 10.0 ** -len(number.partition(".")[2])
            assert any(abs(float(number) - other) <= 0.5 * digit for other in there), (name, number)


def test_findings_are_of_the_committed_runs() -> None:
    text = (PROJECT / "FINDINGS.md").read_text(encoding="utf-8")
    named = re.findall(r"^## (\w+ \d{4}) \((\w+) scale, commit ([0-9a-f]{7,})\)$", text, re.M)
    assert [paper.lower().replace(" ", "") for paper, _, _ in named] == list(load_config().papers)
    for paper, scale, commit in named:
        claims = REFERENCE / scale / paper.lower().replace(" ", "") / "claims.md"
        made = re.findall(r"commit ([0-9a-f]+)", claims.read_text(encoding="utf-8").splitlines()[-1])
        assert made and made[0].startswith(commit), (paper, made)


def test_settings_in_a_file() -> None:
    (text,) = [block.text for block in blocks("README.md", "yaml") if "paper: mine" not in block.text]
    experiment = load_config(yaml.safe_load(text)).papers["platt1998"].experiments["adult-linear"]
    assert experiment.sizes == (1605, 3185)
    assert "smo-fixed-threshold" not in experiment.contenders
    assert experiment.contenders["smo"].options == {"step_tol": 1e-3}


def test_the_example_runs(tmp_path: Path) -> None:
    example = the_block("README.md", "python", "From Python")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\d+ non-bound and \d+ bound support vectors$", done.stdout, re.MULTILINE)
    assert "smo: sequential minimal optimisation" in done.stdout


def test_the_classifier_runs(tmp_path: Path) -> None:
    example = the_block("README.md", "python", "As a scikit-learn classifier")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^9\d\.\d% right, \d+ support vectors, \d+ steps$", done.stdout, re.MULTILINE)


def test_linear_problems_run(tmp_path: Path) -> None:
    example = the_block("README.md", "python", "Linear problems, ranks, and more data than memory")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\d+ passes, within \S+ of the optimum$", done.stdout, re.MULTILINE)
    assert re.search(r"^mean loss of a pair at most 0\.\d+;", done.stdout, re.MULTILINE)


def test_your_own_data(tmp_path: Path) -> None:
    section = "Your own data"
    tree = Tree(tmp_path)
    data = datasets.generate("twonorm", n=1000)
    datasets.write_libsvm(tree.root / "mine.libsvm", data.X, data.y)
    code = the_block("README.md", "python", section)
    tree.python("-c", f"from svmrepro import datasets\n{code}\nassert mine.X.shape == (1000, 20)")
    (tree.root / "config" / "experiments" / "mine.yaml").write_text(the_block("README.md", "yaml", section))
    (line,) = the_block("README.md", "sh", section).splitlines()
    out = tree.python("-m", "snakemake", "--dry-run", *shlex.split(line)[1:])
    for job in ("measure", "timing-mine", "loglog-mine"):
        assert f"\n{job} " in out


def test_tables_name_all_data_sets_and_papers() -> None:
    text = (PROJECT / "README.md").read_text()
    section = text.partition("## Data sets")[2].partition("\n## ")[0]
    known = {name for name in datasets.names() if not isinstance(datasets.describe(name), datasets.UserEntry)}
    assert set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == known
    section = text.partition("## Papers")[2].partition("\n## ")[0]
    assert set(re.findall(r"\| `([^`]+)` \|", section)) == set(load_config().papers)
    for name in known:
        if not datasets.is_generated(name):
            entry = datasets.describe(name)
            assert isinstance(entry, datasets.DownloadedEntry)
            assert f"| `{name}` | {entry.rows:,} x {entry.features}" in text


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (PROJECT / page).read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif "://" not in target and not target.startswith("figures/reference/"):
            assert (PROJECT / target).exists(), target


def test_the_pictures_are_there() -> None:
    targets = re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", (PROJECT / "README.md").read_text())
    assert sum(target.startswith("figures/reference/default/") for target in targets) == 3
    for target in targets:
        assert (PROJECT / target).read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_run_is_executable() -> None:
    assert os.access(PROJECT / "run", os.X_OK)
