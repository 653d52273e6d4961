"""Write README.md, FINDINGS.md and seven pages of docs/ from their templates and the reference runs' numbers.

The work is done by `docs/sitekit/root_texts.py`. Also written are the table of keys in
config/README.md, and the graph of the rules on the result site, from Snakemake's. The lines of pages written
by hand are filled to one width.
"""

from __future__ import annotations

import argparse
import os
import sys

from svmrepro.workflow.commands import checkout
from svmrepro.workflow.configuration import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--check", action="store_true", help="write nothing; name the texts that differ, with exit code 1"
    )


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    checkout.require("docs/templates")
    os.environ["PYTHONPATH"] = str(ROOT / "docs")
    options = ["--check"] if given.check else []
    return checkout.call(sys.executable, "-m", "sitekit.root_texts", *options)
