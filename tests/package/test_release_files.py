"""The release workflow, its tag and what it calls; the weekly jobs of `ci.yml`; `.ci/run`."""

import argparse
import os
import re
import shlex
import shutil
import sys
import tomllib
from importlib import import_module

import pytest
import yaml
from report_browser import NAMES
from support import PROJECT, ran

VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WORKFLOW, CI = (
    yaml.safe_load((PROJECT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    for name in ("release.yml", "ci.yml")
)
JOBS = WORKFLOW["jobs"]
SCRIPTS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize(("tag", "code"), [(f"v{VERSION}", 0), ("v99.0.0", 1)])
def test_the_tag_has_to_be_the_version(tag, code):
    (line,) = [script for script in SCRIPTS if "tomllib" in script]
    line = line.replace("$(python ", f"$({sys.executable} ")
    assert ran("sh", "-c", line, cwd=PROJECT, env={"GITHUB_REF_NAME": tag}).returncode == code


def test_a_job_may_write_only_what_it_publishes():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    granted = {name: job.get("permissions", {}) for name, job in JOBS.items()}
    assert {name: {each for each in found if found[each] == "write"} for name, found in granted.items()} == {
        "build": set(),
        "container": {"packages"},
        "apptainer": set(),
        "publish": {"id-token"},
        "pages": {"pages", "id-token"},
        "release": {"contents"},
    }


def test_actions_of_others_are_pinned_by_their_hash():
    steps = [step for run in (WORKFLOW, CI) for job in run["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)


def test_what_is_published_has_been_made():
    assert set(JOBS["pages"]["needs"]) == {"build", "container", "apptainer"}
    # A version of the package index cannot be replaced: what may fail comes before.
    assert (JOBS["publish"]["needs"], JOBS["release"]["needs"]) == ("pages", "publish")
    steps = [step for job in JOBS.values() for step in job["steps"]]
    made = {step["with"]["name"] for step in steps if "upload-artifact" in step.get("uses", "")}
    assert made == {"dist", "run", "site", "apptainer"}
    (release,) = [script for script in SCRIPTS if "gh release create" in script]
    assert set(re.findall(r"made/([a-z]+)", release)) == made


@pytest.mark.parametrize("name", ["remake", "publish", "site"])
def test_the_commands_are_called_with_options_that_they_have(name):
    parser = argparse.ArgumentParser(exit_on_error=False)
    import_module(f"svmrepro.workflow.commands.{name}").add_arguments(parser)
    joined = "\n".join(SCRIPTS).replace("\\\n", " ")
    (call,) = re.findall(rf"\./run {name} (.*)", joined)
    parser.parse_args(shlex.split(call))


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_can_be_parsed(script):
    # What GitHub puts in place of its expressions is a word.
    text = re.sub(r"\$\{\{.*?\}\}", "word", script)
    assert ran("bash", "-n", "-c", text).returncode == 0


def test_the_name_of_the_image_has_no_capitals():
    (script,) = [script for script in SCRIPTS if "docker build" in script]
    told = f'{script.splitlines()[0]}\nprintf %s "$IMAGE"'
    own = {"GITHUB_REPOSITORY": "Some-One/SVMrepro", "GITHUB_REF_NAME": "v1.2.3"}
    assert ran("bash", "-c", told, env=own).stdout == "ghcr.io/some-one/svmrepro:v1.2.3"


def test_the_package_index_gets_absolute_links(tmp_path):
    shutil.copy(PROJECT / "README.md", tmp_path)
    (script,) = [script for script in SCRIPTS if "README.md" in script and "sed" in script]
    own = {"PATH": os.environ["PATH"], "GITHUB_REPOSITORY": "one/svmrepro", "GITHUB_REF_NAME": "v1.2.3"}
    assert ran("bash", "-c", script, cwd=tmp_path, env=own).returncode == 0
    before, now = (
        re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
        for folder in (PROJECT, tmp_path)
    )
    at = "https://github.com/one/svmrepro"
    places = {"!": f"{at}/raw/v1.2.3/", "": f"{at}/blob/v1.2.3/"}
    assert {kind for kind, _ in before} == set(places)
    assert now == [
        (kind, link if re.match("https?:|#", link) else places[kind] + link) for kind, link in before
    ]


def test_slow_tests_run_once_a_week():
    weekly = " ".join(CI["jobs"]["slow"]["strategy"]["matrix"]["tests"]).split()
    tests = PROJECT / "tests"
    slow = {
        f"tests/{file.relative_to(tests).parts[0]}"
        for file in tests.rglob("test_*.py")
        if re.search(r"mark\.slow\b(?!`)", file.read_text(encoding="utf-8"))
    }
    assert slow - {"tests/slurm"} <= set(weekly)
    assert all((PROJECT / folder).is_dir() for folder in weekly)
    # A push does not end them.
    assert "github.event_name" in CI["concurrency"]["group"]


def test_no_record_of_missing_data_is_cached():
    steps = [step for job in CI["jobs"].values() for step in job["steps"]]
    assert {step["with"]["path"] for step in steps if "actions/cache" in step.get("uses", "")} == {"data/raw"}


def test_whoever_runs_a_container_may_read_its_files():
    for name in ("Dockerfile", "svmrepro.def"):
        assert "chmod -R a+rX ." in (PROJECT / "containers" / name).read_text(encoding="utf-8")


def test_the_containers_have_one_base_pinned_by_its_digest():
    pin = re.compile(r"^(?:FROM|From:) python\S*@(sha256:[0-9a-f]{64})$", re.MULTILINE)
    files = [PROJECT / "containers" / name for name in ("Dockerfile", "svmrepro.def")]
    dockerfile, apptainer = (pin.findall(file.read_text(encoding="utf-8")) for file in files)
    assert len(dockerfile) == 1 and dockerfile == apptainer


def test_the_containers_are_made_by_the_same_commands():
    files = [PROJECT / "containers" / name for name in ("Dockerfile", "svmrepro.def")]
    dockerfile, apptainer = (re.findall(r"\./run \w+[^&\\\n]*\b", each.read_text("utf-8")) for each in files)
    # The first run in an image finds everything compiled.
    assert dockerfile == apptainer and "./run bench" in dockerfile


def test_no_history_and_no_token_is_published():
    ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    recipe = (PROJECT / "containers" / "svmrepro.def").read_text(encoding="utf-8")
    assert ".git" in ignored and re.search(r"^ *rm -rf .*\.git\b", recipe, re.MULTILINE)
    steps = [step for job in JOBS.values() for step in job["steps"]]
    checkouts = [step["with"] for step in steps if "actions/checkout" in step.get("uses", "")]
    assert checkouts and not any(each["persist-credentials"] for each in checkouts)


def test_a_system_without_a_browser_and_without_apt_is_told(tmp_path):
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    ended = ran(shutil.which("bash"), PROJECT / ".ci" / "run", env={"PATH": str(tmp_path)})
    assert ended.returncode == 1 and ended.stderr.startswith("no browser to look at the report: ")
    # The names are those that the tests look for.
    assert ended.stderr.endswith(f": {' '.join(NAMES)}\n")


def test_words_are_run_where_there_is_a_browser(tmp_path):
    programs, clone = tmp_path / "programs", tmp_path / "clone"
    programs.mkdir()
    (programs / "dirname").symlink_to(shutil.which("dirname"))
    shutil.copytree(PROJECT / ".ci", clone / ".ci")
    for program, text in ((programs / NAMES[-1], ""), (clone / "run", 'printf "%s|" "$@"')):
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(0o755)
    for words, expected in (((), "test|"), (("pytest", "-m", "a b"), "pytest|-m|a b|")):
        ended = ran(shutil.which("bash"), clone / ".ci" / "run", *words, env={"PATH": str(programs)})
        assert (ended.returncode, ended.stdout) == (0, expected), ended.stderr
