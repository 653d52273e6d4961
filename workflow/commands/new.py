"""Write a working skeleton of a solver, a data set or a paper, and say the next commands.

    svmrepro new solver my-svm      a package with a solver, its entry point, test and experiment
    svmrepro new dataset my-data    files, their description, a test, and an experiment
    svmrepro new paper name2030     experiments, artefacts, claims, and a table for the paper's numbers

Files are written into the clone. Without a clone, only `new solver` works; it writes into the current folder.
Nothing that exists is overwritten.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("kind", choices=("solver", "dataset", "paper"))
    parser.add_argument("name", help="small letters, digits and '-'")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow.commands import checkout
    from svmrepro.workflow.configuration import callers_folder, home, paths
    from svmrepro.workflow.joining import skeleton_writer

    if given.kind != "solver":  # whose files are all in a folder of its own
        checkout.require("pyproject.toml")
    here = callers_folder.folder()
    for path in skeleton_writer.write(given.kind, given.name, home()):
        print(f"wrote {paths.relative(path, here)}")
    where = "" if here == home().resolve() else f", in {home()}"
    print(f"\nIt works as it is; change it piece by piece. Next{where}:")
    for line in skeleton_writer.next_commands(given.kind, given.name):
        print(f"    {line}")
    return 0
