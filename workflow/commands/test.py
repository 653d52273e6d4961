"""Check format, lint and types, run the smoke scale with its check, and run all tests.

`test PATH ...` runs the checks, the smoke scale and, of the tests, only those; the words go to pytest.
`./run pytest PATH` runs the tests alone. Without words, three tasks run at a time: that keeps two cores busy,
because some tests mostly wait.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeAlias

from svmrepro.workflow.commands import checkout
from svmrepro.workflow.configuration import ROOT

TAKES_OTHERS = True

Commands: TypeAlias = tuple[tuple[str, ...], ...]

LINT: Commands = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("snakefmt", "--check", "Snakefile", "workflow"),
    ("lint-imports", "--no-logo"),
    ("python", "tests/package/check_types.py"),
)
SMOKE: Commands = (("snakemake", "--cores", "all", "all", "check", "--config", "scale=smoke"),)
# Tests of the analysis that compile code.
_COMPILED_ANALYSIS = (
    "tests/analysis/artefacts/test_analysis_permuted.py",
    "tests/analysis/artefacts/test_analysis_steps.py",
    "tests/analysis/test_analysis_hardware.py",
)

#: The tasks of the whole test in the order in which they start: the longest first, what mostly waits beside
#: what computes, and late what needs code that others have compiled.
TASKS: dict[str, Commands] = {
    "smoke and report": (*SMOKE, ("pytest", "tests/report")),
    "algorithms": (("pytest", "tests/solvers/algorithms"),),
    "analysis": (
        (
            *("pytest", "tests/analysis", "tests/faults", "tests/chaos", "tests/site", "tests/fuzz"),
            *(f"--ignore={name}" for name in _COMPILED_ANALYSIS),
        ),
    ),
    "engine": (("pytest", *(f"tests/{each}" for each in ("engine", "commands", "joining", "package"))),),
    "solvers": (
        (
            *("pytest", "tests/solvers", "--ignore=tests/solvers/algorithms"),
            *(*_COMPILED_ANALYSIS, "tests/coverage"),
        ),
    ),
    "docs": (("pytest", "tests/docs"),),
    # The committed references follow from their measurements alone. The smoke scale draws every kind of
    # figure.
    "references": tuple(
        ("svmrepro", "remake", f"results/reference/{scale}", "--tables") for scale in ("paper", "default")
    ),
    # Adversarial problems and solutions.
    "torture": (("pytest", "tests/torture", "tests/sums"),),
    "lint": LINT,
    "data": (("pytest", "tests/datasets"),),
    # Tests of the solvers with other orders of sums.
    "sums": (("python", "tests/sums/sums.py", "--quick"),),
}


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    checkout.require("tests")
    with checkout.stopping_children():
        if not others:
            return _run_tasks()
        checkout.require_tests(*others)
        commands = (*LINT, *SMOKE, ("pytest", *others))
        return next((code for words in commands if (code := checkout.call(*words))), 0)


def _run_tasks() -> int:
    """Run the tasks in parallel, print the output of each when it ends, and return the largest exit code."""
    largest = 0
    with ThreadPoolExecutor(3) as pool:
        running = {pool.submit(_task, commands): name for name, commands in TASKS.items()}
        for done in as_completed(running):
            code, seconds, said = done.result()
            print(
                f"== {running[done]}: {'failed' if code else 'passed'} in {seconds:.0f} s\n{said}", flush=True
            )
            largest = max(largest, code)
    return largest


def _task(commands: Commands) -> tuple[int, float, str]:
    """Run commands until one fails; return the exit code of the last, the seconds, and all output."""
    began, said, code = time.monotonic(), "", 0
    for words in commands:
        print(f"svmrepro test: {' '.join(words)[:100]}", file=sys.stderr)
        ended = subprocess.run(
            words,
            cwd=ROOT,
            env=checkout.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        said += ended.stdout
        code = abs(ended.returncode)
        if code:
            break
    return code, time.monotonic() - began, said
