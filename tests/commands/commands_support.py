"""Calls of the command line in a folder of their own."""

import os
import sys
from pathlib import Path

from forked import forked
from svmrepro.workflow.commands.main import entry
from svmrepro.workflow.configuration import ROOT

ENGINE = Path(__file__).resolve().parent.parent / "engine"
sys.path.append(str(ENGINE))  # for its small configurations

#: The clone's compiled code, because a folder without any would have to compile some first.
COMPILED = {"NUMBA_CACHE_DIR": str(ROOT / ".numba")}


def environment(**more):
    """Return an environment with the tests' solvers and without a mirror, a network or a progress channel."""
    left_out = ("SVMREPRO_", "NUMBA_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    return {**kept, **nowhere, "PYTHONPATH": str(ENGINE), **more}


def words_of(*words):
    """Return the command line of ``svmrepro`` with the given words."""
    script = "from svmrepro.workflow.commands.main import entry; entry()"
    return [sys.executable, "-c", script, *map(str, words)]


def svmrepro(folder, *words, **more):
    """Run ``svmrepro`` to its end in a folder."""
    return forked(entry, folder, words, environment(**more))


def told(ended, code=1):
    """Return the only line of a command that failed, and check its exit code."""
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in (ended.stdout + ended.stderr).splitlines() if line]
    return line
