"""Solvers that do not stop or end the process that measures: they get a line, and the others go on."""

import signal
import sys
import time

import psutil
import pytest
from engine_support import EXPERIMENT, environment, journal, prepare, solver
from support import ran
from svmrepro.workflow.configuration import dump_config
from svmrepro.workflow.journal.journal_line import NO_RESULT
from svmrepro.workflow.measurement.present_run import PresentRun

# A step whose first call of a solver behaves as told, and whose next one is fine.
STEP = """
import os, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
from svmrepro.workflow.errors import run_safely
from svmrepro.workflow.measurement import supervision
from svmrepro.workflow.measurement.present_run import PresentRun

def say(line):
    print(line, flush=True)

def step():
    done, present = Path("done"), PresentRun()
    present.line = LINE
    supervision.PATIENCE = 0.1
    journal = SimpleNamespace(append=lambda line: Path("journal").write_text(repr(line)))
    progress = SimpleNamespace(name="mine", note=say, lost=lambda line: say("lost"))
    supervision.supervised(present, journal, progress)
    if not done.exists():
        done.touch()
        with present.calling():
            ACTION
    return 7

sys.exit(run_safely(step))
"""
LINE = {**NO_RESULT, "solver": "my:fit", "experiment": "mine", "n": 50}


def step_of(action, limit):
    return STEP.replace("LINE", repr({**LINE, "time_limit": limit})).replace("ACTION", action)


@pytest.mark.parametrize(
    ("action", "status", "reason", "said"),
    [
        (
            "while True: pass",
            "time_limit",
            "did not stop at its limit of 0.01 s",
            "my:fit on n = 50 does not stop at its limit of 0.01 s; it will be killed now; "
            "the other solvers continue\n",
        ),
        ("os._exit(0)", "error", "ended its process (exit code 0)", ""),
        ("os.kill(os.getpid(), 11)", "error", "ended its process (signal SIGSEGV)", ""),
    ],
)
def test_a_solver_that_ends_the_step_or_does_not_stop_gets_its_line_and_leaves_no_process(
    action, status, reason, said, tmp_path
):
    limit = 0.01 if status == "time_limit" else 60.0
    # The solver leaves a process behind, which holds none of the pipes whose end the test awaits.
    started = "print(subprocess.Popen(['sleep', '600'], stdout=-3, stderr=-3).pid, flush=True)"
    script = step_of(action, limit).replace("        with p", f"        {started}\n        with p")
    ended = ran(sys.executable, "-c", script, cwd=tmp_path)
    process, _, told = ended.stdout.partition("\n")
    assert (ended.returncode, told, ended.stderr) == (7, f"{said}lost\n", "")
    assert not psutil.pid_exists(int(process))
    line = {**LINE, "time_limit": limit, "status": status, "reason": reason}
    assert (tmp_path / "journal").read_text() == repr(line)


def test_a_kill_from_outside_is_no_result(tmp_path):
    ended = ran(sys.executable, "-c", step_of("os.kill(os.getpid(), 9)", 9.0), cwd=tmp_path)
    assert ended.returncode == 1 and not (tmp_path / "journal").exists()
    assert ended.stderr.startswith("error: mine, n = 50: my:fit was killed (SIGKILL), perhaps for lack of")


def test_a_kill_outside_a_call_says_why(tmp_path):
    script = step_of("pass", 9.0).replace("done.touch()", "os.kill(os.getpid(), 9)")
    ended = ran(sys.executable, "-c", script, cwd=tmp_path)
    assert ended.returncode == 1 and not (tmp_path / "journal").exists()
    assert ended.stderr.startswith("error: mine: its process was killed (SIGKILL), perhaps for lack of")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_solver_ends_with_the_process_that_was_started(number, tmp_path):
    action = "signal.signal(2, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(100)"
    # A shell without job control starts what is in its background with Ctrl-C ignored.
    script = "import signal; signal.signal(2, signal.default_int_handler)" + step_of(action, 900.0)
    process = psutil.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=-1)
    child = psutil.Process(int(process.stdout.readline()))
    process.send_signal(number)
    assert process.wait() in (143, 130, -9)
    _, alive = psutil.wait_procs([child], timeout=60)
    assert not alive and not (tmp_path / "journal").exists()


def test_a_call_that_began_after_the_late_one_is_not_late(tmp_path):
    """The kill is put off until the next call has begun, whose solver is not a user's and has no limit."""
    script = step_of("time.sleep(600)", None).replace(
        "    supervision.supervised(",
        """
    end = supervision._end
    def late_end(process):
        while (present.call() is None or present.call().own) and process.is_running():
            time.sleep(0.01)
        end(process)
    supervision._end = late_end
    supervision.supervised(""",
    )
    script = script.replace(
        "        with p",
        """        present.line = {**present.line, "time_limit": 0.01}
        with present.calling():
            while not (Path("told").exists()):
                pass
        present.line = {**present.line, "solver": "libsvm", "time_limit": None}
        with p""",
    )
    script = script.replace("def say(line):\n", "def say(line):\n    Path('told').touch()\n")
    ended = ran(sys.executable, "-c", script, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (7, "")
    assert "lost" not in ended.stdout and not (tmp_path / "journal").exists()


def test_a_call_is_told_while_it_lasts():
    present = PresentRun()
    present.line = {"solver": "libsvm"}
    with present.calling(warming=True):
        call = present.call()
        assert call.warming and not call.own and call.began <= time.monotonic()
    assert present.call() is None
    present.line = {"solver": "my:fit"}
    with pytest.raises(ArithmeticError), present.calling():
        assert present.call().own
        raise ArithmeticError
    assert present.call() is None


def test_the_step_goes_on_with_the_others_and_has_one_thread_whatever_it_inherits(tmp_path):
    config = prepare({"dying": solver("dying"), "good": solver("threads")}, sizes=[20], repeats=1)
    (tmp_path / "c.json").write_text(dump_config(config))
    words = ["--config", "c.json", "--paper", "platt1998", "--experiment", EXPERIMENT, "--job", "all"]
    command = [sys.executable, "-m", "svmrepro.workflow.steps.measure", *words]
    inherited = environment(OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    ended = ran(*command, cwd=tmp_path, env=inherited)
    assert ended.returncode == 0, ended.stderr
    assert f"{EXPERIMENT}: engine_solvers:dying on n = 20: error (ended its process (exit" in ended.stderr
    lines = {line["contender"]: line for line in journal(config).valid_lines()}
    found = {name: (line["status"], line["reason"]) for name, line in lines.items()}
    assert found == {"dying": ("error", "ended its process (exit code 3)"), "good": ("optimal", None)}
    assert lines["good"]["iterations"] == 2  # which stands for the limits of two libraries
    assert set(lines["good"]["machine"]["thread_settings"].values()) == {"1"}
    again = ran(*command, cwd=tmp_path, env=environment(), check=True)
    assert again.stderr.count(": 1 run to make, ") == 1, "the process that replaces it makes no run"
    made = [line["contender"] for line in journal(config).valid_lines()]
    assert sorted(made) == ["dying", "dying", "good"], "another step tries again what failed, and no other"
