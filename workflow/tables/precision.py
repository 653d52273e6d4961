"""Solvers at equal achieved precision, because their stopping rules differ.

Each contender runs at several stopping tolerances. Its precision at a tolerance is the relative distance of
its primal objective from the largest lower bound of all runs. Its seconds at a given precision are those of
the loosest tolerance that reached it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svmrepro.workflow.analysis.results import Results, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU, LOWER_BOUNDS, Group
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.statistics import Interval
from svmrepro.workflow.tables.layout.cells import Cell, count, median, missing, number, problem, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes


@dataclass(frozen=True)
class Reached:
    """Result of a contender at one tolerance: relative distance from the optimum, and its runs."""

    eps: float
    distance: float
    group: Group

    @property
    def seconds(self) -> Interval | None:
        """Median CPU seconds."""
        return self.group.interval(CPU)


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per contender of the artefact's experiments, whose axis is eps.

    Settings of the artefact: ``targets``, relative distances from the optimum, each of which gets columns,
    and ``yardstick``, a contender that only contributes its lower bound.
    """
    targets: list[float] = [float(target) for target in artefact.settings["targets"]]
    columns = [
        Column("problem", "problem", prose=True),
        Column("n", "n"),
        Column("contender", "solver", prose=True),
    ]
    for place, target in enumerate(targets):
        group = f"to within {target:g} of the optimum"
        columns += [
            Column(f"seconds_{place}", "CPU seconds", group=group),
            Column(f"ratio_{place}", "relative to the fastest", group=group),
            Column(f"iterations_{place}", "iterations", group=group),
            Column(f"eps_{place}", "with ε", group=group),
        ]
    rows = [
        row
        for name in artefact.experiments
        for row in _rows(results, name, targets, artefact.settings.get("yardstick"))
    ]
    notes = [
        "The optimum is estimated by L, the largest lower bound of all runs on the problem. A run with "
        "primal objective P, recomputed from the data, is at the distance (P - L) / P.",
        "The loosest tolerance that reached a precision counts. Tolerances are a factor of three apart, "
        "so a run may be more precise than required.",
        *flag_notes(results, artefact.experiments),
    ]
    return table_of(results, artefact, columns, rows, notes=notes)


def reached(results: Results, experiment: str, n: int) -> dict[str, list[Reached]]:
    """Return the results of each contender by tolerance, the loosest first."""
    groups = {
        (label, point): results.runs.group(experiment, label, n, point)
        for label in results.experiment(experiment).contenders
        for point in reversed(results.runs.points(experiment))
    }
    bounds = [group.median(column) for group in groups.values() for column in LOWER_BOUNDS]
    optimum = max((bound for bound in bounds if bound is not None), default=None)
    if optimum is None:
        return {}
    found: dict[str, list[Reached]] = {}
    for (label, point), group in groups.items():
        primal = group.median("certificate.primal")
        if primal:
            found.setdefault(label, []).append(Reached(point, max(0.0, (primal - optimum) / primal), group))
    return found


def loosest(runs: Sequence[Reached], target: float) -> Reached | None:
    """Return the result at the loosest tolerance that reached ``target``; None if none did.

    It is not the fastest: among tolerances of nearly equal cost, that would be decided by noise.
    """
    return next((run for run in runs if run.distance <= target and run.seconds is not None), None)


def _rows(
    results: Results, name: str, targets: Sequence[float], yardstick: str | None
) -> list[dict[str, Cell]]:
    """Return the lines of one experiment, at its largest size."""
    experiment = results.experiment(name)
    n = (results.runs.sizes(name) or experiment.sizes)[-1]
    found = reached(results, name, n)
    rivals = {label: found.get(label, []) for label in experiment.contenders if label != yardstick}
    described = {"problem": problem(describe_problem(experiment)), "n": count(n)}
    rows = {label: {**described, "contender": prose(display_name(label))} for label in rivals}
    for place, target in enumerate(targets):
        best = {label: loosest(runs, target) for label, runs in rivals.items()}
        least = min((run.seconds.value for run in best.values() if run and run.seconds), default=0.0)
        for label, run in best.items():
            if run is None or run.seconds is None:
                said = _why_not(results, name, n, label, rivals[label], target)
                rows[label][f"seconds_{place}"] = missing(said or "not run")
                continue
            seconds = run.seconds.value
            rows[label] |= {
                f"seconds_{place}": (
                    median(run.group.values(CPU), run.seconds) if seconds else Cell(seconds, "below clock")
                ),
                f"ratio_{place}": (
                    Cell(1.0, "1 (fastest)")
                    if seconds == least
                    else number(seconds / least if least else None)
                ),
                f"iterations_{place}": count(run.group.median("iterations")),
                f"eps_{place}": Cell(run.eps, f"{run.eps:g}"),
            }
    return list(rows.values())


def _why_not(results: Results, name: str, n: int, label: str, runs: Sequence[Reached], target: float) -> str:
    """Return why a contender has no seconds at a precision."""
    if not runs:
        points = results.runs.points(name)
        return results.runs.group(name, label, n, points[0]).untimed if points else ""
    nearest = min(runs, key=lambda run: run.distance)
    return (
        nearest.group.untimed
        if nearest.distance <= target
        else f"not reached: {nearest.distance:.1e} at best"
    )
