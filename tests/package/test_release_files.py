"""The release workflow and the forms for issues are what their services read."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parent.parent.parent
FORMS = sorted((PROJECT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def workflow():
    return yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_has_what_the_host_asks_for(form):
    read = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert read["name"] and read["description"]
    fields = [item for item in read["body"] if item["type"] != "markdown"]
    assert len({item["id"] for item in fields}) == len(fields)
    assert all(item["attributes"]["label"] for item in fields)
    assert any(item.get("validations", {}).get("required") for item in fields)


def test_only_publishing_may_ask_for_an_identity():
    jobs = workflow()["jobs"]
    allowed = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert allowed == {"publish"} and jobs["publish"]["environment"] == "release"
    assert workflow()["permissions"] == {"contents": "read"}
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


@pytest.mark.parametrize(("tag", "code"), [(f"v{VERSION}", 0), ("v99.0.0", 1)])
def test_the_tag_has_to_be_the_version(tag, code):
    (line,) = [
        step["run"] for step in workflow()["jobs"]["build"]["steps"] if "tomllib" in step.get("run", "")
    ]
    line = line.replace("$(python ", f"$({sys.executable} ")
    done = subprocess.run(["sh", "-c", line], cwd=PROJECT, env={"GITHUB_REF_NAME": tag}, check=False)
    assert done.returncode == code


def test_the_container_of_the_workflow_is_there():
    run = next(step["run"] for step in workflow()["jobs"]["container"]["steps"] if "run" in step)
    (file,) = re.findall(r"--file (\S+)", run)
    assert (PROJECT / file).is_file()
