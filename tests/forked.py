"""Commands in processes of their own, forked from one that has loaded Snakemake already."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess

from svmrepro.workflow import fingerprints

# Each process would compute it anew from the text of all solvers.
fingerprints.compiled_key()

#: What most commands load; nothing that reads the environment when it is loaded.
_LOADED = (
    *("snakemake.cli", "snakemake.report.html_reporter", "svmrepro.solvers", "svmrepro.workflow.graph.plan"),
    *("svmrepro.workflow.commands.main", "svmrepro.workflow.running.snakemake_call"),
)
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([*_LOADED, __name__])


def forked(
    main: Callable[[], object], folder: Path, words: Sequence[object], variables: Mapping[str, str]
) -> CompletedProcess[str]:
    """Run the main function of a command to its end, in a folder, with its words and environment."""
    with tempfile.TemporaryDirectory() as said:
        files = [Path(said, name) for name in ("stdout", "stderr")]
        call = (main, folder, [str(word) for word in words], variables, files)
        process = _PROCESSES.Process(target=_call, args=call)
        process.start()
        process.join(900)
        assert process.exitcode is not None, "it hangs"
        stdout, stderr = (file.read_text(encoding="utf-8") for file in files)
    return CompletedProcess(words, process.exitcode, stdout, stderr)


def _call(
    main: Callable[[], object],
    folder: Path,
    words: Sequence[str],
    variables: Mapping[str, str],
    files: Sequence[Path],
) -> None:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path.extend(filter(None, variables.get("PYTHONPATH", "").split(os.pathsep)))
    sys.argv = [main.__module__, *words]
    main()
