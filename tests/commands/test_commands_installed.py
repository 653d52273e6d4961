"""The commands of a package that is installed without a clone."""

import pytest
from svmrepro.workflow.commands import checkout, engine
from svmrepro.workflow.commands.main import main
from svmrepro.workflow.configuration import as_called, config_dir, home, model
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Move the project's files to a folder without what only a clone has; return the current folder."""
    site, here = tmp_path / "site-packages", tmp_path / "here"
    site.mkdir()
    here.mkdir()
    for name in ("config", "profiles", "workflow"):
        (site / name).symlink_to(config_dir().parent / name)
    monkeypatch.setattr(model, "config_dir", lambda: site / "config")
    monkeypatch.setattr(checkout, "ROOT", site)
    monkeypatch.setattr(engine, "ROOT", site)
    monkeypatch.chdir(here)
    return here


def test_files_go_to_the_current_folder_and_commands_have_their_own_name(installed):
    assert home() == installed
    assert as_called("`./run report`; `./run pip install x`") == "`svmrepro report`; `pip install x`"
    _, settings = engine._parsed(["noise-linear"])
    assert str(settings.snakefile).endswith("site-packages/workflow/Snakefile")


def test_a_solver_of_ones_own_needs_no_clone_but_papers_and_references_do(installed, capsys, monkeypatch):
    assert main(["new", "solver", "my-svm"]) == 0
    assert (installed / "my-svm" / "pyproject.toml").is_file()
    assert "    svmrepro bench --solver my-svm" in capsys.readouterr().out
    assert main(["new", "paper", "abc2030"]) == 1
    said = capsys.readouterr().err
    assert "needs a clone of the repository: " in said and "site-packages has no pyproject.toml" in said
    monkeypatch.setattr("svmrepro.workflow.graph.plan.home", home)
    monkeypatch.setattr("svmrepro.workflow.graph.plan.config_dir", model.config_dir)
    with pytest.raises(StepError, match="reference: needs a clone"):
        Plan([("test", {"scale": "smoke"})]).check_target("reference")


def test_a_site_without_results_is_named_by_the_command_that_makes_them(installed, capsys):
    assert main(["site"]) == 1
    assert capsys.readouterr().err == "error: site: no results yet; `svmrepro` makes them\n"
