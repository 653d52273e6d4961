"""Mistakes outside the words: disk, network, folder, Python, and runs that meet or are stopped."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands_support import COMPILED, environment, svmrepro, told, words_of
from engine_support import journal_lines, prepare, solver, tiny
from support import ran, rows_of, unprivileged
from svmrepro.workflow.configuration import ROOT, callers_folder
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement import channel
from svmrepro.workflow.running.run_progress import RunProgress
from svmrepro.workflow.running.snakemake_call import STOPPED, _interrupts, answers_to

TABLE = "timing-noise-linear"
RUN = ("run", TABLE, "--configfile", "quick.yaml")


def settings(folder, *arguments, **more):
    """Write the configuration of a small run, without compiled code, into a folder."""
    (folder / "quick.yaml").write_text(json.dumps(tiny(*arguments, **more)))


def started(folder):
    return subprocess.Popen(
        words_of(*RUN),
        cwd=folder,
        env=environment(**COMPILED),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for(found):
    deadline = time.monotonic() + 240
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_folder_that_cannot_be_written_is_named_before_anything_runs(tmp_path):
    settings(tmp_path)
    folder = tmp_path / "results"
    for name in (".config", "logs"):
        (folder / "default" / name).mkdir(parents=True)
    folder.chmod(0o555)
    ended = ran(*unprivileged(words_of(*RUN)), cwd=tmp_path, env=environment())
    assert told(ended) == f"error: cannot write results: {folder} does not let you write into it"
    assert journal_lines(tmp_path) == []


def test_a_folder_that_is_a_file_is_named(tmp_path):
    settings(tmp_path, figures_dir="quick.yaml/figures")
    expected = f"cannot write quick.yaml/figures: {tmp_path}/quick.yaml is not a folder"
    assert told(svmrepro(tmp_path, *RUN)) == f"error: {expected}"


def test_a_folder_of_compiled_code_that_cannot_be_made_is_named(tmp_path):
    settings(tmp_path)
    line = told(svmrepro(tmp_path, *RUN, NUMBA_CACHE_DIR=str(tmp_path / "quick.yaml")))
    assert line.startswith(f"error: cannot make {tmp_path}/quick.yaml/")
    assert line.endswith(": not a directory (compiled code; variable NUMBA_CACHE_DIR)")


def test_a_run_needs_no_home_that_can_be_written(tmp_path):
    settings(tmp_path)
    (tmp_path / "home").mkdir(mode=0o555)
    own = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
    ended = ran(*unprivileged(words_of(*RUN, "--dry-run")), cwd=tmp_path, env=environment(**own))
    assert ended.returncode == 0, ended.stderr


def test_what_the_encoding_of_the_locale_lacks_is_printed_all_the_same():
    script = "from svmrepro.workflow.errors import run_safely; run_safely(lambda: print('0.5 … 0.7') or 0)"
    ended = ran(sys.executable, "-c", script, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert ended.stdout == "0.5 ? 0.7\n", ended.stderr


def test_a_long_path_of_temporary_files_costs_the_progress_within_jobs_only(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.delenv(channel.VARIABLE, raising=False)
    with channel.receiver(print):
        assert channel.sender() is None


def test_a_full_disk_is_named_with_the_file(tmp_path):
    mount = f"mount -t tmpfs -o size=300k none {tmp_path} && cd {tmp_path}"
    private = ("unshare", "-rm", "sh", "-c")
    if ran(*private, mount).returncode:
        pytest.skip("this machine lets no file system be mounted")
    settings(tmp_path, sizes=(20,))
    text = (tmp_path / "quick.yaml").read_text()
    fill = "dd if=/dev/zero of=filler 2>/dev/null bs=4k count=40; "
    script = f"{mount} && printf %s '{text}' >quick.yaml && {fill} \"$@\""
    ended = ran(*private, script, "sh", *words_of(*RUN), env=environment(**COMPILED))
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    # What did not fit is a file of the run, of a step, or what Snakemake records.
    said = rf"error: (\S+ failed: )?cannot write (results/|into {re.escape(str(tmp_path))})"
    assert re.match(said, line) and ": no space left on device" in line, line


@pytest.mark.parametrize(("rule", "log"), [("analyse", "log.txt"), ("measure", "{}/logs/output.log")])
def test_a_disk_too_full_for_the_message_of_the_step_is_named_and_the_log_with_it(
    rule, log, monkeypatch, tmp_path
):
    config, told = prepare(results_dir=str(tmp_path)), []
    (tmp_path / "default").mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    progress = RunProgress(SimpleNamespace(config=config), told.append, list, str)
    event = SimpleNamespace(name="JOB_ERROR")
    progress.event(SimpleNamespace(event=event, jobid=1, rule_name=rule, log=["log.txt"]))
    results = tmp_path / "default"
    full = f"cannot write into {results}: no space left on device"
    assert told == [f"error: {rule} failed: {full}; see {log.format(results)}"]


def test_each_job_that_fails_without_a_word_is_named_with_its_log(tmp_path):
    config, told = prepare(results_dir=str(tmp_path)), []
    progress = RunProgress(SimpleNamespace(config=config), told.append, list, str)
    for log in ("a.log", "b.log"):
        event = SimpleNamespace(name="JOB_ERROR")
        progress.event(SimpleNamespace(event=event, jobid=1, rule_name="analyse", log=[log]))
    assert told == [f"error: analyse failed; see {log}" for log in ("a.log", "b.log")]


@pytest.mark.parametrize(
    ("targets", "answer"), [(["reference"], "verdicts"), (["check", "a.md"], "verdicts"), (["all"], "")]
)
def test_a_command_prints_what_its_own_steps_answer(targets, answer, tmp_path):
    for name, text in {"check": "verdicts", "fetch": "available"}.items():
        (tmp_path / name).write_text(text)
    assert answers_to(targets, tmp_path) == answer


def test_without_a_network_what_needs_it_is_not_run(tmp_path):
    settings(tmp_path, sizes=[20], of={"dataset": "adult"})
    for _ in range(2):
        ended = svmrepro(tmp_path, *RUN, **COMPILED)
        assert ended.returncode == 0, ended.stderr
        assert "not run" in ended.stdout and "`./run fetch`" in ended.stdout
    assert ended.stdout.startswith("Nothing to do")
    assert journal_lines(tmp_path) == []
    measured = rows_of(tmp_path / "results/default/platt1998/noise-linear/measurements.csv")
    assert {row["status"] for row in measured} == {"not_run"}
    assert all("data set adult not available" in row["reason"] for row in measured)


def test_a_run_that_is_stopped_or_terminated_goes_on_in_the_next_which_waits_for_it(tmp_path):
    # Each solution needs a token: however busy the machine is, a run lasts until it is given enough of them.
    token = tmp_path / "token"
    settings(tmp_path, {"one": solver("quick", options={"token": str(token)})}, sizes=(20, 40, 60), repeats=3)

    def measured_more():
        """Give tokens until another solution is recorded: then one more may be made, but no third."""
        return len(journal_lines(tmp_path)) > before or token.touch()

    before = 0
    # `kill -INT` reaches the command alone; Ctrl-C in a terminal, here twice, or `timeout` its steps as well.
    for number, kills in (
        (signal.SIGINT, [os.kill]),
        (signal.SIGINT, [os.killpg, os.killpg]),
        (signal.SIGTERM, [os.killpg]),
    ):
        with started(tmp_path) as process:
            wait_for(measured_more)
            for kill in kills:
                with contextlib.suppress(ProcessLookupError):
                    kill(process.pid, number)
                time.sleep(0.1)
            said, _ = process.communicate(timeout=240)
        assert process.returncode == 128 + number and said.splitlines()[-1] == STOPPED, said
        assert "rror" not in said and "Traceback" not in said
        before = len(journal_lines(tmp_path))
    assert before < 9
    with started(tmp_path) as first:
        # The file still names the run before, so another one could be the first to lock it.
        lock = tmp_path / "results" / "default" / ".run.lock"
        wait_for(lambda: lock.is_file() and str(first.pid) in lock.read_text())
        with started(tmp_path) as second:
            waiting = f"waiting: results/default is in use by the run of process {first.pid} on "
            assert any(waiting in line for line in second.stdout)
            wait_for(measured_more)
            first.terminate()
            said = ""
            while "stop" not in said:
                said += first.stdout.readline() or pytest.fail(said)
            wait_for(lambda: token.touch() or (first.poll() is not None and second.poll() is not None))
            said += first.communicate()[0]
            others, _ = second.communicate()
    lines = [line for line in said.splitlines() if "stop" in line]
    assert first.returncode == 128 + signal.SIGTERM and lines[-1] == STOPPED, said
    assert lines[0].startswith("stopping when the steps under way have ended") and "rror" not in said
    # The job under way ended, and nothing was measured again.
    assert second.returncode == 0, others
    lines = journal_lines(tmp_path)
    assert len({(line["n"], line["repeat"]) for line in lines}) == len(lines) == 9
    assert len({line["run_id"] for line in lines}) == 4


def test_an_error_while_a_run_is_being_stopped_is_logged(capfd):
    with _interrupts(lambda: None) as met:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ValueError("lost")
    assert met == [signal.SIGINT] and "ValueError: lost" in capfd.readouterr().err


def test_a_run_that_waited_tells_its_own_errors_only(tmp_path):
    settings(tmp_path, sizes=[20], of={"dataset": "adult"}, require_data=True)
    folder = tmp_path / "results" / "default"
    with lock(folder / ".run.lock"):
        process = started(tmp_path)
        assert any(line.startswith("waiting: ") for line in process.stdout)
        with (folder / "logs" / "output.log").open("a") as log:
            log.write("error: of the other run\n")
    said, _ = process.communicate(timeout=240)
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert process.returncode == 1 and "adult" in line and "(require_data is true)" in line


# -- the folder in which a command is called -------------------------------------------------------------


def test_files_on_the_command_line_are_the_callers(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(callers_folder.VARIABLE, str(tmp_path))
    (tmp_path / "mine.csv").touch()
    assert (
        callers_folder.input_path("mine.csv")
        == tmp_path / "mine.csv"
        == callers_folder.output_path("mine.csv")
    )
    # What the clone alone has is found, too; what nobody has is missing where the caller looks.
    assert callers_folder.input_path("README.md") == Path("README.md")
    assert callers_folder.input_path("nowhere.csv") == tmp_path / "nowhere.csv"
    assert callers_folder.shown(Path("bench")) == ROOT / "bench"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(callers_folder.VARIABLE, str(ROOT))
    assert (
        callers_folder.input_path("nowhere.csv")
        == Path("nowhere.csv")
        == callers_folder.shown(Path("nowhere.csv"))
    )


def script(folder, *words, path=None, **more):
    """Call the script `run` of a clone from the folder above it."""
    return ran("sh", f"{folder.name}/run", *words, cwd=folder.parent, env=environment(PATH=path, **more))


@pytest.fixture
def clone(tmp_path):
    """Make a folder with what the script `run` needs, and programs in place of Python and pip."""
    folder, programs = tmp_path / "clone", tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    for name in ("run", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("cat", "cksum", "dirname", "env", "rm", "sh", "mkdir", "cp", "chmod", "uname"):
        (programs / name).symlink_to(shutil.which(name))
    return folder, programs


#: Stands for a Python: it makes an environment whose programs print how they were called.
PYTHON = f"""#!/bin/sh
case "$*" in
"-c "*) exec {sys.executable} "$@" ;;
--version) echo "Python 3.12.0" ;;
"-m venv .venv")
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python
    printf '#!/bin/sh\\necho "svmrepro $* from $SVMREPRO_CALLER"\\n' >.venv/bin/svmrepro
    cp .venv/bin/svmrepro .venv/bin/snakemake
    chmod +x .venv/bin/* ;;
esac
"""


def make(path, text):
    path.write_text(text)
    path.chmod(0o755)


def test_a_python_that_is_too_old_is_one_line(clone):
    folder, programs = clone
    make(programs / "python3", "#!/bin/sh\nexit 1\n")
    ended = script(folder, path=str(programs))
    expected = "Python 3.11 or later is needed, and none was found; name one by PYTHON=/path/to/python3"
    assert told(ended) == f"run: {expected}"
    assert not (folder / ".venv").exists()


def test_a_mac_with_an_intel_processor_is_refused_in_one_line(clone):
    folder, programs = clone
    (programs / "uname").unlink()
    make(programs / "uname", "#!/bin/sh\necho Darwin x86_64\n")
    make(programs / "python3", PYTHON)
    assert told(script(folder, path=str(programs))).startswith("run: the locked Numba has no package")
    assert not (folder / ".venv").exists()


def test_a_clone_that_was_moved_makes_its_environment_again(clone):
    folder, programs = clone
    make(programs / "python3", PYTHON)
    first = script(folder, "check", path=str(programs))
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"svmrepro check from {folder.parent}\n"
    assert "making .venv" in first.stderr
    assert script(folder, "check", path=str(programs)).stderr == ""
    moved = folder.rename(folder.parent / "moved")
    (moved / "results").mkdir()
    again = script(moved, "check", path=str(programs))
    assert again.returncode == 0 and "making .venv with Python 3.12.0" in again.stderr
    assert (moved / ".venv" / "place").read_text().strip() == str(moved) and (moved / "results").is_dir()


def test_a_clone_that_is_called_through_a_link_keeps_its_environment(clone):
    folder, programs = clone
    make(programs / "python3", PYTHON)
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert "making .venv" in script(link, "check", path=str(programs)).stderr
    assert script(folder, "check", path=str(programs)).stderr == ""


@pytest.mark.parametrize(
    ("last", "killed"),
    [("    chmod", "    kill -9 $PPID; chmod"), ("esac", '"-m pip"*) kill -9 $PPID ;;\nesac')],
)
def test_an_environment_that_was_not_finished_is_made_again(clone, last, killed):
    folder, programs = clone
    make(programs / "python3", PYTHON.replace(last, killed))
    assert script(folder, "check", path=str(programs)).returncode
    assert (folder / ".venv" / "bin" / "python").exists()
    make(programs / "python3", PYTHON)
    again = script(folder, "check", path=str(programs))
    assert again.returncode == 0 and "making .venv" in again.stderr


def test_a_call_waits_for_another_one_that_makes_the_environment(clone):
    folder, programs = clone
    make(programs / "python3", PYTHON)
    script(folder, "check", path=str(programs))
    (folder / ".venv").rename(folder / "made")
    # As on NFS, which locks only what is open for writing; then, what the other call does in the meantime.
    locks = "import fcntl, shutil, sys\nfcntl.lockf(int(sys.argv[1]), fcntl.LOCK_EX)\n"
    make(programs / "flock", f"#!{sys.executable}\n{locks}shutil.copytree('made', '.venv')\n")
    ended = script(folder, "check", path=str(programs))
    assert ended.returncode == 0 and ended.stderr == ""


def test_an_environment_is_made_without_a_lock_if_the_lock_file_cannot_be_written(clone):
    folder, programs = clone
    make(programs / "python3", PYTHON)
    make(programs / "flock", "#!/bin/sh\nexit 1\n")
    (folder / "requirements.lock").chmod(0o444)
    words = unprivileged(["sh", f"{folder}/run", "check"])
    ended = ran(shutil.which(words[0]), *words[1:], cwd=folder.parent, env=environment(PATH=str(programs)))
    assert ended.returncode == 0 and "making .venv" in ended.stderr, ended.stderr


@pytest.mark.parametrize("character", '"$`\\:{}')
def test_a_folder_whose_name_an_environment_cannot_have_is_one_line(clone, character):
    folder, programs = clone
    folder = folder.rename(folder.parent / f"a{character}b")
    assert told(script(folder, path=str(programs))).startswith(
        f"run: the name of the folder {folder} has one of"
    )
    assert not (folder / ".venv").exists()


def test_packages_that_cannot_be_installed_are_told(clone):
    folder, programs = clone
    make(programs / "python3", PYTHON.replace("esac", '"-m pip"*) exit 1 ;;\nesac'))
    ended = script(folder, path=str(programs))
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("run: the packages could not be installed")
    assert not (folder / ".venv" / "stamp").exists()
