"""Summary at the end of a run: what was measured, what was not and why, and where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.measurement.journal_line import read_lines

#: Maximum number of reasons listed individually; further ones are only counted.
MOST_REASONS = 12


def closing(config: Config) -> str:
    """Summarise a scale in a few lines; empty if nothing has been measured."""
    lines = [
        line
        for experiment in config.experiments
        for file in paths.job_files(config, experiment.paper, experiment.name)
        for line in _lines(file)
    ]
    if not lines:
        return ""
    statuses = Counter(line["status"] for line in lines)
    flagged = sum(line["flagged"] for line in lines)
    parts = [f"{count} {status.replace('_', ' ')}" for status, count in statuses.most_common()]
    text = [f"Scale {config.scale}: {', '.join(parts)}; {flagged} flagged for other load on the machine."]
    text += _not_measured(line for line in lines if line["status"] != "optimal")
    figures = config.figures_dir / config.scale
    text.append(f"Tables: {paths.results(config)}/<paper>/*.md   plots: {figures}/<paper>/*.png")
    return "\n".join(text)


def _not_measured(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """List what has no result; contenders of an experiment with the same reason share a line."""
    counts = Counter((line["reason"], line["experiment"], line["contender"]) for line in lines)
    shared: dict[str, dict[str, list[str]]] = {}
    for (reason, experiment, contender), count in counts.items():
        times = f"{contender} ({count} sizes)" if count > 1 else contender
        shared.setdefault(reason, {}).setdefault(experiment, []).append(times)
    found = []
    for reason, experiments in shared.items():
        who = [
            f"{experiment} [{', '.join(contenders)}]" if len(contenders) < 4 else experiment
            for experiment, contenders in experiments.items()
        ]
        found.append(f"  no timing: {', '.join(who)}: {reason}")
    if len(found) > MOST_REASONS:
        found[MOST_REASONS:] = [f"  ... and {len(found) - MOST_REASONS} reasons more, in the tables"]
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    try:
        return read_lines(file)
    except StepError:
        # If only one experiment was requested, the files of the others do not exist.
        return []
