"""Solvers and data sets chosen by name: `svmrepro run -s SOLVER -d DATASET`."""

import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from commands_support import COMPILED, svmrepro
from svmrepro.workflow.configuration import ROOT, callers_folder, load_config
from svmrepro.workflow.configuration.settings import valid_name
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.fingerprints import solver_fingerprint
from svmrepro.workflow.joining.bench_settings import Bench, contenders_of
from svmrepro.workflow.running.selection import FOLDERS, selected

SMOKE = [("--scale", {"scale": "smoke"})]
OWN = "engine_solvers:quick"


def chosen(solvers=(), data=(), more=()):
    return load_config(selected([*SMOKE, *more], solvers, data))


def test_only_the_named_solvers_and_data_sets_are_left():
    config, whole = chosen(["smo", "svmlight"], ["adult"]), load_config(SMOKE)
    assert {each.dataset for each in config.experiments} == {"adult"}
    left = [contender for each in config.experiments for contender in each.contenders.values()]
    assert left and all({each.label, each.solver} & {"smo", "svmlight"} for each in left)
    asked = [each for each in whole.experiments if each.dataset == "adult"]
    before = {label for each in asked for label, found in each.contenders.items() if found.solver == "smo"}
    assert before <= {each.label for each in left}
    assert "glasmachers2008" not in config.papers
    assert config.results_dir.as_posix() == FOLDERS["results_dir"]


def test_a_solver_of_ones_own_joins_the_others():
    config, whole = chosen([OWN], ["noise"]), load_config(SMOKE)
    for each in config.experiments:
        of_all = whole.experiment(each.paper, each.name).contenders
        assert {found.solver for found in each.contenders.values()} == {
            OWN,
            *(found.solver for found in of_all.values()),
        }
    alone = chosen([OWN, "smo"], ["noise"]).experiments
    assert {found.solver for each in alone for found in each.contenders.values()} == {OWN, "smo"}


def test_a_solver_of_ones_own_may_have_any_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "_mine.py").write_text("def fit(problem, eps, time_limit): ...\n")
    for each in chosen(["_mine:fit"], ["noise"]).experiments:
        assert each.contenders["mine.fit"].solver == "_mine:fit"
    assert "mine.fit" in contenders_of(Bench(solvers=["_mine:fit"]))
    assert valid_name("__:_") == "own"
    (tmp_path / "mine.py").write_text("def fit(problem, eps, time_limit): ...\n")
    with pytest.raises(StepError, match="-s _mine:fit -s mine:fit: two of these would have the same name"):
        chosen(["_mine:fit", "mine:fit"], ["noise"])


def test_a_folder_that_is_set_is_kept():
    config = chosen(["smo"], ["noise"], [("--config", {"results_dir": "mine"})])
    assert config.results_dir.as_posix() == "mine" and config.figures_dir.as_posix() == FOLDERS["figures_dir"]


@pytest.mark.parametrize(
    ("solvers", "data", "said"),
    [
        (["smoo"], [], "-s: no experiment of the smoke scale has 'smoo'; did you mean 'smo'?"),
        ([], ["adlut"], "-d: no experiment of the smoke scale has 'adlut'; did you mean 'adult'?"),
        (["svmperf"], ["noise"], "-s svmperf -d noise: no experiment of the smoke scale has both"),
        (["nowhere.at:all"], [], "-s nowhere.at:all: there is no module 'nowhere' on the Python path"),
        (["engine_solvers.x:y"], [], "-s engine_solvers.x:y: there is no module 'engine_solvers.x' PLACE"),
        (["engine_solvers:quik"], [], "-s engine_solvers:quik: module 'engine_solvers' has no 'quik' PLACE"),
        (["a b:c"], [], "-s a b:c: 'a b:c' is not of the form package.module:function"),
    ],
)
def test_mistakes(solvers, data, said):
    with pytest.raises(StepError) as caught:
        chosen(solvers, data)
    # Another module of this name may be meant.
    assert str(caught.value) == said.replace("PLACE", f"(in {find_spec('engine_solvers').origin})")


def test_a_solver_is_looked_up_without_importing_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    inner = tmp_path / "slow_to_import" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("raise ImportError\n")
    (inner / "__init__.py").write_text("from .code import fit\n")
    (inner / "code.py").write_text("def fit(problem, eps, time_limit): ...\n")
    (inner / "all.py").write_text("from .code import *\n")
    for name in ("slow_to_import.inner:fit", "slow_to_import.inner.code:fit", "slow_to_import.inner.all:fit"):
        assert solver_fingerprint(name)
    before = solver_fingerprint("slow_to_import.inner:fit")
    (inner / "fast.abi3.so").write_bytes(b"compiled")
    solver_fingerprint.cache_clear()
    changed = solver_fingerprint("slow_to_import.inner:fit")
    assert changed != before
    (inner / ".#code.py").symlink_to("somebody@host.1234")  # an editor's lock
    solver_fingerprint.cache_clear()
    assert solver_fingerprint("slow_to_import.inner:fit") == changed
    for name, said in (
        ("inner:train", "module 'slow_to_import.inner' has no 'train'"),
        ("inner.cod:fit", "there is no module 'slow_to_import.inner.cod'"),
    ):
        with pytest.raises(StepError, match=rf"^{said} \(in {inner}/__init__.py\)$"):
            solver_fingerprint(f"slow_to_import.{name}")


