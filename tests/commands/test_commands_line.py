"""The command line: help, unknown words, and start-up without large libraries."""

import contextlib
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import psutil
import pytest
from commands_support import svmrepro
from support import PROJECT, ran
from svmrepro.workflow import commands
from svmrepro.workflow.commands import test as whole
from svmrepro.workflow.commands.main import main

TESTS = Path(__file__).resolve().parents[1]
LARGE = {"numba", "numpy", "pandas", "matplotlib", "sklearn", "snakemake", "scipy"}


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_has_its_help_and_functions(name, capsys):
    module = import_module(f"svmrepro.workflow.commands.{name}")
    with pytest.raises(SystemExit) as ended:
        main(["help", name])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: svmrepro {name} ")
    assert module.__doc__ and module.__doc__.strip().splitlines()[0] in said
    assert callable(module.run)


def test_help_for_a_word_that_is_no_command():
    with pytest.raises(SystemExit, match="there is no command 'chekc'; did you mean 'check'"):
        main(["help", "chekc"])


def test_a_wrong_option_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bash", "--loud"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "error: completion does not know --loud; see `svmrepro completion --help`\n"
    )
    with pytest.raises(SystemExit):
        main(["bench", "--labels", "-1:1,2:-1"])
    said = "error: argument --labels: expected one argument (one that begins with - is written after =, as in"
    assert capsys.readouterr().err.startswith(said)


def test_the_command_line_loads_nothing_large():
    modules = ", ".join(f"svmrepro.workflow.commands.{name}" for name in ("main", *commands.COMMANDS))
    ended = ran(sys.executable, "-c", f"import sys, {modules}\nprint(*{LARGE} & set(sys.modules))")
    assert ended.stdout == "\n", ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_a_tool_has_started(number):
    script = """if True:
        from svmrepro.workflow.commands import checkout
        with checkout.stopping_children():
            checkout.call("sh", "-c", "sleep 100 & echo $!; wait")"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(process.stdout.readline()))
    process.send_signal(number)
    with process:
        assert process.wait(timeout=60) == 128 + number
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(timeout=60)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("svmrepro che", {"check"}),
        ("svmrepro check --sc", {"--scale"}),
        ("svmrepro run --scale ", {"default", "paper", "smoke"}),
        ("svmrepro run --scale smoke AdultGaussK", {"AdultGaussK"}),
        ("svmrepro run --scale nonsense AdultGaussK", set()),  # only the command says what is wrong
        ("svmrepro check gl", {"glasmachers2008"}),
        ("svmrepro run -s smo-n", {"smo-newton"}),
        ("svmrepro bench -d mine", {"mine.libsvm"}),
        ("svmrepro bench -d spam", {"spambase"}),
        ("svmrepro remake mine", {"mine.libsvm"}),
        (f"{PROJECT}/run che", {"check"}),
        ("./run mine", {"mine.libsvm"}),  # another folder's program
    ],
)
def test_a_shell_completes_commands_and_names(line, offered, tmp_path):
    (tmp_path / "mine.libsvm").touch()
    shell = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    ended = svmrepro(tmp_path, **shell, _ARGCOMPLETE_STDOUT_FILENAME=str(tmp_path / "words"))
    assert (ended.stdout, ended.stderr) == ("", "")
    assert {word.strip() for word in (tmp_path / "words").read_text().splitlines()} == offered
    assert {path.name for path in tmp_path.iterdir()} == {"mine.libsvm", "words"}, "nothing else is written"


def test_bash_completes_the_words_of_run(tmp_path):
    script = """
        eval "$1"
        complete -p run svmrepro >&2
        COMP_LINE="./run che" COMP_POINT=9
        _python_argcomplete_svmrepro ./run
        echo "${COMPREPLY[@]}"
    """
    code = svmrepro(tmp_path, "completion", "bash").stdout
    ended = ran("bash", "-c", script, "bash", code, cwd=PROJECT)
    assert ended.stdout.split() == ["check"], ended.stderr
    assert [line.split()[-1] for line in ended.stderr.splitlines()] == ["run", "svmrepro"]


def test_the_whole_test_runs_every_folder_of_tests():
    tasks = [words for commands in whole.TASKS.values() for words in commands]
    named = {word for words in tasks if words[0] == "pytest" for word in words if word.startswith("tests/")}
    folders = {f"tests/{path.parent.name}" for path in TESTS.glob("*/test_*.py")}
    assert folders - named == {"tests/slurm"}, "only slow tests are left out"
