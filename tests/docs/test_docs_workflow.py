"""The file for GitHub Actions asks for what there is."""

from __future__ import annotations

import re
import shlex
import tomllib

import yaml
from docs_support import PROJECT
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.graph.plan import RULES

TEXT = (PROJECT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_two_pythons_run_all_of_ci() -> None:
    assert commands("tests") == [".ci/run"] and (PROJECT / ".ci" / "run").is_file()
    versions = JOBS["tests"]["strategy"]["matrix"]["python"]
    lowest = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["requires-python"]
    (newest,) = re.findall(r"The lock was made for 3\.11 to (3\.\d+)", (PROJECT / "run").read_text())
    assert [f">={versions[0]}", versions[1]] == [lowest, newest]


def test_the_job_to_copy_checks_and_compares() -> None:
    for command in commands("reproducibility"):
        run, target, option, *settings = shlex.split(command)
        assert (run, option) == ("./run", "--config") and target in RULES
        config = load_config(dict(setting.split("=") for setting in settings))
        assert config.scale == "smoke"
    assert [command.split()[1] for command in commands("reproducibility")] == ["check", "compare"]
    assert config.against is not None and (PROJECT / config.against / "check.json").is_file()


def test_no_job_runs_for_ever_or_may_write() -> None:
    assert all(job["timeout-minutes"] <= 60 for job in JOBS.values())
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    # Actions by their version, nothing by a host's name.
    used = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in used)
    assert "://" not in TEXT