def test_a_solver_is_looked_up_where_an_import_finds_it(tmp_path, monkeypatch):
    for folder, name in (("clone", "other"), ("callers", "fit")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "in_two_folders.py").write_text(f"def {name}(problem, eps, time_limit): ...\n")
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.syspath_prepend(tmp_path / "callers")
    assert solver_fingerprint("in_two_folders:fit")


def test_a_package_without_files_has_no_fingerprint(monkeypatch):
    # As an editable install by meson-python is found: its folder does not exist.
    package = ModuleSpec("editable", None, is_package=True)
    package.submodule_search_locations = [f"{__file__}/editable"]
    finder = SimpleNamespace(find_spec=lambda name, *_: package if name == "editable" else None)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    said = "the files of package 'editable' cannot be found; install it without --editable"
    with pytest.raises(StepError, match=f"^{said}$"):
        solver_fingerprint("editable:fit")


def test_on_the_command_line_with_a_solver_of_the_callers_folder(tmp_path):
    (tmp_path / "callers_own.py").write_text("from engine_solvers import quick as fit\n")
    words = ["run", "-s", "callers_own:fit", "-d", "noise", "--scale", "smoke", "--dry-run"]
    folders = ["--config", f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    ended = svmrepro(ROOT, *words, *folders, **{callers_folder.VARIABLE: str(tmp_path)})
    assert ended.returncode == 0, ended.stderr
    assert "loglog-noise-linear" in ended.stdout and "loglog-adult-linear" not in ended.stdout


def test_an_installed_solver_is_not_taken_from_the_callers_folder(tmp_path, monkeypatch):
    package, told = (tmp_path / "installed" / name for name in ("fast_svm", "fast_svm-1.dist-info"))
    for folder in (package, told):
        folder.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-svm\nVersion: 1\n")
    (told / "top_level.txt").write_text("fast_svm\n")
    (told / "entry_points.txt").write_text("[svmrepro.solvers]\nfast-svm = fast_svm.training:train\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(package.parent)])
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(callers_folder, "folder", lambda: tmp_path)
    callers_folder.make_importable(["fast_svm.training:train", "fast-svm"])
    assert str(tmp_path) not in sys.path and not os.environ["PYTHONPATH"]
    callers_folder.make_importable(["fast_svm.training:train", "callers_own:fit"])
    assert sys.path[0] == os.environ["PYTHONPATH"] == str(tmp_path)


FAILS = """
import os
from types import SimpleNamespace
from engine_solvers import quick

def always(problem, eps, time_limit):
    raise ValueError("no luck")

def leave(problem, eps, time_limit):
    os._exit(3)

def give_up(problem, eps, time_limit):
    return SimpleNamespace(alpha=0 * problem.y, bias=0.0, status="time_limit")

def above_250(problem, eps, time_limit):
    return quick(problem, eps, time_limit) if problem.n <= 250 else always(problem, eps, time_limit)
"""
LUCK, LEFT = "ValueError: no luck (mine.py:7)", "ended its process (exit code 3)"
EARLY = "passed a limit of its own (time_limit)"
SAID = {
    "leave": f"error: mine.leave solved none of 3 runs; noise-linear, n = 125: {LEFT}",
    "above_250": f"error: mine.above_250 solved 2 of 3 runs; noise-linear, n = 500: {LUCK}",
    "give_up": f"mine.give_up solved none of 1 run; noise-linear, n = 125: {EARLY}",
}


@pytest.mark.parametrize(
    ("solvers", "code"),
    [(("leave", "above_250"), 1), pytest.param(("give_up",), 0, marks=pytest.mark.slow)],
)
def test_solvers_that_fail_are_named_at_the_end(tmp_path, solvers, code):
    (tmp_path / "mine.py").write_text(FAILS)
    own = [word for name in solvers for word in ("-s", f"mine:{name}")]
    words = ["run", "timing-noise-linear", *own, "-s", "smo", "--scale", "smoke"]
    for _ in range(1 + code):  # a failure is told again when nothing is left to do
        ended = svmrepro(tmp_path, *words, "--config", "repeats=1", **COMPILED)
        assert ended.returncode == code, ended.stderr
        told_last = ended.stderr.splitlines()[-len(solvers) :]
        assert all(line.startswith(SAID[name]) for name, line in zip(solvers, told_last, strict=True))
        assert "Without a result: " in ended.stdout
    assert not (tmp_path / "results/smoke").exists()
    folder = tmp_path / "results/selected/smoke/platt1998"
    runs = (folder / "noise-linear/runs/all.jsonl").read_text().splitlines()
    assert all(sum(f"mine.{name}" in line for line in runs) == 3 for name in solvers)
    assert (folder / "timing-noise-linear.md").is_file()


def test_the_reference_of_one_paper(tmp_path):
    words = ["reference", "platt1999", "--scale", "smoke", "--dry-run"]
    folders = ["--config", f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    ended = svmrepro(ROOT, *words, *folders)
    assert ended.returncode == 0, ended.stderr
    assert "platt1999" in ended.stdout and "loglog-noise-linear" not in ended.stdout
