"""Measure the test suite's coverage; fail below 95 % of the lines, for compiled or interpreted code.

    ./run python tests/coverage/measure.py          runs what has changed since its last run
    ./run python tests/coverage/measure.py --now    runs nothing; reports the existing data

*interpreted*: the lines outside functions that numba compiles, run by the unchanged test suite. *compiled*:
the lines of those functions, run without the JIT on small problems.

Every test file is a step. Its data are kept in ``build/coverage`` with the digests of the files it ran, so
that the next call resumes after an interruption. If a source file has changed since a step, ``--now`` ignores
that step's data for the file, so that a line is never credited with what an earlier version of it ran.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import coverage
from coverage.results import format_lines

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "coverage"
FLOORS = ("datasets", "solvers", "workflow")
LEAST = 95.0
COMPILERS = {"compiled", "njit"}

#: Steps without the JIT, with their arguments; the rest of tests/solvers is too large for it.
TOYS = (
    ("tests/solvers/interpreted_runs.py", ()),
    ("tests/faults/toy_runs.py", ()),
)


@dataclass(frozen=True)
class Step:
    """A test file or script to run, with or without the JIT."""

    file: str
    arguments: tuple[str, ...] = ()
    jit: bool = True

    @property
    def data(self) -> Path:
        """Return the path of its data; a file beside it with the suffix .json holds their digests."""
        return FOLDER / f"{Path(self.file).stem}{'' if self.jit else '-interpreted'}.data"

    def seen(self) -> dict[str, str]:
        """Return the digests of the files at the step's last run; empty if it has not run."""
        try:
            found: dict[str, str] = json.loads(self.data.with_suffix(".json").read_text())
        except FileNotFoundError:
            return {}
        return found if found.get("arguments") == " ".join(self.arguments) else {}

    def wanted(self, now: dict[str, str]) -> dict[str, str]:
        """Return :meth:`seen` if the step is up to date with sources of these digests."""
        return {**now, self.file: digest(self.file), "arguments": " ".join(self.arguments)}

    def run(self, now: dict[str, str]) -> bool:
        """Run the file and all Python processes it starts, and record the lines; return whether it passed."""
        wanted = self.wanted(now)
        for old in FOLDER.glob(f"{self.data.name}*"):
            old.unlink()
        self.data.with_suffix(".json").unlink(missing_ok=True)
        settings = {"COVERAGE_FILE": str(self.data), "NUMBA_DISABLE_JIT": str(int(not self.jit))}
        pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider") if "test_" in self.file else ()
        done = subprocess.run(
            [sys.executable, "-m", "coverage", "run", *pytest, self.file, *self.arguments],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 5):  # 5: no tests collected, because all are slow
            print(f"{done.stdout[-5000:]}\n{self.file} has failed")
            return False
        kept = coverage.Coverage(data_file=str(self.data), config_file=str(ROOT / "pyproject.toml"))
        kept.combine()
        kept.save()
        self.data.with_suffix(".json").write_text(json.dumps(wanted))
        return True


def digest(file: str) -> str:
    """Return the digest of a file of the project."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


def digests() -> dict[str, str]:
    """Return the digests of all measured files, by path."""
    files = (path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")))
    return {name: digest(name) for name in (path.relative_to(ROOT).as_posix() for path in files)}


def steps() -> list[Step]:
    """Return the steps to run."""
    files = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    return [*(Step(file) for file in files), *(Step(file, given, jit=False) for file, given in TOYS)]


def compiled_lines(text: str) -> set[int]:
    """Return the lines of the bodies of functions that numba compiles, in a source text."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            marks = (mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list)
            if any(isinstance(mark, ast.Name) and mark.id in COMPILERS for mark in marks):
                found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


def lines_run(chosen: Iterable[Step], now: dict[str, str]) -> dict[str, set[int]]:
    """Return the lines that the steps have run, by path, of files unchanged since."""
    found: dict[str, set[int]] = {name: set() for name in now}
    for step in chosen:
        seen = step.seen()
        if seen:
            data = coverage.CoverageData(basename=str(step.data))
            data.read()
            for name in now:
                if seen.get(name) == now[name]:
                    found[name].update(data.lines(str(ROOT / name)) or ())
    return found


def report(title: str, run: dict[str, set[int]], compiled: bool) -> float:
    """Print the missed lines and their share; return the percentage of lines run."""
    measured = coverage.Coverage(data_file=None, config_file=str(ROOT / "pyproject.toml"))
    measured.get_data().add_lines({str(ROOT / name): lines for name, lines in run.items()})
    total = missed = 0
    for name in run:
        _, statements, _, missing, _ = measured.analysis2(str(ROOT / name))
        inside = compiled_lines((ROOT / name).read_text(encoding="utf-8"))
        total += sum((line in inside) == compiled for line in statements)
        lines = [line for line in missing if (line in inside) == compiled]
        missed += len(lines)
        if lines:
            print(f"  {name}: {format_lines(statements, lines)}")
    share = 100.0 * (total - missed) / total
    print(f"{title}: {share:.2f} % of {total} lines, {missed} missed")
    return share


def main() -> None:
    """Run the steps and judge the coverage."""
    parser = argparse.ArgumentParser(description="how much of the code the tests run")
    parser.add_argument("--now", action="store_true", help="run nothing, judge what is there")
    parser.add_argument("only", nargs="*", help="run the steps whose file has one of these in its name")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    now, failed = digests(), 0
    for step in [] if options.now else steps():
        named = not options.only or any(part in step.file for part in options.only)
        if named and step.seen() != step.wanted(now):
            print(f"{step.file}{'' if step.jit else ', without the JIT'}", flush=True)
            failed += not step.run(now)
    found = steps()
    interpreted = report("interpreted", lines_run((step for step in found if step.jit), now), False)
    compiled = report("compiled", lines_run((step for step in found if not step.jit), now), True)
    sys.exit(failed > 0 or min(interpreted, compiled) < LEAST)


if __name__ == "__main__":
    main()
