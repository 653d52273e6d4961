"""Finds the command and calls it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NoReturn

from svmrepro.workflow.commands import COMMANDS
from svmrepro.workflow.errors import StepError, run_safely
from svmrepro.workflow.running.single_options import refuse_repeated

_EPILOG = """\
Any other word is a target of `run`: `svmrepro platt1998` means `svmrepro run platt1998`, and `svmrepro fetch`
tries again to get missing data. Options alone are options of `run`. `svmrepro run --list-target-rules` lists
all targets; `svmrepro COMMAND --help` explains a command.
"""


class OneLineParser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        if message.endswith("expected one argument"):
            message += " (one that begins with - is written after =, as in --NAME=-1)"
        self.exit(2, f"error: {message}; see `{self.prog} --help`\n")


def main(words: Sequence[str] | None = None) -> int:
    """Run a command with the given words, by default those of this process; return its exit code."""
    given = _with_command(list(sys.argv[1:] if words is None else words))
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    parser, chosen = _parsers(given[:1])
    if not chosen:
        parser.parse_args(given)  # help or version, which exit
        parser.print_help()
        return 0
    name, (own, module) = next(iter(chosen.items()))
    refuse_repeated(own, given[1:])
    values, others = own.parse_known_args(given[1:])
    # Targets and options of other programs, such as Snakemake.
    if others and not getattr(module, "TAKES_OTHERS", False):
        own.error(f"{name} does not know {' '.join(others)}")
    return run_safely(lambda: int(module.run(values, others)))


def _with_command(words: list[str]) -> list[str]:
    """Add the command `run` where none is named; `help COMMAND` becomes `COMMAND --help`."""
    if words[:1] == ["help"]:
        for unknown in [word for word in words[1:2] if word not in COMMANDS]:
            from svmrepro.datasets.input_checks import did_you_mean

            raise SystemExit(f"error: there is no command {unknown!r}{did_you_mean(unknown, COMMANDS)}")
        words = [*words[1:2], "--help"]
    if not words or words[0] in (*COMMANDS, "-h", "--help", "--version"):
        return words
    return ["run", *words]


def _parsers(names: Sequence[str]) -> tuple[argparse.ArgumentParser, dict[str, tuple[Any, Any]]]:
    """Return the parser of the command line, and parser and module of the named commands."""
    style = argparse.RawDescriptionHelpFormatter
    parser = OneLineParser(
        prog="svmrepro",
        description="Re-runs the experiments of four papers on training support vector machines.",
        epilog=_EPILOG,
        formatter_class=style,
        allow_abbrev=False,
    )
    version = f"svmrepro {metadata.version('svmrepro')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=OneLineParser)
    found = {}
    for name, summary in COMMANDS.items():
        module = import_module(f"svmrepro.workflow.commands.{name}") if name in names else None
        own = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__ if module else None,
            formatter_class=style,
            allow_abbrev=False,
        )
        if module:
            if hasattr(module, "add_arguments"):
                module.add_arguments(own)
            found[name] = (own, module)
    return parser, found


def _complete() -> None:
    """Print the completions that a shell asks for, and exit; for another folder's `run` they are files."""
    import argcomplete
    from svmrepro.workflow.commands.completed_names import NamesCompleter
    from svmrepro.workflow.configuration import ROOT
    from svmrepro.workflow.configuration.callers_folder import expanded

    program = Path(expanded(os.environ["COMP_LINE"].partition(" ")[0]))
    if program.name == "run" and program.resolve() != ROOT / "run":
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument("file", nargs="*")
    else:
        parser, _ = _parsers(list(COMMANDS))
    argcomplete.autocomplete(parser, default_completer=NamesCompleter())


def entry() -> None:
    """Run the command of this process, and exit with its code."""
    try:
        sys.exit(main())
    except StepError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    entry()
