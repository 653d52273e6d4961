"""Check format, lint and types, run the smoke scale with its check, and run all tests.

With arguments, which go to pytest, only those tests run. Three tasks run at a time: that keeps two cores
busy, because some tests mostly wait.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeAlias

from svmrepro.workflow.commands import checkout

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
# Compile what the smoke scale and the tests share, because two processes that compile the same function at
# once can crash.
COMPILE: Commands = (
    ("snakemake", "--cores", "1", "--quiet", "all", "--config", "scale=smoke", "--", "compile"),
)
# Tests of the analysis that compile code.
_COMPILED_ANALYSIS = (
    "tests/analysis/artefacts/test_analysis_permuted.py",
    "tests/analysis/artefacts/test_analysis_steps.py",
    "tests/analysis/test_analysis_hardware.py",
)
# These compile code, so they run one after the other: solvers, then adversarial problems and solutions.
LIBRARIES: Commands = (("pytest", "tests/solvers", *_COMPILED_ANALYSIS, "tests/docs", "tests/coverage"),)
TORTURE: Commands = (("pytest", "tests/torture", "tests/sums"),)
# Tests of the solvers with other orders of sums. They run what the tests of the solvers have compiled.
SUMS: Commands = (("python", "tests/sums/sums.py", "--quick"),)
# These run no compiled code.
DATA: Commands = (("pytest", "tests/datasets"),)
ANALYSIS: Commands = (
    (
        *("pytest", "tests/analysis", "tests/faults", "tests/chaos", "tests/site", "tests/fuzz"),
        *(f"--ignore={name}" for name in _COMPILED_ANALYSIS),
    ),
)
# These run what the smoke scale has compiled, or compile into a folder of their own.
ENGINE: Commands = (("pytest", *(f"tests/{each}" for each in ("engine", "commands", "joining", "package"))),)
# The committed references follow from their measurements alone. The smoke scale draws every kind of figure.
REFERENCES: Commands = tuple(
    ("svmrepro", "remake", f"results/reference/{scale}", "--tables") for scale in ("paper", "default")
)
REPORT: Commands = (*SMOKE, ("svmrepro", "remake", "results/smoke", "--tables"), ("pytest", "tests/report"))

#: The tasks of the whole test by the one that they wait for; of those, the longest first.
TASKS: dict[str, dict[str, Commands]] = {
    "": {"compile": COMPILE, "analysis": ANALYSIS, "lint": LINT, "data": DATA, "references": REFERENCES},
    "compile": {"libraries": LIBRARIES, "smoke and report": REPORT, "engine": ENGINE},
    "libraries": {"torture": TORTURE, "sums": SUMS},
}
#: The longest chain of tasks. The others run at a lower priority, so that they do not hold it up.
_CHAIN = ("compile", "libraries")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    checkout.require("tests")
    if others:
        checkout.require_tests(*others)
        commands = (*LINT, *SMOKE, ("pytest", *others))
        return next((code for words in commands if (code := checkout.call(*words))), 0)
    return _run_tasks()


def _run_tasks() -> int:
    """Run the tasks in parallel, print the output of each when it ends, and return the largest exit code."""
    largest = 0
    with ThreadPoolExecutor(3) as pool:
        running = {pool.submit(_task, name, commands): name for name, commands in TASKS[""].items()}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                name, (code, seconds, said) = running.pop(done), done.result()
                print(f"== {name}: {'failed' if code else 'passed'} in {seconds:.0f} s\n{said}", flush=True)
                largest = max(largest, code)
                if not code:
                    next_ones = TASKS.get(name, {})
                    running |= {
                        pool.submit(_task, each, commands): each for each, commands in next_ones.items()
                    }
    return largest


def _task(name: str, commands: Commands) -> tuple[int, float, str]:
    """Run commands until one fails; return the exit code of the last, the seconds, and all output."""
    began, said, code = time.monotonic(), "", 0
    priority = () if name in _CHAIN or not shutil.which("nice") else ("nice", "-n", "5")
    for words in commands:
        print(f"svmrepro test: {' '.join(words)[:100]}", file=sys.stderr)
        ended = subprocess.run(
            [*priority, *words],
            cwd=checkout.ROOT,
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
