"""Build the documentation site, site/index.html; warnings are errors."""

from __future__ import annotations

import argparse
import sys

from svmrepro.workflow.commands import checkout


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    checkout.require("docs/conf.py")
    strict = ("--fail-on-warning", "--keep-going", "--nitpicky", "--quiet")
    code = checkout.call("sphinx-build", *strict, "--builder", "html", "docs", "site")
    if not code:
        print("the site is in site/index.html", file=sys.stderr)
    return code
