"""Commands and examples of the pages work, their numbers match the reference runs, and links exist."""

import argparse
import re
import shlex
import sys
from importlib import import_module

import pytest
import yaml
from docs_support import PROJECT, Tree, blocks, run, text_of, the_block
from svmrepro import datasets
from svmrepro.workflow.commands import COMMANDS as SUBCOMMANDS
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.graph.targets import RULES
from svmrepro.workflow.running.selection import selected

PAGES = sorted(
    str(file.relative_to(PROJECT)) for folder in (PROJECT, PROJECT / "docs") for file in folder.glob("*.md")
)
# Arguments of ./run that are not targets.
COMMANDS = {"test", "sums", "docs", "python", "pip", "pytest", "ruff", "snakefmt"}
COMMAND_LINES = sorted(
    {
        line
        for page in PAGES
        for block in blocks(page, "sh")
        for line in block.splitlines()
        # Except names that the page itself adds.
        if "./run" in line and not re.search(r"mine|separable-gaussian", line)
    }
)


@pytest.mark.parametrize("page", PAGES)
def test_pages_that_are_read_plainly_show_no_expressions(page):
    text = re.sub(r"<!--.*?-->|```.*?```|`[^`]*`", "", text_of(page), flags=re.DOTALL)
    # Pages that consist of, or end with, a text of the root, which the expression names.
    assert set(re.findall(r"\{\{ \w+", text)) <= {"{{ whole", "{{ opening"}


def test_first_of_all_two_commands():
    main, test = blocks("README.md", "sh")[0].splitlines()
    assert main == "./run"
    assert text_of(".ci/run").splitlines()[-1] == test


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_commands_ask_for_what_there_is(line):
    words = shlex.split(line, comments=True)[1:]
    if words and words[0] in COMMANDS:
        return
    if words and words[0] in SUBCOMMANDS and words[0] not in RULES:
        parser = argparse.ArgumentParser()
        import_module(f"svmrepro.workflow.commands.{words[0]}").add_arguments(parser)
        parser.parse_args(words[1:])
        return
    words = [word for word in words if word not in ("--list-target-rules", "--dry-run")]
    if words[:1] == ["help"]:
        assert {*words[1:]} <= {*SUBCOMMANDS}
        return
    parser = argparse.ArgumentParser(allow_abbrev=False)
    import_module("svmrepro.workflow.commands.run").add_arguments(parser)
    given, words = parser.parse_known_args(words)
    chosen = selected([("--scale", {"scale": given.scale or "default"})], given.solver, given.dataset)
    assert load_config(chosen).papers
    before, _, after = " ".join(words).partition("--config ")
    profile = re.search(r"--workflow-profile (\S+)", before)
    if profile is not None:
        assert (PROJECT / profile[1] / "config.yaml").is_file()
        before = before.replace(profile[0], "")
    targets = before.partition("--configfile")[0].split()
    if targets[:1] == ["compare"]:  # the other run is no target
        targets = [word for word in targets if not ("/" in word or word.endswith(".zip"))]
    settings = {
        key: yaml.safe_load(value) for key, _, value in (word.partition("=") for word in after.split())
    }
    every = load_config(settings).papers
    paper = every["platt1998"]
    shared = {f"platt1998-{artefact}" for artefact in paper.artefacts}
    assert set(targets) <= {*RULES, *every, *paper.experiments, *paper.artefacts, *shared}


def test_settings_in_a_file():
    settings = yaml.safe_load(the_block("docs/run.md", "yaml", "Settings"))
    experiment = load_config(settings).papers["platt1998"].experiments["adult-linear"]
    assert experiment.sizes == (1605, 3185)
    assert "smo-fixed-threshold" not in experiment.contenders
    assert experiment.contenders["smo"].options == {"step_tol": 1e-3}


@pytest.mark.parametrize(
    ("page", "section", "printed"),
    [
        ("python", "Solving and certifying", r"^\d+ non-bound and \d+ bound support vectors$"),
        ("python", "A grid of C and gamma", r"^12 problems, \d+ steps$"),
        (
            "python",
            "Linear problems, ranks, and more data than memory",
            r"^\d+ sweeps, within \S+ of the optimum$",
        ),
        ("python", "The scikit-learn classifier", r"^9\d\.\d% correct, \d+ support vectors, \d+ steps$"),
        ("bench", "In a notebook", "LIBSVM, dense"),
        ("peers", "Conformance", ""),  # it asserts
    ],
)
def test_python_examples_run(page, section, printed, tmp_path):
    example = the_block(f"docs/{page}.md", "python", section)
    assert re.search(printed, run(sys.executable, "-c", example, cwd=tmp_path), re.M)


def test_your_own_data(tmp_path):
    page, tree = "docs/own-data.md", Tree(tmp_path)
    data = datasets.generate("twonorm", n=1000)
    datasets.write_libsvm(tree.root / "mine.libsvm", data.X, data.y)
    code = the_block(page, "python", "From Python")
    tree.check(f"from svmrepro import datasets\n{code}\nassert mine.X.shape == (1000, 20)")
    description = the_block(page, "yaml", "In the workflow")
    (tree.root / "config" / "experiments" / "mine.yaml").write_text(description)
    (line,) = the_block(page, "sh", "In the workflow").splitlines()
    words = shlex.split(line)[1:]
    out = tree.python("-m", "svmrepro.workflow.commands.main", *words, "--dry-run")
    for job in ("measure", "timing-mine", "loglog-mine"):
        assert f"\n{job} " in out


def anchors(page):
    """Return the anchors that code hosts give to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (PROJECT / page).parent / path if path else PROJECT / page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target
