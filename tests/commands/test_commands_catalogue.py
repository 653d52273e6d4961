"""Standardised usage: from a clone without an installed package, and as a module of another workflow."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from forked import forked
from snakemake.cli import main as snakemake_main
from snakemake.sourcecache import GithubFile
from support import ran
from svmrepro.workflow import from_source
from svmrepro.workflow.configuration import ROOT
from svmrepro.workflow.graph.snakemake_settings import layers_of, makes_files

#: Runs Snakemake as if the package were not installed.
WITHOUT = """
import sys
from pathlib import Path
for finders in (sys.meta_path, sys.path_hooks):
    finders[:] = [each for each in finders if "svmrepro" not in getattr(each, "__module__", "") + repr(each)]
sys.path[:] = [each for each in sys.path if "svmrepro" not in each]
import importlib.util
assert importlib.util.find_spec("svmrepro") is None
from snakemake.cli import main
main(sys.argv[1:])
"""

MODULE = """
configfile: "config/config.yaml"


module svmrepro:
    snakefile:
        "{snakefile}"
    config:
        config


use rule * from svmrepro
"""


def clean():
    """Return the environment without the project's variables."""
    return {key: value for key, value in os.environ.items() if not key.startswith("SVMREPRO_")}


def dry(folder, *words, installed=False):
    options = (
        "--dry-run",
        "--cores",
        "1",
        "--config",
        "scale=smoke",
        "--workflow-profile",
        "none",
        "--quiet",
        "host",
    )
    program = ["-m", "snakemake"] if installed else ["-c", WITHOUT]
    return ran(sys.executable, *program, *words, *options, cwd=folder, env=clean())


def deploy(folder, snakefile):
    """Write what snakedeploy writes: the configuration, and a workflow with this one as a module."""
    (folder / "workflow").mkdir(parents=True)
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "workflow" / "Snakefile").write_text(MODULE.format(snakefile=snakefile))


def test_a_clone_needs_no_installation(tmp_path):
    ended = dry(tmp_path, "noise-linear", "--snakefile", ROOT / "Snakefile", "--printshellcmds")
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-3000:]
    assert f"{ROOT}/workflow/from_source.py measure --config results/smoke/.config/" in said


def test_a_clone_without_an_installation_has_no_finding(tmp_path):
    for name in ("solvers", "datasets", "workflow", "config", "profiles"):
        shutil.copytree(ROOT / name, tmp_path / name)  # with bytecode, for speed
    shutil.copy(ROOT / "Snakefile", tmp_path)
    linted = ran(sys.executable, "-c", WITHOUT, "--lint", cwd=tmp_path, env=clean())
    said = linted.stdout + linted.stderr
    assert linted.returncode == 0 and "your workflow is in a good condition" in said, said[-3000:]


def test_a_module_with_renamed_rules_makes_its_own_report(tmp_path):
    deploy(tmp_path, f"{ROOT}/workflow/Snakefile")
    file = tmp_path / "workflow" / "Snakefile"
    file.write_text(file.read_text().replace("from svmrepro\n", "from svmrepro as svm_*\n"))
    words = ("svm_report", "--printshellcmds", "--config", "scale=smoke", "papers=[peers]")
    ended = dry(tmp_path, *words)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-3000:]
    # Beside its Snakefile there is no profile with a number of cores.
    assert "-m snakemake --cores 1 " in said and "/report.css svm_all >" in said


def test_a_module_with_a_prefix_is_refused(tmp_path):
    deploy(tmp_path, f"{ROOT}/workflow/Snakefile")
    file = tmp_path / "workflow" / "Snakefile"
    file.write_text(file.read_text().replace("\n\n\nuse", '\n    prefix: "sub"\n\n\nuse'))
    ended = forked(snakemake_main, tmp_path, ["--dry-run", "--workflow-profile", "none"], clean())
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: a module cannot have prefix or replace_prefix")


def test_a_fault_is_named_by_its_file(tmp_path):
    deploy(tmp_path, f"{ROOT}/workflow/Snakefile")
    file = tmp_path / "config" / "config.yaml"
    file.write_text(file.read_text() + "\nrepeets: 3\n")
    ended = dry(tmp_path, "noise-linear")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: config/config.yaml: ")
    assert "repeets" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "runs"),
    [([], True), (["--report", "x.html"], False), (["--report", "x.html", "--report-after-run"], True)],
)
def test_a_report_after_a_run_comes_with_its_jobs(words, runs):
    assert makes_files([*words, "platt1998"]) is runs


def test_settings_are_taken_apart_by_their_files(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("scale: smoke\ncontenders: {peers: {mine: {solver: smo2}, other: null}}\n")
    second.write_text("contenders: {peers: {mine: {solver: pasmo}}}\n")
    inner = {"mine": {"solver": "pasmo"}, "other": None}
    merged = {"scale": "smoke", "contenders": {"peers": inner}, "C": 1}
    one, two, rest = layers_of(merged, [str(first), str(second)])
    assert one[1] == {"scale": "smoke", "contenders": {"peers": {"other": None}}}
    assert two[1] == {"contenders": {"peers": {"mine": {"solver": "pasmo"}}}}
    assert rest == ("--config", {"C": 1})
    assert [Path(name).name for name, _ in (one, two)] == ["first.yaml", "second.yaml"]


def test_a_module_from_a_git_host_needs_the_installed_package(tmp_path):
    host, here = tmp_path / "host", tmp_path / "here"
    shutil.copytree(
        ROOT / "workflow", host / "workflow", ignore=shutil.ignore_patterns("__pycache__", "*.py")
    )
    shutil.copy(ROOT / "workflow" / "from_source.py", host / "workflow")
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org", "-C", host]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        made = ran(*git, *words)
        assert made.returncode == 0, made.stderr
    # Snakemake fetches such files one by one, as those of a release on a host.
    deploy(here, f"git+file://{host}/workflow/Snakefile@HEAD")
    refused = dry(here, "noise-linear")
    assert refused.returncode == 1
    package = f"git+file://{host}@HEAD"
    said = f"error: svmrepro is not installed here: `pip install {package}` installs it"
    assert refused.stderr.splitlines()[-1] == said
    hosted = GithubFile(repo="OWNER/svmrepro", path="workflow", tag="v1")
    assert from_source._for_pip(hosted) == "git+https://github.com/OWNER/svmrepro@v1"
    ended = dry(here, "noise-linear", "--printshellcmds", installed=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    said = ended.stdout + ended.stderr
    assert "-m svmrepro.workflow.steps.measure --config results/smoke/.config/" in said
    # Only the scale differs from the default values that the module is handed.
    assert "--paper platt1998 --experiment noise-linear --job all" in said
