"""Calls of the command line in a folder of their own."""

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

from svmrepro.workflow.commands.main import entry
from svmrepro.workflow.configuration import config_dir

ENGINE = Path(__file__).resolve().parent.parent / "engine"
sys.path.append(str(ENGINE))  # for its small configurations

#: The clone's compiled code, because a folder without any would have to compile some first.
COMPILED = {"NUMBA_CACHE_DIR": str(config_dir().parent / ".numba")}

#: Each call has a process of its own, forked from one that has loaded Snakemake already.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["snakemake.cli", "svmrepro.workflow.graph.plan", __name__])


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
    with tempfile.TemporaryDirectory() as said:
        files = [Path(said, name) for name in ("stdout", "stderr")]
        call = (folder, [str(word) for word in words], environment(**more), files)
        process = _PROCESSES.Process(target=_call, args=call)
        process.start()
        process.join(900)
        assert process.exitcode is not None, "it hangs"
        stdout, stderr = (file.read_text(encoding="utf-8") for file in files)
    return CompletedProcess(words, process.exitcode, stdout, stderr)


def _call(folder, words, variables, files):
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path.append(variables["PYTHONPATH"])
    sys.argv = ["svmrepro", *words]
    entry()


def told(ended, code=1):
    """Return the only line of a command that failed, and check its exit code."""
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in (ended.stdout + ended.stderr).splitlines() if line]
    return line
