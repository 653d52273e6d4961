"""Each deliberate fault in a copy of the solvers is noticed by the check or by the test suite."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml
from support import PROJECT, ran
from svmrepro.workflow.configuration import load_config
from svmrepro.workflow.judgement.reference_check import compare
from toy_runs import CONTENDERS

SCRIPT = Path(__file__).with_name("toy_runs.py")


@dataclass(frozen=True)
class Fault:
    """A deliberate fault; `faults.yaml` tells what the fields mean."""

    name: str
    module: str
    changes: list[dict[str, str]]
    contender: str = ""
    suite: str = ""
    experiment: str = ""


FAULTS = [Fault(**fault) for fault in yaml.safe_load(SCRIPT.with_name("faults.yaml").read_text())]


class Tree:
    """The three packages by their dotted names, found before the installed ones; the solvers are a copy."""

    def __init__(self, folder):
        self.folder = folder
        home = folder / "svmrepro"
        home.mkdir(parents=True)
        self.solvers = home / "solvers"
        # Including the bytecode, which stays valid because the files keep their times.
        shutil.copytree(PROJECT / "solvers", self.solvers)
        for floor in ("datasets", "workflow", "config"):
            (home / floor).symlink_to(PROJECT / floor)

    def inject(self, fault):
        """Apply a fault to the copy."""
        path = self.solvers / fault.module
        text = path.read_text(encoding="utf-8")
        for change in fault.changes:
            assert text.count(change["right"]) == 1, f"{fault.module} no longer has this once: {change}"
            text = text.replace(change["right"], change["wrong"])
        path.write_text(text, encoding="utf-8")

    def python(self, *arguments, compiled=False):
        """Run Python on the copy, with numba's compiler only if ``compiled``."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "NUMBA_DISABLE_JIT": str(int(not compiled)),
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
        }
        return ran(sys.executable, *arguments, cwd=PROJECT, env=environment, timeout=900)

    def check(self, paper, experiment):
        """Run the reproducibility check of the smoke scale on one experiment, compiled."""
        settings = {"scale": "smoke", "papers": [paper]}
        others = dict.fromkeys(load_config(settings).papers[paper].experiments)
        del others[experiment]
        file = self.folder / "settings.json"
        file.write_text(json.dumps({**settings, "experiments": {paper: others}}))
        engine = ("-m", "snakemake", "check", "--snakefile", str(PROJECT / "Snakefile"), "--cores", "1")
        place = ("--directory", str(self.folder), "--configfile", str(file))
        return self.python(*engine, *place, compiled=True)

    def runs(self, *contenders):
        """Solve the toy problems, up to one that fails; return an entry for each problem and contender."""
        done = self.python(str(SCRIPT), *contenders)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """Return a function that runs the unchanged source, once for each contender."""
    return cache(Tree(tmp_path_factory.mktemp("sound")).runs)


def verdict(before, after):
    """Compare by the check's rules for another machine, which are more lenient."""
    shared = {"papers": {}, "claims": {}}
    return compare({**shared, "rows": before}, {**shared, "rows": after})


def test_the_sound_source_reproduces_itself(sound, tmp_path):
    before = [*sound("smo2"), *sound("svmlight")]
    outcome = verdict(before, Tree(tmp_path / "again").runs("smo2", "svmlight"))
    assert outcome.rows == len(before) == 10 and not outcome.faults and not outcome.remarks


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_source_still_has_what_a_fault_changes(fault):
    text = (PROJECT / "solvers" / fault.module).read_text(encoding="utf-8")
    assert [text.count(change["right"]) for change in fault.changes] == [1] * len(fault.changes)


def one_of_each_family():
    """The faults that runs must show; all but the first of each family of solvers are marked as slow."""
    seen = {*CONTENDERS} - {"smo", "smo2", "svmlight", "svmperf"}
    found = []
    for fault in FAULTS:
        if fault.contender:
            marks = [pytest.mark.slow] if fault.contender in seen else []
            seen.add(fault.contender)
            found.append(pytest.param(fault, id=fault.name, marks=marks))
    return found


@pytest.mark.parametrize("fault", one_of_each_family())
def test_the_check_notices(fault, sound, tmp_path):
    tree = Tree(tmp_path / "faulty")
    tree.inject(fault)
    before, after = sound(fault.contender), tree.runs(fault.contender)
    assert {entry["status"] for entry in before} == {"optimal"}, before
    outcome = verdict(before[: len(after)], after)
    assert outcome.faults, f"nobody notices: {fault.name}"


def suite(tree, *tests):
    """Run some of the project's own tests on a copy."""
    return tree.python("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--noconftest", *tests)


def test_the_suite_passes_the_sound_source(tmp_path):
    done = suite(Tree(tmp_path / "sound"), *{fault.suite for fault in FAULTS if fault.suite})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.suite], ids=lambda fault: fault.name)
def test_the_suite_notices(fault, tmp_path):
    tree = Tree(tmp_path / "faulty")
    tree.inject(fault)
    done = suite(tree, fault.suite)
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("experiment", sorted({fault.experiment for fault in FAULTS} - {""}))
def test_the_whole_check_passes_the_sound_source(experiment, tmp_path):
    done = Tree(tmp_path / "sound").check(*experiment.split("/"))
    assert done.returncode == 0 and "FAULT" not in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.experiment], ids=lambda fault: fault.name
)
def test_the_whole_check_notices(fault, tmp_path):
    tree = Tree(tmp_path / "faulty")
    tree.inject(fault)
    done = tree.check(*fault.experiment.split("/"))
    assert done.returncode != 0 and "  FAULT: " in done.stdout, done.stdout + done.stderr
