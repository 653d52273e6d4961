"""Summary at the end of a run: what was measured, what was not and why, and where to look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.measurement.journal_line import read_lines

#: Maximum number of reasons listed individually; further ones are only counted.
MOST_REASONS = 12


def closing(config: Config) -> str:
    """
    Summarise a scale.

    Parameters
    ----------
    config
        The scale.

    Returns
    -------
    str
        A few lines; empty if nothing has been measured.
    """
    statuses: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    flagged = 0
    for paper in config.papers.values():
        for experiment in paper.experiments:
            for file in paths.job_files(config, paper.name, experiment):
                for line in _lines(file):
                    statuses[line["status"]] += 1
                    flagged += line["flagged"]
                    if line["status"] != "optimal":
                        reasons[(experiment, f"{line['contender']}: {line['reason']}")] += 1
    if not statuses:
        return ""
    parts = [f"{count} {status.replace('_', ' ')}" for status, count in statuses.most_common()]
    text = [f"Scale {config.scale}: {', '.join(parts)}; {flagged} flagged for other load on the machine."]
    text += _not_measured(reasons)
    figures = config.figures_dir / config.scale
    text.append(f"Tables: {paths.results(config)}/<paper>/*.md   plots: {figures}/<paper>/*.png")
    return "\n".join(text)


def _not_measured(reasons: Counter[tuple[str, str]]) -> list[str]:
    """List what has no result; contenders of an experiment with the same reason share a line."""
    shared: dict[tuple[str, str], list[str]] = {}
    for (experiment, text), count in reasons.items():
        contender, _, reason = text.partition(": ")
        times = f"{contender} ({count} sizes)" if count > 1 else contender
        shared.setdefault((experiment, reason), []).append(times)
    by_reason: dict[str, list[str]] = {}
    for (experiment, reason), contenders in shared.items():
        who = f"{experiment} [{', '.join(contenders)}]" if len(contenders) < 4 else experiment
        by_reason.setdefault(reason, []).append(who)
    lines = [f"  no timing: {', '.join(who)}: {reason}" for reason, who in by_reason.items()]
    if len(lines) > MOST_REASONS:
        lines[MOST_REASONS:] = [f"  ... and {len(lines) - MOST_REASONS} reasons more, in the tables"]
    return lines


def _lines(file: Path) -> list[dict[str, Any]]:
    try:
        return read_lines(file)
    except StepError:
        # If only one experiment was requested, the files of the others do not exist.
        return []
