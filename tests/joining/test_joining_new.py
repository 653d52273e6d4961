"""The command new: its skeletons are made in a copy of the tree, and work there."""

import importlib
import importlib.util
import shutil
import sys

import pytest
import yaml
from support import ran
from svmrepro.solvers import conformance
from svmrepro.solvers.conformance import check
from svmrepro.workflow import configuration
from svmrepro.workflow.commands import main
from svmrepro.workflow.configuration import ROOT, config_dir, load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.joining import skeleton_writer
from svmrepro.workflow.judgement.claims import read_claims


def test_the_solver_of_the_skeleton_conforms(tmp_path, monkeypatch):
    skeleton_writer.write("solver", "my-svm", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "my-svm"))
    # It may give up on hard problems: after two seconds in place of ten.
    monkeypatch.setattr(conformance._Tested.call, "__defaults__", (2.0,))
    report = check(importlib.import_module("my_svm.training").train)
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_svm"]:
        del sys.modules[name]  # else `new` would refuse it as installed
    assert report.passed, report
    declared = (tmp_path / "my-svm" / "pyproject.toml").read_text()
    assert 'my-svm = "my_svm.training:train"' in declared
    own = yaml.safe_load((tmp_path / "my-svm" / "experiment.yaml").read_text())
    contenders = load_config(own).papers["peers"].experiments["noise-gaussian-peers"].contenders
    assert contenders["my-svm"].solver == "my_svm.training:train"


def test_the_skeletons_own_test_of_a_solver_passes(tmp_path):
    skeleton_writer.write("solver", "my-svm", tmp_path)
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "optimum", "--rootdir=."]
    environment = {"PYTHONPATH": str(tmp_path / "my-svm"), "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    ended = ran(sys.executable, *words, cwd=tmp_path / "my-svm", env=environment)
    assert ended.returncode == 0, ended.stdout


def test_the_skeleton_of_a_data_set_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = skeleton_writer.write("dataset", "my-data", tmp_path)
    assert {path.name for path in made} >= {"make.py", "train.csv", "test.csv"}
    own = yaml.safe_load((tmp_path / "my-data" / "my-data.yaml").read_text())
    folder = _folder(tmp_path)
    config = load_config(own, folder)
    assert config.own_files("my-data") == ["my-data/train.csv", "my-data/test.csv"]
    assert config.papers["my-data"].experiments["my-data-gaussian"].measures == ("accuracy",)
    spec = importlib.util.spec_from_file_location("tested", tmp_path / "my-data" / "test_my_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_the_files_can_be_read()


def test_the_skeleton_of_a_paper_is_a_configuration(tmp_path):
    skeleton_writer.write("paper", "name2030", tmp_path)
    folder = _folder(tmp_path)
    paper = load_config({"papers": ["name2030"]}, folder).papers["name2030"]
    assert [each.kind for each in paper.artefacts.values()] == ["timing", "loglog", "claims"]
    claims = read_claims(folder / "claims" / "name2030.yaml", [*paper.experiments])
    assert claims[0].quantity["experiments"] == [*paper.experiments]


def test_the_skeletons_are_linted_as_the_clone_is(tmp_path):
    for kind, name in (("solver", "linted-svm"), ("dataset", "linted-data")):
        skeleton_writer.write(kind, name, tmp_path)
    shared = "--no-cache", "--config", str(ROOT / "pyproject.toml"), str(tmp_path)
    for command in (["check"], ["format", "--check"]):
        ended = ran(sys.executable, "-m", "ruff", *command, *shared, cwd=tmp_path)
        assert ended.returncode == 0, ended.stdout


def _folder(tmp_path):
    folder = tmp_path / "config"
    # The settings, without what they say of experiments and contenders of the four papers.
    settings = yaml.safe_load((config_dir() / "config.yaml").read_text())
    alone = {key: value for key, value in settings.items() if key not in ("experiments", "contenders")}
    (folder / "config.yaml").write_text(yaml.safe_dump(alone))
    return folder


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("solver", "My_SVM", "is not a valid name"),
        ("solver", "smo", "is taken"),
        ("dataset", "adult", "is taken"),
        ("paper", "platt1998", "is taken"),
        ("solver", "class", "'class' is a word of Python; choose another"),
        ("solver", "import", "'import' is a word of Python"),
        ("dataset", "match", "'match' is a word of Python"),
        (
            "solver",
            "numpy",
            r"'numpy' is that of an installed package \(.*numpy/__init__.py\); choose another",
        ),
        ("paper", "../x", "is not a valid name"),
    ],
)
def test_names_that_cannot_be(kind, name, said, tmp_path):
    with pytest.raises(StepError, match=said):
        skeleton_writer.write(kind, name, tmp_path)
    assert not any(tmp_path.iterdir())


def test_files_are_named_as_the_caller_finds_them(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "clone"
    monkeypatch.setattr(configuration, "home", lambda: folder)
    for caller, said in ((tmp_path, "clone/one-svm/"), (tmp_path / "away", f"{folder}/two-svm/")):
        monkeypatch.setattr(configuration.callers_folder, "folder", lambda caller=caller: caller)
        assert main.main(["new", "solver", said.split("/")[-2]]) == 0
        assert f"wrote {said}pyproject.toml" in capsys.readouterr().out


def test_an_error_leaves_nothing_half_made(tmp_path, monkeypatch):
    templates = shutil.copytree(skeleton_writer.TEMPLATES, tmp_path / "templates")
    (templates / "dataset" / "NAME" / "make.py.j2").write_text(
        "from pathlib import Path\n"
        "Path(__file__).with_name('train.csv').touch()\n"
        "raise OSError(28, 'No space left on device')\n"
    )
    monkeypatch.setattr(skeleton_writer, "TEMPLATES", templates)
    other = tmp_path / "clone" / "config" / "experiments" / "other.yaml"
    other.parent.mkdir(parents=True)
    other.touch()
    for _ in range(2):  # the next try is not refused
        with pytest.raises(StepError, match=r"half-made/make\.py: OSError: \[Errno 28\] No space left"):
            skeleton_writer.write("dataset", "half-made", tmp_path / "clone")
    assert [path for path in (tmp_path / "clone").rglob("*") if path.is_file()] == [other]
    assert not (tmp_path / "clone" / "half-made").exists()


def test_nothing_is_overwritten(tmp_path, monkeypatch):
    skeleton_writer.write("solver", "my-svm", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "my-svm"))  # as if it were installed
    (tmp_path / "my-svm" / "experiment.yaml").unlink()
    with pytest.raises(StepError, match=r"my-svm/my_svm/__init__\.py exists already"):
        skeleton_writer.write("solver", "my-svm", tmp_path)
    assert not (tmp_path / "my-svm" / "experiment.yaml").exists()
