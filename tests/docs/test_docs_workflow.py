"""The GitHub Actions workflow refers only to existing things."""

import shlex
import tomllib

import yaml
from docs_support import PROJECT, text_of
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.graph.plan import RULES

TEXT = text_of(".github/workflows/ci.yml")
JOBS = yaml.safe_load(TEXT)["jobs"]
STEPS = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in JOBS.items()}


def test_two_pythons_run_all_of_ci():
    assert STEPS["tests"] == [".ci/run"]
    lowest, newest = JOBS["tests"]["strategy"]["matrix"]["python"]
    assert tomllib.loads(text_of("pyproject.toml"))["project"]["requires-python"] == f">={lowest}"
    assert f"The lock was made for {lowest} to {newest};" in text_of("run")


def test_the_job_to_copy_checks_and_compares():
    targets = []
    for command in STEPS["reproducibility"]:
        run, target, option, *settings = shlex.split(command)
        assert (run, option) == ("./run", "--config") and target in RULES
        config = load_config(dict(setting.split("=") for setting in settings))
        assert config.scale == "smoke"
        targets.append(target)
    assert targets == ["check", "compare"]
    assert config.against is not None and (PROJECT / config.against / "check.json").is_file()
