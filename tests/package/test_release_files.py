"""The release workflow: it refuses a tag that is not the version, and calls what is there; `.ci/run`."""

import argparse
import re
import shlex
import shutil
import sys
import tomllib
from importlib import import_module

import pytest
import yaml
from support import PROJECT, ran

VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WORKFLOW = yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
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


def test_what_is_published_has_been_made():
    assert set(JOBS["publish"]["needs"]) == {"build", "container", "apptainer"}
    assert JOBS["pages"]["needs"] == JOBS["release"]["needs"] == "publish"
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


def test_the_containers_have_one_base_pinned_by_its_digest():
    pin = re.compile(r"^(?:FROM|From:) python\S*@(sha256:[0-9a-f]{64})$", re.MULTILINE)
    files = [PROJECT / "containers" / name for name in ("Dockerfile", "svmrepro.def")]
    dockerfile, apptainer = (pin.findall(file.read_text(encoding="utf-8")) for file in files)
    assert len(dockerfile) == 1 and dockerfile == apptainer


def test_a_system_without_a_browser_and_without_apt_is_told(tmp_path):
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    ended = ran(shutil.which("bash"), PROJECT / ".ci" / "run", env={"PATH": str(tmp_path)})
    assert (ended.returncode, ended.stderr) == (1, "no browser: the report cannot be looked at\n")
