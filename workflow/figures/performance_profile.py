"""Performance profiles: on which share of the problems a solver is within a factor of the fastest.

E. D. Dolan and J. J. More, Benchmarking optimization software with performance profiles, Mathematical
Programming 91, 2002: ``rho_s(tau)`` is the share of problems p with ``t_ps <= tau min_s t_ps``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.axes import powers_of_ten
from svmrepro.workflow.figures.seconds_ratios import looks_of, mark_of

_LETTERS_A_LINE = 80  # of the note


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw a step line per contender; a problem is an experiment at the largest size that any of them solved.

    A contender without a certified result on a problem counts as never within any factor. Contenders that
    never ran are omitted. A contender's share is over the problems at whose size it takes part. If these are
    fewer than half, its line would be about other problems than the rest: a note names it instead.
    """
    experiments = [results.experiment(name) for name in artefact.experiments]
    labels = [
        label
        for label in dict.fromkeys(label for each in experiments for label in each.contenders)
        if label in results.runs.started and all(label in each.contenders for each in experiments)
    ]
    by_problem = [seconds_of(results, name, labels) for name in artefact.experiments]
    solved = [each for each in by_problem if each]
    parts = {label: sum(label in each for each in solved) for label in labels}
    certified = {label: sum(math.isfinite(each.get(label, math.inf)) for each in solved) for label in labels}
    if rare := {label: part for label, part in parts.items() if 2 * part < len(solved)}:
        labels = [label for label in labels if label not in rare]
        by_problem = [seconds_of(results, name, labels) for name in artefact.experiments]
    ratios = ratios_to_best(by_problem, labels)
    problems = max((len(each) for each in ratios.values()), default=0)
    figure = style.new_figure(style.COLUMN + 1.0, 2.6 + 0.17 * math.ceil(len(labels) / 2))
    axes = figure.subplots()
    most = max((ratio for each in ratios.values() for ratio in each if math.isfinite(ratio)), default=1.0)
    end = max(most, 1.0) * 1.15 + 0.2
    looks = looks_of(experiments)
    handles = []
    for label in labels:
        look = {**mark_of(label, looks[label]), "linestyle": looks[label].line, "linewidth": 1.1}
        taus, shares = steps(ratios[label], end)
        corners = [place for place, share in enumerate(shares[:-1]) if share > 0]
        axes.plot(taus, shares, drawstyle="steps-post", markevery=corners, zorder=3, **look)
        few = f" (takes part in {len(ratios[label])})" if len(ratios[label]) < problems else ""
        handles.append(style.entry(f"{display_name(label)}{few}", **look))
    axes.set_xscale("log")
    axes.set_xlim(0.97, end)
    axes.set_ylim(-0.02, 1.05)
    powers_of_ten(axes.xaxis)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(True)
    axes.set_xlabel("CPU seconds, as a factor of the fastest solver's")
    axes.set_ylabel(f"share of {problems} problems\nsolved within the factor")
    said = ", ".join(
        f"{display_name(label)} ({part} of {len(solved)}, {certified[label]} solved)"
        for label, part in rare.items()
    )
    note = f"Left out, in fewer than half of the problems: {said}" if said else ""
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        title=textwrap.fill(note, _LETTERS_A_LINE) or None,
        title_fontsize=6,
    )
    return figure


def seconds_of(results: Results, name: str, labels: Sequence[str]) -> dict[str, float]:
    """Return the median seconds, at the largest size that any contender solved, of those taking part there.

    They are infinite where a contender has no certified result. One that was solved on other hardware has no
    seconds to compare, and is left out.
    """
    experiment = results.experiment(name)
    for n in sorted(experiment.sizes, reverse=True):
        groups = {label: results.group(name, label, n) for label in labels}
        medians = {label: group.median(CPU) for label, group in groups.items() if not group.elsewhere}
        if any(seconds is not None for seconds in medians.values()):
            return {
                label: math.inf if seconds is None else seconds
                for label, seconds in medians.items()
                if n in experiment.sizes_of(experiment.contenders[label])
            }
    return {}


def ratios_to_best(problems: Sequence[Mapping[str, float]], labels: Sequence[str]) -> dict[str, list[float]]:
    """Return each contender's factor of the fastest on the problems in which it takes part.

    It is inf where the contender's seconds are. Problems that no contender solved are omitted.
    """
    solved = [each for each in problems if each]
    best = [max(min(each.values()), 1e-9) for each in solved]
    return {
        label: [
            max(each[label], 1e-9) / least for each, least in zip(solved, best, strict=True) if label in each
        ]
        for label in labels
    }


def steps(ratios: Sequence[float], end: float) -> tuple[list[float], list[float]]:
    """Return the corners of a profile: factors from 1 to ``end``, and the share of problems within each."""
    finite = np.sort([ratio for ratio in ratios if math.isfinite(ratio)])
    taus = [1.0, *(float(tau) for tau in np.unique(finite) if tau > 1.0), end]
    return taus, [float((finite <= tau * (1 + 1e-12)).sum()) / max(1, len(ratios)) for tau in taus]
