"""The graph of very many jobs."""

import json
import resource
import shutil
import sys

import pytest
import yaml
from engine_support import PROJECT
from support import ran

EXPERIMENTS, SIZES = 254, 78
MEMORY = 2 * 2**30


@pytest.mark.slow
def test_a_dry_run_of_twenty_thousand_jobs_fits_into_two_gigabytes(tmp_path):
    """Takes about a minute of CPU time, which the test prints."""
    for name in ("workflow", "profiles"):
        (tmp_path / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "Snakefile", tmp_path)
    shutil.copytree(PROJECT / "config", tmp_path / "config")
    experiment = {
        "title": "toy",
        "dataset": "noise",
        "kernel": {"name": "linear"},
        "C": 1,
        "sizes": list(range(20, 20 + SIZES)),
        "contenders": {name: {"solver": name, "storage": "index"} for name in ("smo", "chunking")},
    }
    paper = {
        "paper": "toy",
        "title": "Toy",
        "experiments": {f"e{number}": experiment for number in range(EXPERIMENTS)},
        "artefacts": {"scaling": {"kind": "scaling", "form": "table", "title": "toy"}},
    }
    (tmp_path / "config" / "experiments" / "toy.yaml").write_text(yaml.safe_dump(paper))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"papers": ["toy"], "job": "size", "repeats": 1}))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--configfile", str(settings)]
    done = ran(*command, cwd=tmp_path, timeout=3600)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    jobs = int([line.split()[1] for line in said.splitlines() if line.startswith("total ")][-1])
    print(f"{jobs} jobs: {used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss / 2**10:.0f} MB")
    assert jobs > 20_000
    assert used.ru_maxrss * 1024 < MEMORY
