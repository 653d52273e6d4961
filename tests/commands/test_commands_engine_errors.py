"""Errors of Snakemake, of real and dry runs: one line in our words that names the option or the file."""

from types import SimpleNamespace

import pytest
from commands_support import svmrepro, told
from svmrepro.workflow.running.engine_errors import explain, nearest_file

SCALING = "results/smoke/platt1998/scaling.md"
TYPO, NOWHERE = "results/smoke/platt1998/scalin.md", "results/smoke/platt1998/nosuch.md"
SIZE = "Resource 'mem' with value '(' could not be parsed as size in MB"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([TYPO], f"there is no target {TYPO}; did you mean '{SCALING}'?"),
        ([NOWHERE], f"there is no target {NOWHERE}; `./run --list-target-rules` lists the names"),
        ([NOWHERE, "--dry-run"],
         f"there is no target {NOWHERE}; `./run --list-target-rules` lists the names"),
        (["noise-linear", "--default-resources", "mem=("], f"--default-resources: {SIZE}"),
        (["noise-linear", "--set-resources", "measure:mem=("], f"--set-resources: {SIZE}"),
        (["noise-linear", "--set-threads", "measure=x", "--dry-run"],
         '--set-threads: "x" is not a number of threads'),
        (["noise-linear", "--set-threads", "measure=x"],
         '--set-threads: "x" is not a number of threads'),
        (["noise-linear", "--report-after-run"],
         "The option --report-after-run requires the --report option."),
    ],
)  # fmt: skip
def test_an_error_of_a_run_and_of_a_dry_run(tmp_path, words, expected):
    assert told(svmrepro(tmp_path, *words, "--scale", "smoke")) == f"error: {expected}"
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize("how", [[], ["--dry-run"]])
def test_a_file_to_wait_for_that_does_not_come(tmp_path, how):
    words = ["noise-linear", "--scale", "smoke", "--wait-for-files", "nosuch", "--latency-wait", "0"]
    ended = svmrepro(tmp_path, *words, *how)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("error: Missing files after 0 seconds")


def test_a_report_without_results_is_one_line(tmp_path):
    ended = svmrepro(tmp_path, "noise-linear", "--scale", "smoke", "--report", "x.html")
    assert ended.returncode == 1 and not (tmp_path / "x.html").exists()
    (line,) = [line for line in ended.stderr.splitlines() if "rror" in line]
    assert line.startswith("error: ")


def plainly(said, **options):
    plan = SimpleNamespace(files=lambda: [SCALING])
    options = {"set_resources": {}, "default_resources": None, **options}
    return explain(said, plan, SimpleNamespace(**options))


def test_what_snakemake_cannot_make():
    refused = "[Errno 13] Permission denied: 'data/available'"
    said = f"WorkflowError:\nFailed to create output directory data/available. PermissionError: {refused}"
    assert plainly(said) == "cannot write data/available: permission denied"
    full = (
        "([Errno 28] No space left on device). Please ensure write permissions for the directory a/.snakemake"
    )
    said = f"WorkflowError:\nError recording metadata for finished job {full}"
    assert plainly(said) == "cannot write into a/.snakemake: no space left on device"
    assert plainly(said.replace("a/", "my a/")).startswith("cannot write into my a/.snakemake: ")
    said = f"WorkflowError:\nFailed to create output directory my data/a. PermissionError: {refused}"
    assert plainly(said) == "cannot write my data/a: permission denied"
    said = (
        "Missing input files for rule tabulate:\n    affected files:\n        my results/a.csv\n        b.csv"
    )
    assert plainly(said) == "my results/a.csv is missing, which tabulate needs"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("results/smoke/a/scalin.md", "results/smoke/a/scaling.md"),
        ("results/smoke/a/scaling.mdd", "results/smoke/a/scaling.md"),
        # The same name in another folder, the most similar one first; a similar name in another folder.
        ("results/smok/b/scaling.md", "results/smoke/b/scaling.md"),
        ("claim.csv", "results/smoke/b/claims.csv"),
        # A common folder makes no name similar.
        ("results/smoke/a/nosuch.md", None),
    ],
)
def test_the_nearest_file(name, expected):
    known = [f"results/smoke/{paper}/{file}" for paper in "ab" for file in ("scaling.md", "claims.csv")]
    assert nearest_file(name, known) == expected
