"""The release workflow refuses a tag that is not the version."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parent.parent.parent
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.mark.parametrize(("tag", "code"), [(f"v{VERSION}", 0), ("v99.0.0", 1)])
def test_the_tag_has_to_be_the_version(tag, code):
    workflow = yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["build"]["steps"]
    (line,) = [step["run"] for step in steps if "tomllib" in step.get("run", "")]
    line = line.replace("$(python ", f"$({sys.executable} ")
    done = subprocess.run(["sh", "-c", line], cwd=PROJECT, env={"GITHUB_REF_NAME": tag}, check=False)
    assert done.returncode == code
