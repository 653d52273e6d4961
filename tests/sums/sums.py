"""The numerical tests with other summation orders: other OpenBLAS kernels, other instructions of numba.

    ./run sums                        every combination that this processor can run, one after the other
    ./run sums --only numba-generic   one of them
    ./run sums --quick                the cheapest one, with only those tests that take seconds

NumPy and SciPy each contain an OpenBLAS, and both choose their kernels by OPENBLAS_CORETYPE; Zen means the
Haswell kernels, as on AMD's processors. numba takes a processor name and features; unless the features are
set to empty, it adds this processor's features to another processor's name. Code for other processors has its
own cache, named after the source like the usual one. The line before the tests of a combination shows the
actual choice, as reported by a process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llvmlite import binding
from svmrepro.solvers.source_code import fingerprint_all
from svmrepro.workflow.commands import checkout
from svmrepro.workflow.commands.main import OneLineParser
from svmrepro.workflow.errors import StepError, run_safely

PROJECT = Path(__file__).resolve().parent.parent.parent
TESTS = ("tests/solvers", "tests/torture")
#: Tests of integers and threads, for which the kernels of OpenBLAS do not matter.
_SAME = (
    *("most_violated_constraint", "threads_divide", "parts_have", "thread_that_waits", "helper_threads"),
    *("error_ends_a_pass", "thread_may_solve"),
)
#: Tests that depend most on summation order and take only seconds.
QUICK = (
    "-k",
    f"not ({' or '.join(_SAME)})",
    "tests/solvers/algorithms/test_solvers_cutting_plane.py",
    "tests/solvers/algorithms/test_solvers_squared_hinge.py",
    "tests/solvers/certificate/test_solvers_certificate.py",
    "tests/solvers/certificate/test_solvers_certificate_gap.py",
)
_AVX2 = frozenset({"avx2", "fma", "bmi2"})
_AVX512 = frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"})
_LOOK = """
import numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target
codegen = cpu_target.target_context.codegen()
pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
blas = "/".join(sorted({pool.get("architecture", "unknown") for pool in pools}))
avx512 = "+avx512f" in codegen._get_host_cpu_features()
print(f"{blas}; {codegen._get_host_cpu_name()}{'' if avx512 else ' without AVX-512'}")
"""


@dataclass(frozen=True)
class Combination:
    """Environment variables, and the processor features that they need."""

    name: str
    environment: Mapping[str, str]
    needs: frozenset[str] = frozenset()
    compiles: bool = False


def combinations() -> tuple[Combination, ...]:
    features = binding.get_host_cpu_features()
    without = ",".join(
        f"{'-' if name.startswith('avx512') or not on else '+'}{name}"
        for name, on in sorted(features.items())
    )
    cores = {"Nehalem": frozenset({"sse4.2"}), "Haswell": _AVX2, "Zen": _AVX2, "SkylakeX": _AVX512}
    processors = {
        "generic": ({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, frozenset()),
        "x86-64-v3": ({"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}, _AVX2),
        "own": ({"NUMBA_CPU_NAME": binding.get_host_cpu_name()}, frozenset()),
        "without-avx512": ({"NUMBA_CPU_FEATURES": without}, _AVX512),
    }
    return (
        Combination("as-it-is", {}),
        *(
            Combination(f"openblas-{core.lower()}", {"OPENBLAS_CORETYPE": core}, needs)
            for core, needs in cores.items()
        ),
        *(Combination(f"numba-{name}", *given, compiles=True) for name, given in processors.items()),
    )


def lacking(combination: Combination) -> str:
    """Return why this processor cannot run a combination; empty if it can."""
    if not binding.get_default_triple().startswith("x86_64"):
        return "" if not combination.environment else "no x86-64 processor"
    features = binding.get_host_cpu_features()
    missing = sorted(name for name in combination.needs if not features.get(name, False))
    return f"the processor lacks {', '.join(missing)}" if missing else ""


def environment(combination: Combination) -> dict[str, str]:
    """Return the environment variables of a process."""
    own = {**os.environ, **combination.environment}
    if combination.compiles:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        own["NUMBA_CACHE_DIR"] = str(Path(home) / "svmrepro" / f"sums-{combination.name}-{fingerprint_all()}")
    return own


def chosen(combination: Combination) -> str:
    """Return what OpenBLAS and numba report to use."""
    return _report(frozenset(environment(combination).items()))


@cache
def _report(variables: frozenset[tuple[str, str]]) -> str:
    return subprocess.check_output([sys.executable, "-c", _LOOK], env=dict(variables), text=True).strip()


def run(combination: Combination, tests: Sequence[str]) -> int:
    """Run tests under a combination that this processor has; return the exit code of pytest."""
    own = environment(combination)
    options = ["-q", "--color=no", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests], env=own, cwd=PROJECT, check=False
    ).returncode


def cheapest() -> Combination:
    """Return a combination that compiles nothing and whose sums differ from this machine's.

    There is none on other processors than x86-64; on these, a StepError is raised if none differs.
    """
    usual = chosen(combinations()[0])
    able = [one for one in combinations() if one.environment and not one.compiles and not lacking(one)]
    found = next((one for one in reversed(able) if chosen(one) != usual), None)
    if able and found is None:
        raise StepError(f"--quick: OPENBLAS_CORETYPE changes nothing; the kernels are always {usual}")
    return found or combinations()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = OneLineParser(
        prog="python tests/sums/sums.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [one.name for one in combinations()]
    parser.add_argument("--only", action="append", choices=names, help="this one; may be given again")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("tests", nargs="*", help="tests in place of all numerical ones")
    options = parser.parse_args(arguments)
    if options.tests:
        checkout.require_tests(*options.tests)
    chosen_ones = [one for one in combinations() if not options.only or one.name in options.only]
    if options.quick and not options.only:
        chosen_ones = [cheapest()]
    tests = options.tests or (QUICK if options.quick else TESTS)
    failed = []
    for one in chosen_ones:
        why = lacking(one)
        print(f"sums: {one.name}: {f'left out, {why}' if why else chosen(one)}", flush=True)
        if not why and run(one, tests):
            failed.append(one.name)
    print(f"sums: failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(run_safely(main))
