"""Measure, and make every table and figure.

Without a target it makes everything. A target is the name of a paper, an experiment, a table or a figure, or
a file. Options of Snakemake follow: `--dry-run` lists the jobs, `--list-target-rules` the targets.

    svmrepro run                            the main job, at the default scale
    svmrepro run platt1998 --scale smoke    one paper, at toy sizes
    svmrepro run --config repeats=5         another setting, see config/keys.yaml
    svmrepro run -s smo -s my_package.training:train -d adult
                                            some solvers, also your own, on some data sets

Results of chosen solvers and data sets go into results/selected/ and figures/selected/, unless `results_dir`
and `figures_dir` are set. For the short options `-s` and `-d` of Snakemake use `--snakefile`, `--directory`.
"""

from __future__ import annotations

import argparse

from svmrepro.workflow.commands import COMMANDS
from svmrepro.workflow.running import snakemake_call

TAKES_OTHERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    snakemake_call.add_arguments(parser, "TARGET")
    add = parser.add_argument
    add(
        "-s",
        "--solver",
        action="append",
        default=[],
        help="run only this solver, or let yours join; may be repeated",
    )
    add("-d", "--dataset", action="append", default=[], help="run only on this data set; may be repeated")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    return snakemake_call.run(given, others, commands=COMMANDS)
