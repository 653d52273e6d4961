"""Write the result site: static pages that open from disk, without a server or a network.

svmrepro site                     all runs in results/, and the committed references
svmrepro site results/default     one run
svmrepro site results/default releases/ --out public
                                  a run beside the runs in a folder, packed or not, into public/
"""

from __future__ import annotations

import argparse
from pathlib import Path

from svmrepro.workflow.configuration import callers_folder, home


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="FOLDER",
        help="results/<scale> of a run, an archive of `publish`, or a folder of these",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write it [results/site]")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow.site.pages import write_site

    out = callers_folder.output_path(given.out) if given.out else home() / "results" / "site"
    print(write_site([callers_folder.input_path(folder) for folder in given.folders], out))
    return 0
