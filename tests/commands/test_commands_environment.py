"""The conda environment of the rules: its versions are those of the lock, and jobs run in it if asked."""

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, requires

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import ran
from svmrepro.workflow.configuration import config_dir

ROOT = config_dir().parent
FILE = ROOT / "workflow" / "envs" / "svmrepro.yaml"

#: Stands for conda: its environment has the Python of the tests, which tells that it was called.
CONDA = """#!/bin/sh
case "$*" in
"info --json") echo '{"conda_prefix": "'"$PREFIX"'", "platform": "linux-64"}' ;;
"clean "*) ;;
--version) echo "conda 25.1.0" ;;
config*) echo '{"get": {"channel_priority": "strict"}}' ;;
"env create"*)
    for word in "$@"; do place=$word; done
    mkdir -p "$place/bin" "$place/conda-meta"
    cp "$PREFIX/python" "$place/bin" ;;
*) echo "conda: $*" >&2; exit 2 ;;
esac
"""


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


def test_the_rules_run_in_it_if_asked(tmp_path):
    folder = tmp_path / "conda" / "bin"
    folder.mkdir(parents=True)
    (folder / "conda").write_text(CONDA)
    (folder / "conda").chmod(0o755)
    called = tmp_path / "conda" / "called"
    (tmp_path / "conda" / "python").write_text(
        f'#!/bin/sh\necho called >>{called}\nexec {sys.executable} "$@"\n'
    )
    (tmp_path / "conda" / "python").chmod(0o755)
    (folder / "activate").write_text('PATH="$1/bin:$PATH"\n')
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SVMREPRO_")}
    path = os.pathsep.join([str(folder), kept["PATH"]])
    words = ["data/available/noise.json", "--snakefile", ROOT / "Snakefile", "--config", "scale=smoke"]
    options = ["--workflow-profile", "none", "--cores", "1", "--printshellcmds", "--quiet", "host"]
    command = [sys.executable, "-m", "snakemake", *words, *options, "--software-deployment-method", "conda"]
    ended = ran(*command, cwd=tmp_path, env={**kept, "PATH": path, "PREFIX": str(tmp_path / "conda")})
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-3000:]
    assert f" python {ROOT}/workflow/from_source.py generate --config " in said, said
    assert called.read_text().splitlines() == ["called"]


def test_lint_has_no_finding(tmp_path):
    command = [sys.executable, "-m", "snakemake", "--lint", "--snakefile", ROOT / "Snakefile"]
    ended = ran(*command, "--workflow-profile", "none", cwd=tmp_path)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "your workflow is in a good condition" in said, said[-3000:]
