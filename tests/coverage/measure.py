"""Measure the test suite's coverage; fail below 95 % of the lines, for compiled or interpreted code.

    ./run python tests/coverage/measure.py [tests]

*interpreted*: the lines outside functions that numba compiles, run by the unchanged test suite, or by the
given tests. *compiled*: the lines of those functions, run without the JIT on small problems, because the
suite is too large for that.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import coverage
from coverage.results import format_lines

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "coverage"
FLOORS = ("datasets", "solvers", "workflow")
LEAST = 95.0
COMPILERS = {"compiled", "njit"}
#: Scripts to run without the JIT.
TOYS = ("tests/solvers/interpreted_runs.py", "tests/faults/toy_runs.py")


def run(data: Path, *command: str, **settings: str) -> bool:
    """Run Python, record its lines and those of the Python processes it starts; tell whether it passed."""
    environment = {**os.environ, "COVERAGE_FILE": str(data), **settings}
    done = subprocess.run(
        [sys.executable, "-m", "coverage", "run", *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{done.stdout[-5000:]}\n{' '.join(command)} has failed")
    return done.returncode == 0


def compiled_lines(text: str) -> set[int]:
    """Return the lines of the bodies of functions that numba compiles, in a source text."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            marks = (mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list)
            if any(isinstance(mark, ast.Name) and mark.id in COMPILERS for mark in marks):
                found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


def report(title: str, data: Path, compiled: bool) -> float:
    """Print the missed lines and their share; return the percentage of lines run."""
    measured = coverage.Coverage(data_file=str(data), config_file=str(ROOT / "pyproject.toml"))
    measured.combine()
    total = missed = 0
    for path in sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        _, statements, _, missing, _ = measured.analysis2(str(path))
        inside = compiled_lines(path.read_text(encoding="utf-8"))
        total += sum((line in inside) == compiled for line in statements)
        lines = [line for line in missing if (line in inside) == compiled]
        missed += len(lines)
        if lines:
            print(f"  {path.relative_to(ROOT)}: {format_lines(statements, lines)}")
    share = 100.0 * (total - missed) / total
    print(f"{title}: {share:.2f} % of {total} lines, {missed} missed")
    return share


def main() -> None:
    """Run the tests and judge the coverage."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    suite, toys = FOLDER / "suite", FOLDER / "toys"
    passed = [run(suite, "-m", "pytest", "-q", *sys.argv[1:])]
    passed += [run(toys, script, NUMBA_DISABLE_JIT="1") for script in TOYS]
    shares = report("interpreted", suite, False), report("compiled", toys, True)
    sys.exit(not all(passed) or min(shares) < LEAST)


if __name__ == "__main__":
    main()
