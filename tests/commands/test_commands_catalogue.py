"""Standardised usage: from a clone without an installed package, and as a module of another workflow."""

import os
import sys

import pytest
from support import ran
from svmrepro.workflow.configuration import config_dir

ROOT = config_dir().parent

#: Runs Snakemake as if the package were not installed.
WITHOUT = """
import sys
for finders in (sys.meta_path, sys.path_hooks):
    finders[:] = [each for each in finders if "svmrepro" not in getattr(each, "__module__", "") + repr(each)]
sys.path[:] = [each for each in sys.path if "svmrepro" not in each]
import importlib.util
assert importlib.util.find_spec("svmrepro") is None
from snakemake.cli import main
main(sys.argv[1:])
"""

MODULE = f"""
configfile: "config/config.yaml"


module svmrepro:
    snakefile:
        "{ROOT}/workflow/Snakefile"
    config:
        config


use rule * from svmrepro
"""


def dry(folder, *words):
    options = ("--dry-run", *("--cores", "1", "--config", "scale=smoke", "--workflow-profile", "none"))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SVMREPRO_")}
    return ran(sys.executable, "-c", WITHOUT, *words, *options, "--quiet", "host", cwd=folder, env=clean)


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_a_clone_needs_no_installation(tmp_path, snakefile):
    ended = dry(tmp_path, "noise-linear", "--snakefile", ROOT / snakefile, "--printshellcmds")
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-3000:]
    assert f"{ROOT}/workflow/from_source.py measure --config results/smoke/.config/" in said


def test_another_workflow_uses_it_as_a_module(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text((ROOT / "config" / "config.yaml").read_text() + "\n")
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow" / "Snakefile").write_text(MODULE)
    ended = dry(tmp_path, "noise-linear", "--printshellcmds")
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said[-3000:]
    # Only the scale differs from the default values that the module is handed.
    assert "--paper platt1998 --experiment noise-linear --job all" in said and "results/smoke/" in said
