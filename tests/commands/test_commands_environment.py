"""The conda environment of the rules: its versions are those of the lock."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from svmrepro.workflow.configuration import ROOT

FILE = ROOT / "workflow" / "envs" / "svmrepro.yaml"


def pins():
    """Return the pinned versions of the environment by name."""
    entries = yaml.safe_load(FILE.read_text())["dependencies"]
    found = [Requirement(text) for each in entries if isinstance(each, dict) for text in each["pip"]]
    assert all(re.fullmatch(r"==[^*,]+", str(each.specifier)) for each in found)
    return {canonicalize_name(each.name): str(each.specifier) for each in found}


def test_the_versions_are_those_of_the_lock():
    locked = re.findall(r"^(\S+)(==[^ ;\\]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert set(pins().items()) <= {(canonicalize_name(name), version) for name, version in locked}


def test_all_that_the_packages_need_is_there():
    found = pins()
    lacking, asked = set(), ["svmrepro", *found]
    for name in asked:
        try:
            needed = map(Requirement, requires(name) or ())
        except PackageNotFoundError:  # for another version of Python, or another system
            continue
        lacking |= {
            canonicalize_name(each.name)
            for each in needed
            if each.marker is None or each.marker.evaluate({"extra": "", "python_version": "3.13"})
        } - set(found)
    # Python 3.13 has these itself, or gets them from conda.
    assert lacking <= {"setuptools", "pip"}


def test_the_least_snakemake_has_loggers_and_is_that_of_the_snakefile():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = {each.name: each.specifier for each in map(Requirement, declared)}
    (least,) = re.findall(r'min_version\("(.*)"\)', (ROOT / "workflow" / "Snakefile").read_text())
    assert str(needed["snakemake"]) == f">={least}" and "8.30.0" not in needed["snakemake"]
    assert "snakemake-interface-logger-plugins" in needed
