"""One run over a grid of C and gamma: every cell is certified; seconds and counts are summed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from svmrepro.solvers import Kernel, Problem, Solution, solve_grid, warm
from svmrepro.solvers.caches import reused_memory
from svmrepro.solvers.driver import prepare
from svmrepro.workflow.configuration import Contender
from svmrepro.workflow.journal.journal_line import OPTIMAL
from svmrepro.workflow.measurement.contender_run import ContenderRuns, certified, solver_of
from svmrepro.workflow.surroundings.meter import Meter, no_garbage_collection

#: Fields of a certificate that are summed over the cells.
_SUMS = ("dual", "primal", "gap")
#: Fields of which the largest is kept.
_LARGEST = ("max_violation", "pair_gap", "equality_residual")


class GridRuns(ContenderRuns):
    """The contenders of one row of an experiment with a grid."""

    def _measured(self, contender: Contender) -> dict[str, Any]:
        """Solve all cells; limits hold for each cell.

        The status is ``optimal`` if all cells are certified, else that of the first one that is not.
        ``info.cells`` has each cell's C, gamma, status, CPU seconds, iterations and violation, in the order
        in which they were solved.
        """
        problem, eps = self.prepare(contender), self._tolerance(contender)
        if contender.warm:
            warm(contender.solver, Kernel.precomputed())
            assert self._experiment.grid is not None  # rows can be rounded for the smallest C alone
            smallest = problem.with_C(min(self._experiment.grid.C))
            prepare(smallest, contender.solver, eps, contender.options)
        cells: list[dict[str, Any]] = []
        certificates: list[dict[str, Any]] = []
        seconds = wall_seconds = 0.0
        failed: dict[str, Any] | None = None
        reused_memory.release()  # once: the cells are one call
        with Meter() as meter:  # certificates run in this process: no other load
            for problem, solution in self._solutions(contender):
                gamma = problem.kernel.gamma
                # the cells of one gamma share their matrix
                matrix = partial(self._matrix, encoding=contender.encoding)
                with meter.paused():
                    found = certified(problem, solution, contender, eps, matrix)
                seconds += solution.cpu_seconds
                wall_seconds += solution.wall_seconds
                certificate = found.get("certificate") or {}
                certificates.append(certificate)
                if found["status"] != OPTIMAL and failed is None:
                    place = f"C = {problem.C:g}, gamma = {gamma:g}"
                    failed = {"status": found["status"], "reason": f"{place}: {found['reason']}"}
                cells.append(
                    {
                        "C": problem.C,
                        "gamma": gamma,
                        "status": found["status"],
                        "cpu_seconds": solution.cpu_seconds,
                        "iterations": int(solution.iterations),
                        "kernel_evaluations": int(solution.kernel_evaluations),
                        "violation": certificate.get("max_violation"),
                    }
                )
        passed = sum(cell["status"] == OPTIMAL for cell in cells)
        if failed is not None:
            failed["reason"] = f"{passed} of {len(cells)} cells certified; {failed['reason']}"
        return {
            "cpu_seconds": seconds,
            "wall_seconds": wall_seconds,
            "iterations": sum(cell["iterations"] for cell in cells),
            "kernel_evaluations": sum(cell["kernel_evaluations"] for cell in cells),
            "info": {"cells": cells},
            "certificate": _joined(certificates, passed == len(cells)),
            **meter.fields(wall_seconds, seconds),
            **(failed or {"status": OPTIMAL}),
        }

    def _solutions(self, contender: Contender) -> Iterator[tuple[Problem, Solution]]:
        """Solve cell by cell: by ascending gamma, then by ascending C.

        The seconds of warm starts include everything: what the cells share, and the layout of the examples,
        which other solvers get ready-made.
        """
        grid, eps = self._experiment.grid, self._tolerance(contender)
        assert grid is not None
        X, kernels = self._encoded(contender.encoding), [Kernel.gaussian(gamma=gamma) for gamma in grid.gamma]
        if contender.warm:
            path = solve_grid(
                X,
                self._y,
                grid.C,
                kernels,
                contender.solver,
                eps=eps,
                bias=contender.bias,
                storage=contender.storage,
                time_limit=contender.time_limit,
                memory_limit_mb=contender.memory_limit_mb,
                iteration_limit=contender.iteration_limit,
                verify=False,
                **contender.options,
            )
            while True:
                wall, cpu = time.perf_counter(), time.thread_time()
                with self._present.calling(), no_garbage_collection():
                    cell = next(path, None)
                cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
                if cell is None:
                    return
                yield cell.problem, replace(cell.solution, cpu_seconds=cpu, wall_seconds=wall)
        solver = solver_of(contender, eps)
        ours = ":" not in contender.solver
        for kernel in kernels:
            first = Problem(X, self._y, grid.C[0], kernel, bias=contender.bias, storage=contender.storage)
            for C in grid.C:
                first.prepare()
                if ours:
                    prepare(first, contender.solver, eps, contender.options)  # shared where C does not matter
                problem = first.with_C(C)
                if ours:
                    prepare(problem, contender.solver, eps, contender.options)
                given = self._given(contender, problem)
                with self._present.calling(), no_garbage_collection():
                    solution = solver(given)
                yield problem, solution


def _joined(certificates: list[dict[str, Any]], passed: bool) -> dict[str, Any]:
    """Return one certificate for all cells: sums, largest violations, and whether every cell passed."""
    found: dict[str, Any] = {"passed": passed}
    for names, join in ((_SUMS, sum), (_LARGEST, max)):
        for name in names:
            values = [each[name] for each in certificates if each.get(name) is not None]
            found[name] = join(values) if len(values) == len(certificates) else None
    return found
