"""What a command of svmrepro hands on to jobs that run on other machines, and to later commands."""

import json
import os
from pathlib import Path

import engine_support
import pytest
import snakemake.cli
from engine_support import EXPERIMENT, tiny
from svmrepro.workflow import archives
from svmrepro.workflow.commands.main import main
from svmrepro.workflow.configuration import callers_folder, config_dir, load_config, paths
from svmrepro.workflow.configuration.of_folder import config_of
from svmrepro.workflow.graph.plan import Plan


@pytest.mark.parametrize(
    "words",
    [
        ["adult-linear", "--scale", "smoke"],
        ["--scale", "smoke", "--config", "repeats=7", "scale=paper"],
        ["-s", "smo", "-d", "adult"],
        ["--configfile", "SIZES"],
        ["platt1998"],
    ],
    ids=" ".join,
)
def test_jobs_elsewhere_have_all_settings_of_the_command(words, tmp_path, monkeypatch):
    sizes = tmp_path / "sizes.yaml"
    sizes.write_text("experiments: {platt1998: {adult-linear: {sizes: [300, 700]}, web-linear: null}}\n")
    handed = []
    monkeypatch.setattr(snakemake.cli, "args_to_api", lambda settings, parser: handed.append(settings))
    monkeypatch.setattr(Plan, "current", None)
    assert main([*(str(sizes) if word == "SIZES" else word for word in words), "--dry-run"]) == 1
    (settings,) = handed
    (file,) = settings.configfile
    assert settings.config == []
    assert load_config(json.loads(file.read_text())) == Plan.current.config
    if "--scale" in words:
        assert Plan.current.config.scale == "smoke"


def test_jobs_elsewhere_compare_with_the_folder_of_an_archive_that_the_command_unpacked(tmp_path):
    archives.pack({"peers/fits.csv": b""}, tmp_path / "run.zip")
    plan = Plan({"against": str(tmp_path / "run.zip")})
    (tmp_path / "run.zip").unlink()
    assert load_config(json.loads(plan.overrides_file.read_text())) == plan.config


@pytest.mark.parametrize(("mode", "code"), [("default", 1), ("remote", 0)])
def test_only_the_main_process_of_plain_snakemake_gets_the_archive_of_a_url(mode, code, tmp_path):
    url = "http://127.0.0.1:9/gone.zip"
    ended = engine_support.snakemake(tmp_path, tiny(against=url), "--mode", mode, "--dry-run", EXPERIMENT)
    said = ended.stdout + ended.stderr
    assert (ended.returncode, f"error: against: {url}: " in said) == (code, bool(code)), said


def test_the_configuration_of_a_folder_is_that_of_the_last_run_which_was_no_dry_run():
    run, *_ = [Plan({"repeats": repeats, "papers": ["peers"]}) for repeats in (2, 3, 4)]
    run.lock_results()
    Plan({"repeats": 5, "papers": ["peers"]})
    os.utime(run.file, (0, 0))  # as a copy may have
    assert config_of(paths.results(run.config), "default", ["peers"]) == run.config


def test_what_snakemake_says_when_it_deletes_is_shown_and_no_summary_of_a_run(monkeypatch, capsys):
    monkeypatch.setattr(snakemake.cli, "args_to_api", lambda settings, parser: not print("Deleting a.csv"))
    monkeypatch.setattr(Plan, "current", None)
    assert main(["platt1998", "--delete-all-output"]) == 0
    assert capsys.readouterr() == ("Deleting a.csv\n", "")


@pytest.mark.parametrize("called_in", ["the clone", "another folder"])
def test_files_of_the_command_line_are_the_callers_also_with_a_directory(called_in, tmp_path, monkeypatch):
    clone, handed = config_dir().parent, []
    caller = clone if called_in == "the clone" else tmp_path
    other = Path("results", "reference", "smoke")
    monkeypatch.setattr(snakemake.cli, "args_to_api", lambda settings, parser: handed.append(settings))
    monkeypatch.setattr(Plan, "current", None)
    (tmp_path / other).parent.mkdir(parents=True)
    (tmp_path / other).symlink_to(clone / other)
    monkeypatch.chdir(clone)
    monkeypatch.setenv(callers_folder.VARIABLE, str(caller))
    there = os.path.relpath(tmp_path / "there", caller)
    main(["compare", str(other), "--directory", there, "--report", "x.html"])
    assert Path.cwd() == tmp_path / "there"
    assert Plan.current.config.against == str(caller / other)
    assert handed[0].report == caller / "x.html"
