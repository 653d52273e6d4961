"""Cluster support: local rules, requests of the profile, and which jobs wait for each other."""

import platform
import re

import yaml
from engine_support import PROJECT, prepare
from svmrepro.workflow.configuration import paths

PROFILE = yaml.safe_load((PROJECT / "profiles" / "slurm" / "config.yaml").read_text())


def test_timed_jobs_and_the_compiler_alone_go_to_the_nodes():
    files = [PROJECT / "workflow" / "Snakefile", *(PROJECT / "workflow" / "rules").glob("*.smk")]
    sent = []
    for file in files:
        for rule in re.split(r"^ *(?=rule\b)", file.read_text(), flags=re.MULTILINE)[1:]:
            if "localrule: True" not in rule:
                sent.append(rule.partition(":")[0].removeprefix("rule").strip())
    assert sorted(sent) == ["compile_solvers", "measure"]
    assert PROFILE["set-threads"] == dict.fromkeys(sent, 1)


def test_clocks_wait_for_those_of_their_own_machine_and_job(monkeypatch):
    """Jobs with cores of their own do not wait for each other."""
    config = prepare()
    found = set()
    for name in ("node1", "node2", "", "../evil"):
        for job in ("", "17", "18", "../19"):
            monkeypatch.setattr(platform, "node", lambda name=name: name)
            monkeypatch.setenv("SLURM_JOB_ID", job)
            folder = paths.timing_slots(config)
            assert folder.parent == config.results_dir / ".timing" and folder.name not in ("", "..", ".")
            found.add(folder)
    assert len(found) == 16
