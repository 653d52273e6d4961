"""Print the line that makes your shell complete the words of `./run` and `svmrepro`.

eval "$(/path/to/clone/run completion bash)"      in ~/.bashrc; zsh and fish likewise
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from shlex import quote

from svmrepro.workflow.configuration import ROOT

# The words themselves: `completed_names`.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), nargs="?", default="bash"
    )


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from argcomplete.shell_integration import shellcode

    if not (ROOT / "run").is_file():
        print(shellcode(["svmrepro"], shell=given.shell))
        return 0
    # Not `run` itself, which would first make a missing environment, nor the `run` of another folder.
    script = str(Path(sys.executable).with_name("svmrepro"))
    in_fish = quote(script) if given.shell == "fish" else script
    code = shellcode(["svmrepro", "run"], shell=given.shell, argcomplete_script=in_fish)
    # A shell's function cannot be named by every path.
    named = script.replace(" ", "_SPACE_")
    print(code.replace(f"_python_argcomplete_{named}", "_python_argcomplete_svmrepro"))
    return 0
