"""Print the line that makes your shell complete the words of `svmrepro`.

eval "$(svmrepro completion bash)"      in ~/.bashrc; zsh and fish likewise
"""

from __future__ import annotations

import argparse

# The words themselves: `completed_names`.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), nargs="?", default="bash"
    )


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["svmrepro"], shell=given.shell))
    return 0
